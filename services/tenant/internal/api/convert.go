package api

import (
	"github.com/weirhq/weir/pkg/kit/httpx"
	"github.com/weirhq/weir/services/tenant/internal/domain"
)

// defaultPage is what the contract says about an absent limit.
const defaultPage = 50

// ptr is nil for the empty string, which the domain uses for absent.
func ptr[T ~string](s T) *T {
	if s == "" {
		return nil
	}
	return &s
}

// opt is ptr's inverse.
func opt[T ~string](p *T) string {
	if p == nil {
		return ""
	}
	return string(*p)
}

// as turns an optional enum of the wire into the domain's.
func as[To, From ~string](p *From) *To {
	if p == nil {
		return nil
	}
	v := To(*p)
	return &v
}

func each[From, To any](list []From, f func(From) To) []To {
	out := make([]To, len(list))
	for i, x := range list {
		out[i] = f(x)
	}
	return out
}

// wanted is the page a caller asks for.
type wanted domain.Page

func page(limit *int, cursor *string) (wanted, error) {
	p := wanted{Limit: defaultPage}
	if limit != nil {
		p.Limit = *limit
	}
	parts, err := httpx.ParseCursor(cursor, 1)
	if err == nil && parts != nil {
		p.After = parts[0]
	}
	return p, err
}

// more asks for one item beyond the page, which tells whether there is a next one.
func (p wanted) more() domain.Page { return domain.Page{After: p.After, Limit: p.Limit + 1} }

// cut returns the page's items and the cursor of the next page, nil on the last one.
func cut[T any](list []T, p wanted, id func(T) string) ([]T, *string) {
	if len(list) <= p.Limit {
		return list, nil
	}
	list = list[:p.Limit]
	next := httpx.Cursor(id(list[len(list)-1]))
	return list, &next
}
