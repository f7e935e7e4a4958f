package run

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/weirhq/weir/pkg/api/gatewayapi"
)

// stream brings the command's output to standard output, each byte once: after a break it
// reads from the start again and leaves out what was written already.
type stream struct {
	r       *runner
	news    chan struct{} // something ended: look at the instance
	over    chan struct{} // the instance has ended
	done    chan struct{} // the stream has
	cancel  context.CancelFunc
	written int64
	clean   bool  // the last pass was read to its end
	lost    error // standard output is gone
}

func newOutput(r *runner) *stream {
	return &stream{r: r, news: make(chan struct{}, 1), over: make(chan struct{}), done: make(chan struct{})}
}

// start begins to stream; further calls do nothing.
func (s *stream) start(ctx context.Context) {
	if s.cancel != nil {
		return
	}
	ctx, s.cancel = context.WithCancel(ctx)
	go s.run(ctx)
}

// finish waits for the rest of the output of an instance that has ended.
func (s *stream) finish(ctx context.Context) error {
	if s.cancel == nil {
		return nil // it never ran
	}
	defer s.cancel()
	close(s.over)
	select {
	case <-s.done:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.r.sh.Clock.After(outputPatience):
		s.cancel()
		<-s.done
	}
	if s.lost != nil {
		return fmt.Errorf("write standard output: %w", s.lost)
	}
	if !s.clean {
		s.r.sh.Sayf("weir: the output may be incomplete; see: weir instances logs %s", s.r.id)
	}
	return nil
}

func (s *stream) run(ctx context.Context) {
	defer close(s.done)
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		s.clean = s.pass(ctx, true) == nil
		select {
		case s.news <- struct{}{}:
		default:
		}
		if s.lost != nil {
			s.r.askStop() // nobody reads: it would run and cost for nothing
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-s.over:
			if !s.clean {
				s.clean = s.pass(ctx, false) == nil
			}
			return
		case <-s.r.sh.Clock.After(pause):
		}
	}
}

// pass reads the output once.
func (s *stream) pass(ctx context.Context, follow bool) error {
	resp, err := s.r.c.Stream.GetInstanceLogs(ctx, s.r.id, &gatewayapi.GetInstanceLogsParams{Follow: &follow})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.CopyN(io.Discard, resp.Body, s.written); err != nil {
		if errors.Is(err, io.EOF) {
			return nil // less than before: it was cut off at its limit, and there is nothing new
		}
		return err
	}
	_, err = io.Copy(s, resp.Body)
	return err
}

// Write is standard output, counted.
func (s *stream) Write(b []byte) (int, error) {
	n, err := s.r.sh.Out.Write(b)
	s.written += int64(n)
	if err != nil {
		s.lost = err
	}
	return n, err
}

var _ io.Writer = (*stream)(nil)
