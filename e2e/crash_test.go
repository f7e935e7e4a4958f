package e2e

import (
	"context"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/e2e/internal/audit"
	"github.com/weirhq/weir/e2e/internal/rest"
	"github.com/weirhq/weir/e2e/internal/stack"
)

// crowd rents and releases from many clients at once and remembers what was acknowledged.
type crowd struct {
	c *rest.Client

	mu       sync.Mutex
	rented   map[string]bool // acknowledged with 201
	released map[string]bool // DELETE acknowledged with 202
	served   int
}

// run sends n rents from 20 clients; every second one is released again. Errors and
// refusals are expected while the world is being killed: only acknowledgements count.
func (w *crowd) run(ctx context.Context, n int) {
	work := make(chan int)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			for i := range work {
				w.one(ctx, i)
			}
		})
	}
	for i := range n {
		work <- i
	}
	close(work)
	wg.Wait()
}

func (w *crowd) one(ctx context.Context, i int) {
	r, err := w.c.Post(ctx, "/v1/instances", map[string]any{"name": "crowd-" + strconv.Itoa(i), "offering": "h100-80gb.1g.10gb", "command": []string{"sleep", "300"}, "vcpus": 0.5, "ram_mib": 256})
	w.mu.Lock()
	w.served++
	w.mu.Unlock()
	if err != nil || r.Status != http.StatusCreated {
		return
	}
	id := r.Str("id")
	w.mu.Lock()
	w.rented[id] = true
	w.mu.Unlock()
	if i%2 == 1 {
		return
	}
	d, err := w.c.Do(ctx, http.MethodDelete, "/v1/instances/"+id, nil)
	if err == nil && d.Status == http.StatusAccepted {
		w.mu.Lock()
		w.released[id] = true
		w.mu.Unlock()
	}
}

func (w *crowd) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.served
}

// requireKept proves that nothing acknowledged was lost.
func (w *crowd) requireKept(t *testing.T, c *rest.Client) {
	t.Helper()
	for id := range w.rented {
		r, err := c.Get(t.Context(), "/v1/instances/"+id)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, r.Status, "acknowledged instance %s is lost", id)
	}
	for id := range w.released {
		awaitState(t, c, id, "stopped", 30*time.Second)
	}
}

// liftLimits lets an org rent as much as the pool has.
func liftLimits(t *testing.T, s *stack.Stack, org string) {
	t.Helper()
	admin, err := s.Admin(t.Context())
	require.NoError(t, err)
	r, err := admin.Do(t.Context(), http.MethodPatch, "/v1/admin/orgs/"+org, map[string]any{"limits": map[string]any{"gpue": 1000, "instances": 10000}, "reason": "e2e"})
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, r.Status, "%s", r.Raw)
}

// newTenant signs a tenant up whose limits are out of the way.
func newTenant(t *testing.T, s *stack.Stack, name string) *rest.Client {
	t.Helper()
	c, org, err := rest.New(s.URL).Signup(t.Context(), name+"@example.com", "a-long-enough-password", name)
	require.NoError(t, err)
	liftLimits(t, s, org)
	return c
}

// kill -9 in the middle of 200 concurrent rents and releases: after a restart on the same
// data directory no acknowledged instance is lost, no seat has two owners, used is what
// lives, usage is what the intervals say, and the children that ran are adopted.
func TestKillNineInTheMiddleOfEverything(t *testing.T) {
	t.Parallel()
	s := start(t, "--rate-limit", "0")
	c := newTenant(t, s, "crash")
	awaitOffering(t, c, "a100-40gb.2g.10gb")

	// A tenant's process that must live through the crash.
	child := rent(t, c, "a100-40gb.2g.10gb", "sh", "-c", "echo started; exec sleep 4242")
	awaitState(t, c, child, "running", 15*time.Second)
	pid := pidOf(t, "sleep\x004242")

	w := &crowd{c: c, rented: map[string]bool{}, released: map[string]bool{}}
	done := make(chan struct{})
	go func() { defer close(done); w.run(t.Context(), 200) }()
	require.Eventually(t, func() bool { return w.count() >= 60 }, time.Minute, 5*time.Millisecond)
	answered := w.count()
	require.NoError(t, s.Kill())
	<-done
	t.Logf("killed after %d of 200 answers; %d acknowledged, %d released", answered, len(w.rented), len(w.released))

	require.NoError(t, s.Start(t.Context()))
	w.requireKept(t, c)
	awaitState(t, c, child, "running", 20*time.Second)
	require.Equal(t, pid, pidOf(t, "sleep\x004242"), "the child was adopted, not started again")
	logs, err := c.Get(t.Context(), "/v1/instances/"+child+"/logs")
	require.NoError(t, err)
	require.Equal(t, "started\n", string(logs.Raw))
	requireSound(t, s)
	requireUsageIsItsIntervals(t, s, c)

	w2 := &crowd{c: c, rented: map[string]bool{}, released: map[string]bool{}}
	w2.run(t.Context(), 20)
	require.NotEmpty(t, w2.rented, "the house is open again")
	w2.requireKept(t, c)
	requireSound(t, s)
}

