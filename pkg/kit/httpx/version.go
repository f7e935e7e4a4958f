package httpx

import (
	"strconv"
	"strings"

	"github.com/weirhq/weir/pkg/kernel/fault"
)

// ETag is the strong entity tag of an object's version.
func ETag(version int64) string { return `"` + strconv.FormatInt(version, 10) + `"` }

// IfMatch reads an If-Match header as the version that a change is based on; nil when it
// is absent or "*", which ask for nothing.
func IfMatch(header *string) (*int64, error) {
	if header == nil {
		return nil, nil
	}
	s := strings.TrimSpace(*header)
	if s == "*" {
		return nil, nil
	}
	if strings.HasPrefix(s, "W/") { // a weak tag never matches (RFC 9110)
		return nil, fault.New(fault.Stale, "If-Match needs the strong ETag of the version read.")
	}
	q, okL := strings.CutPrefix(s, `"`)
	q, okR := strings.CutSuffix(q, `"`)
	v, err := strconv.ParseInt(q, 10, 64)
	if !okL || !okR || err != nil {
		return nil, fault.InvalidField("If-Match", "must be an ETag as we gave it out")
	}
	return &v, nil
}
