package outbox

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/problem"
)

const (
	// callTime bounds a call beyond what it was asked to wait.
	callTime = 10 * time.Second
	// listTime bounds a list, which may be large.
	listTime = 60 * time.Second
)

// remote is a feed at its source.
type remote struct {
	base   string
	client *http.Client
	feed   string
}

func (r remote) watch(ctx context.Context, after Cursor, wait time.Duration, sync bool) (*answer, error) {
	q := url.Values{"name": {r.feed}, "after": {after.String()}}
	if wait > 0 {
		q.Set("wait", wait.String())
	}
	if sync {
		q.Set("sync", "1")
	}
	return r.get(ctx, Path, q, wait+callTime)
}

func (r remote) list(ctx context.Context) (*answer, error) {
	return r.get(ctx, ListPath, url.Values{"name": {r.feed}}, listTime)
}

func (r remote) get(ctx context.Context, path string, q url.Values, limit time.Duration) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.base+path+"?"+q.Encode(), nil)
	if err != nil {
		return nil, fmt.Errorf("ask for feed %s: %w", r.feed, err)
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, "A part of the service is not reachable right now.", fmt.Errorf("ask for feed %s: %w", r.feed, err))
	}
	defer resp.Body.Close()
	if err := problem.Read(resp); err != nil {
		return nil, fmt.Errorf("ask for feed %s: %w", r.feed, err)
	}
	var a answer
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil {
		return nil, fault.Wrap(fault.Unavailable, "A part of the service broke off its answer.", fmt.Errorf("read feed %s: %w", r.feed, err))
	}
	return &a, nil
}
