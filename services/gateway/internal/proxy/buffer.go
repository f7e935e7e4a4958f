package proxy

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/weirhq/weir/pkg/kernel/fault"
)

// patience is how long a caller may take to send its body.
const patience = 30 * time.Second

// buffer reads the whole body, which the engine has capped, before a service is bothered:
// a slow or broken sender costs nobody but us, and a lost connection can be retried.
func buffer(w http.ResponseWriter, r *http.Request) error {
	if r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	rc := http.NewResponseController(w)
	tooSlow := time.AfterFunc(patience, func() {
		_ = rc.SetReadDeadline(time.Unix(1, 0)) // long past: the read below ends now
	})
	raw, err := io.ReadAll(r.Body)
	tooSlow.Stop()
	_ = rc.SetReadDeadline(time.Time{}) // not every writer has deadlines; a test's has none
	var tooBig *http.MaxBytesError
	switch {
	case errors.As(err, &tooBig):
		return fault.New(fault.TooLarge, "The request body is larger than 1 MiB.")
	case err != nil:
		return fault.Wrap(fault.Invalid, "The request body broke off or took too long.", err)
	}
	r.ContentLength = int64(len(raw))
	r.TransferEncoding = nil
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(raw)), nil }
	r.Body = io.NopCloser(bytes.NewReader(raw))
	return nil
}
