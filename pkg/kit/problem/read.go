package problem

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/weirhq/weir/pkg/kernel/fault"
)

const maxDocument = 1 << 20

// Read returns nil for an answer of success, else the fault its document says. It reads
// the body of a problem; the caller closes it.
func Read(resp *http.Response) error {
	if success(resp.StatusCode) {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument))
	if err != nil {
		return fault.Wrap(fault.Unavailable, "A part of the service broke off its answer.", err)
	}
	return Check(resp.StatusCode, body, resp.Header)
}

// Check is Read for an answer whose body was already read, as generated clients do.
func Check(status int, body []byte, header http.Header) error {
	if success(status) {
		return nil
	}
	var doc map[string]json.RawMessage
	f := &fault.Error{}
	if json.Unmarshal(body, &doc) == nil {
		f = parse(doc)
	}
	if s, err := strconv.Atoi(header.Get("Retry-After")); err == nil && s > 0 {
		f.RetryAfter = time.Duration(s) * time.Second
	}
	if _, known := byCode[f.Code]; !known {
		return unknown(status)
	}
	var id string
	_ = json.Unmarshal(doc["request_id"], &id)
	f.Cause = fmt.Errorf("peer answered %d (its request %s)", status, id)
	return f
}

func parse(doc map[string]json.RawMessage) *fault.Error {
	f := &fault.Error{}
	for k, raw := range doc {
		switch k {
		case "code":
			_ = json.Unmarshal(raw, &f.Code)
		case "detail":
			_ = json.Unmarshal(raw, &f.Public)
		case "errors":
			_ = json.Unmarshal(raw, &f.Fields)
		case "type", "title", "status", "request_id":
		default:
			if f.Extra == nil {
				f.Extra = map[string]any{}
			}
			f.Extra[k] = raw // as it was: forwarding changes no number
		}
	}
	return f
}

// unknown is the fault of an answer that is no problem of ours: a proxy's, or a crash.
func unknown(status int) error {
	err := fmt.Errorf("peer answered %d without a problem document", status)
	switch status {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return fault.Wrap(fault.Unavailable, "A part of the service is not available right now.", err)
	}
	return fault.From(err)
}

// Transport turns the error of a call that got no answer into a fault: the named part is
// unavailable, unless the caller itself gave up.
func Transport(service string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	var f *fault.Error
	if errors.As(err, &f) {
		return err
	}
	return fault.Wrap(fault.Unavailable, "The "+service+" service is not available right now.", err)
}

func success(status int) bool { return status < 300 || status == http.StatusNotModified }
