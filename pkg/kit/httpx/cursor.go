package httpx

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/weirhq/weir/pkg/kernel/fault"
)

// Cursor makes an opaque page cursor of the sort key of a page's last item.
func Cursor(parts ...string) string {
	b, _ := json.Marshal(parts) // strings cannot fail
	return base64.RawURLEncoding.EncodeToString(b)
}

// ParseCursor returns the n parts that Cursor was given; nil when cursor is absent.
func ParseCursor(cursor *string, n int) ([]string, error) {
	if cursor == nil {
		return nil, nil
	}
	var parts []string
	b, err := base64.RawURLEncoding.DecodeString(*cursor)
	if err != nil || json.Unmarshal(b, &parts) != nil || len(parts) != n {
		return nil, fault.InvalidField("cursor", "is not one that we gave out")
	}
	for _, p := range parts {
		if !utf8.ValidString(p) || strings.ContainsRune(p, 0) {
			return nil, fault.InvalidField("cursor", "is not one that we gave out")
		}
	}
	return parts, nil
}