// The same with PostgreSQL stopped in immediate mode, as after a power cut.
func TestPostgresStoppedInImmediateMode(t *testing.T) {
	t.Parallel()
	s := start(t, "--rate-limit", "0")
	c := newTenant(t, s, "powercut")
	awaitOffering(t, c, "h100-80gb.1g.10gb")
	w := &crowd{c: c, rented: map[string]bool{}, released: map[string]bool{}}
	done := make(chan struct{})
	go func() { defer close(done); w.run(t.Context(), 200) }()
	require.Eventually(t, func() bool { return w.count() >= 60 }, time.Minute, 5*time.Millisecond)
	pid, err := s.PostgresPid()
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, syscall.SIGQUIT)) // immediate shutdown
	<-done
	// The product brings its private server back by itself.
	require.Eventually(t, func() bool {
		r, err := c.Get(t.Context(), "/readyz")
		return err == nil && r.Status == http.StatusOK
	}, 30*time.Second, 100*time.Millisecond, "the product did not recover")
	w.requireKept(t, c)
	requireSound(t, s)
	requireUsageIsItsIntervals(t, s, c)
}

// pidOf finds the one process whose command line starts with want (NUL separated).
func pidOf(t *testing.T, want string) int {
	t.Helper()
	found := []int{}
	dirs, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	for _, p := range dirs {
		b, err := os.ReadFile(p)
		if err == nil && strings.HasPrefix(string(b), want) {
			n, err := strconv.Atoi(filepath.Base(filepath.Dir(p)))
			require.NoError(t, err)
			found = append(found, n)
		}
	}
	require.Len(t, found, 1, "processes running %q", want)
	return found[0]
}

// requireUsageIsItsIntervals proves that what the tenant is shown is the integer sum of the
// stored intervals, to the last ms × micro-price, up to an instant that all facts are known of.
func requireUsageIsItsIntervals(t *testing.T, s *stack.Stack, c *rest.Client) {
	t.Helper()
	me, err := c.Get(t.Context(), "/v1/me")
	require.NoError(t, err)
	org := me.Str("org", "id")
	require.NotEmpty(t, org, "%s", me.Raw)
	db, err := audit.Open(t.Context(), s.Dir)
	require.NoError(t, err)
	defer db.Close(context.WithoutCancel(t.Context()))
	to := time.Now().UTC().Truncate(time.Millisecond)
	from := to.Add(-24 * time.Hour)
	require.Eventually(t, func() bool {
		var known bool
		err := db.QueryRow(t.Context(), `SELECT as_of > $1 FROM metering.progress`, to).Scan(&known)
		return err == nil && known
	}, 20*time.Second, 100*time.Millisecond, "metering does not hear of the present")

	var want string
	require.NoError(t, db.QueryRow(t.Context(), `
		SELECT coalesce(sum(round(extract(epoch FROM least(coalesce(upper(during), $3), $3) - greatest(lower(during), $2)) * 1000) * per_hour_micro), 0)::numeric(40,0)::text
		FROM metering.interval WHERE org = $1 AND during && tstzrange($2, $3)`, org, from, to).Scan(&want))
	rows, err := c.All(t.Context(), "/v1/usage?group_by=instance&granularity=month&from="+from.Format(time.RFC3339Nano)+"&to="+to.Format(time.RFC3339Nano))
	require.NoError(t, err)
	require.NotEmpty(t, rows)
	got := new(big.Int)
	for _, r := range rows {
		n, ok := new(big.Int).SetString(rest.Str(r, "cost_ms_micro"), 10)
		require.True(t, ok, "%v", r)
		got.Add(got, n)
	}
	require.Equal(t, want, got.String())
}
