package outbox

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/mesh"
	"github.com/weirhq/weir/pkg/kit/obs"
	"github.com/weirhq/weir/pkg/kit/problem"
)

// The paths that Handler serves.
const (
	Path     = "/internal/v1/feed"
	ListPath = "/internal/v1/feed/list"
)

const (
	maxWait = 30 * time.Second
	// recheck is how soon a waiting reader notices what another process sequenced.
	recheck = time.Second
)

// answer is the body of both operations.
type answer struct {
	Incarnation string    `json:"incarnation"`
	AsOf        time.Time `json:"as_of"`
	Cursor      string    `json:"cursor"`              // where to go on
	Truncated   bool      `json:"truncated,omitempty"` // there is more, and as_of says nothing
	Items       []Item    `json:"items"`
}

// Handler serves the feeds to their readers, known by mesh.Peer.
func (f *Feeds) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a, err := f.answer(r)
		if err != nil {
			f.refuse(w, r, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		_ = json.NewEncoder(w).Encode(a) // the reader went away: it will ask again
	})
}

func (f *Feeds) answer(r *http.Request) (*answer, error) {
	spec, ok := f.specs[r.URL.Query().Get("name")]
	peer := mesh.Peer(r.Context())
	switch {
	case r.Method != http.MethodGet:
		return nil, &fault.Error{Code: problem.MethodNotAllowed, Public: "Feeds are read with GET."}
	case peer == "": // not a service: it need not learn which feeds there are
		return nil, fault.New(fault.Forbidden, "Feeds are for services.")
	case !ok:
		return nil, fault.New(fault.NotFound, "There is no such feed.")
	case !slices.Contains(spec.Readers, peer):
		return nil, fault.New(fault.Forbidden, "This service may not read that feed.")
	case strings.HasSuffix(r.URL.Path, "/list"):
		return f.list(r, spec)
	}
	return f.watch(r, spec)
}

// list answers the present state. The cursor is taken before it is read: what changes
// meanwhile is both in the list and after the cursor.
func (f *Feeds) list(r *http.Request, spec FeedSpec) (*answer, error) {
	ctx := r.Context()
	if err := f.pass(ctx, true); err != nil {
		return nil, err
	}
	asOf, _ := f.state(spec.Name)
	c, err := f.head(ctx, spec.Name)
	if err != nil {
		return nil, err
	}
	items, err := spec.List(ctx)
	if err != nil {
		return nil, err
	}
	if items == nil {
		items = []Item{}
	}
	for i := range items {
		items[i].Feed = spec.Name
	}
	return &answer{Incarnation: c.Incarnation, AsOf: asOf, Cursor: c.String(), Items: items}, nil
}

// watch answers what follows the reader's position, and waits for it if asked to.
func (f *Feeds) watch(r *http.Request, spec FeedSpec) (*answer, error) {
	ctx, q := r.Context(), r.URL.Query()
	c, err := ParseCursor(q.Get("after"))
	if err != nil {
		return nil, err
	}
	wait, err := parseWait(q.Get("wait"))
	if err != nil {
		return nil, err
	}
	if asOf, _ := f.state(spec.Name); q.Get("sync") == "1" || asOf.IsZero() {
		if err := f.pass(ctx, true); err != nil {
			return nil, err
		}
	}
	end := f.clk.After(wait)
	for over := wait == 0; ; {
		asOf, changed := f.state(spec.Name)
		p, err := f.after(ctx, spec.Name, c)
		if err != nil {
			return nil, err
		}
		if len(p.items) > 0 || over {
			return &answer{Incarnation: p.cursor.Incarnation, AsOf: asOf, Cursor: p.cursor.String(), Truncated: p.truncated, Items: p.items}, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-end:
			over = true
		case <-changed:
		case <-f.clk.After(recheck):
		}
	}
}

func parseWait(s string) (time.Duration, error) {
	if s == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, fault.InvalidField("wait", "must be a duration such as 30s")
	}
	return min(d, maxWait), nil
}

func (f *Feeds) refuse(w http.ResponseWriter, r *http.Request, err error) {
	ctx := r.Context()
	if ctx.Err() != nil {
		return // nobody listens
	}
	fl := fault.From(err)
	if fl.Code == fault.Internal {
		obs.Logger(ctx).ErrorContext(ctx, "feed request failed", "err", err)
	}
	if werr := problem.Write(w, fl, obs.RequestID(ctx)); werr != nil && !errors.Is(werr, http.ErrHandlerTimeout) {
		obs.Logger(ctx).LogAttrs(ctx, slog.LevelDebug, "feed refusal not delivered", slog.Any("err", werr))
	}
}
