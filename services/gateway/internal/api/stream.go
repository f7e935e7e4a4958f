package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/clock"
)

// recheckEvery is how often a long answer asks whether its caller may still listen.
const recheckEvery = 5 * time.Second

type recheckKey struct{}

// Recheck lets long answers find out that the credential they began with is no longer
// good.
func Recheck(identify func(*http.Request) (actor.Actor, error)) gin.HandlerFunc {
	return func(c *gin.Context) {
		r := c.Request
		c.Request = r.WithContext(context.WithValue(r.Context(), recheckKey{}, func() error {
			_, err := identify(r)
			return err
		}))
	}
}

// stream is an answer that goes on until its source, its reader or its credential ends.
type stream struct {
	handlers *Handlers
	ctx      context.Context // of the request: the answer is written after the handler returned
	body     io.ReadCloser
}

// VisitGetInstanceLogsResponse writes the output as it comes. When the source breaks off,
// so does the answer: the caller must not take a part for the whole.
func (s *stream) VisitGetInstanceLogsResponse(w http.ResponseWriter) error {
	ended := make(chan struct{})
	defer close(ended)
	defer s.body.Close()
	go s.guard(ended)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	rc := http.NewResponseController(w)
	_ = rc.Flush() // the caller knows at once that it is heard
	buf := make([]byte, 32<<10)
	for {
		n, err := s.body.Read(buf)
		if n > 0 {
			if _, werr := w.Write(buf[:n]); werr != nil {
				return nil // nobody listens any more
			}
			_ = rc.Flush()
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			panic(http.ErrAbortHandler)
		}
	}
}

// guard closes the source when the caller goes away or may no longer listen.
func (s *stream) guard(ended <-chan struct{}) {
	recheck, _ := s.ctx.Value(recheckKey{}).(func() error)
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	go func() {
		<-ended
		cancel()
	}()
	for clock.Sleep(ctx, s.handlers.Clock, recheckEvery) == nil {
		if recheck == nil {
			continue
		}
		if err := recheck(); errors.Is(err, fault.Unauthenticated) || errors.Is(err, fault.OrgSuspended) {
			break
		}
	}
	_ = s.body.Close()
}
