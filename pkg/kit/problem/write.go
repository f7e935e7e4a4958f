package problem

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/weirhq/weir/pkg/kernel/fault"
)

// ContentType is the media type of the document.
const ContentType = "application/problem+json"

// defaultRetryAfter is told to callers of what is limited or missing when the fault does
// not know better.
const defaultRetryAfter = 2 * time.Second

// Document returns the members of f's document.
func Document(f *fault.Error, requestID string) map[string]any {
	m := Of(f.Code)
	doc := map[string]any{}
	for k, v := range f.Extra {
		doc[k] = v
	}
	detail := f.Public
	if detail == "" {
		detail = m.Title + "."
	}
	doc["type"], doc["title"], doc["status"] = "/docs/errors#"+string(m.Code), m.Title, m.Status
	doc["detail"], doc["code"], doc["request_id"] = detail, string(m.Code), requestID
	if len(f.Fields) > 0 {
		doc["errors"] = f.Fields
	}
	return doc
}

// Write answers with f's document and headers.
func Write(w http.ResponseWriter, f *fault.Error, requestID string) error {
	m := Of(f.Code)
	body, err := json.Marshal(Document(f, requestID))
	if err != nil { // an extra member that JSON cannot say: leave the extras out
		plain := *f
		plain.Extra = nil
		body, _ = json.Marshal(Document(&plain, requestID))
	}
	h := w.Header()
	h.Set("Content-Type", ContentType)
	h.Set("Cache-Control", "no-store")
	h.Del("Content-Length")
	h.Del("ETag")
	switch m.Status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		h.Set("Retry-After", retryAfter(f.RetryAfter))
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", `Bearer realm="weir"`)
	}
	w.WriteHeader(m.Status)
	_, werr := w.Write(body)
	if err != nil {
		return err
	}
	return werr
}

// retryAfter is whole seconds, rounded up, at least one.
func retryAfter(d time.Duration) string {
	if d <= 0 {
		d = defaultRetryAfter
	}
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}
