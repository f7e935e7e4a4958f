package carve

import "context"

// ctx is the test's context, also under rapid.
func ctx(t any) context.Context {
	if c, ok := t.(interface{ Context() context.Context }); ok {
		return c.Context()
	}
	panic("not a test")
}
