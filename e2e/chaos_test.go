package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/e2e/internal/audit"
	"github.com/weirhq/weir/e2e/internal/rest"
	"github.com/weirhq/weir/e2e/internal/stack"
)

const (
	chaosClients = 8
	chaosFor     = 25 * time.Second
	chaosKills   = 3
)

// chaos is one seeded run: clients that rent and stop, and faults on every node.
type chaos struct {
	t     *testing.T
	s     *stack.Stack
	c     *rest.Client
	admin *rest.Client
	nodes []string
	mark  string // every command of this run sleeps for a number that starts with it

	mu       sync.Mutex
	acked    map[string]bool
	faults   map[string]int
	refusals map[string]int
}

var chaosOfferings = []string{
	"h100-80gb.1g.10gb", "h100-80gb.1g.10gb", "h100-80gb.2g.20gb", "h100-80gb.3g.40gb", "h100-80gb.7g.80gb", "h100-80gb.whole",
}

// client rents and stops at random until the time is up. While the world is being broken
// only acknowledgements count.
func (x *chaos) client(ctx context.Context, r *rand.Rand, n int) {
	var mine []string
	for i := 0; ctx.Err() == nil; i++ {
		if len(mine) > 0 && (len(mine) > 3 || r.IntN(2) == 0) {
			k := r.IntN(len(mine))
			if x.release(ctx, r, mine[k]) {
				mine = append(mine[:k], mine[k+1:]...)
			}
		} else if id := x.rent(ctx, r, x.mark+"."+strconv.Itoa(n*1000+i)); id != "" {
			mine = append(mine, id)
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(r.IntN(300)) * time.Millisecond):
		}
	}
}

func (x *chaos) rent(ctx context.Context, r *rand.Rand, sleep string) string {
	command := []string{"sleep", sleep}
	if r.IntN(6) == 0 {
		command = []string{"sh", "-c", "sleep " + strconv.Itoa(r.IntN(4)) + "; exit " + strconv.Itoa(r.IntN(2))}
	}
	body := map[string]any{"name": "chaos", "offering": chaosOfferings[r.IntN(len(chaosOfferings))], "command": command, "vcpus": 1, "ram_mib": 256}
	a, err := x.c.Post(ctx, "/v1/instances", body)
	if err != nil {
		return ""
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if a.Status != http.StatusCreated {
		x.refusals[strconv.Itoa(a.Status)+" "+a.Str("code")]++
		return ""
	}
	x.acked[a.Str("id")] = true
	return a.Str("id")
}

func (x *chaos) release(ctx context.Context, r *rand.Rand, id string) bool {
	method, path := http.MethodDelete, "/v1/instances/"+id
	if r.IntN(2) == 0 {
		method, path = http.MethodPost, path+"/stop"
	}
	a, err := x.c.Do(ctx, method, path, nil)
	return err == nil && a.Status < 500
}

// fault injects one fault on a node; one that the node cannot take now is no matter.
func (x *chaos) fault(ctx context.Context, r *rand.Rand) {
	f := []map[string]any{
		{"kind": "cut", "direction": []string{"both", "in", "out"}[r.IntN(3)]},
		{"kind": "cut", "seconds": 1 + r.IntN(7)},
		{"kind": "heal"},
		{"kind": "heal"},
		{"kind": "reboot"},
		{"kind": "slow", "seconds": 1 + r.IntN(2)},
		{"kind": "fail_next_create", "gpu": r.IntN(2)},
		{"kind": "hang_container", "seconds": 1 + r.IntN(5)},
		{"kind": "foreign_mig", "gpu": r.IntN(2), "seconds": 1 + r.IntN(5)},
	}[r.IntN(9)]
	a, err := x.admin.Do(ctx, http.MethodPost, "/v1/admin/sim/nodes/"+x.nodes[r.IntN(len(x.nodes))]+"/faults", f)
	if err != nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.faults[fmt.Sprint(f["kind"], " ", a.Status)]++
}

// storm lasts chaosFor and ends with the product up.
func (x *chaos) storm(seed uint64) {
	ctx, cancel := context.WithTimeout(x.t.Context(), chaosFor)
	defer cancel()
	var wg sync.WaitGroup
	for n := range chaosClients {
		wg.Go(func() { x.client(ctx, rand.New(rand.NewPCG(seed, uint64(n))), n) })
	}
	wg.Go(func() {
		r := rand.New(rand.NewPCG(seed, 1000))
		for ctx.Err() == nil {
			x.fault(ctx, r)
			time.Sleep(time.Duration(200+r.IntN(800)) * time.Millisecond)
		}
	})
	r := rand.New(rand.NewPCG(seed, 2000))
	for range chaosKills {
		time.Sleep(chaosFor/(chaosKills+2) + time.Duration(r.IntN(2000))*time.Millisecond)
		require.NoError(x.t, x.s.Kill())
		require.NoError(x.t, x.s.Start(x.t.Context()))
	}
	wg.Wait()
}

// settle heals every node and waits until nothing is on its way to anything any more. It
// returns the members that run.
func (x *chaos) settle(db *audit.DB) []string {
	x.t.Helper()
	for _, n := range x.nodes {
		fault(x.t, x.s, n, map[string]any{"kind": "heal"})
	}
	var unsettled []string
	ok := assertEventually(time.Minute, func() bool {
		unsettled = texts(x.t, db, `SELECT format('%s is %s (%s), its member %s on %s is %s', i.id, i.state, i.state_reason, m.id, m.node, m.state)
			FROM allocator.instance i LEFT JOIN allocator.member m ON m.instance = i.id
			WHERE i.state NOT IN ('running', 'stopped', 'failed', 'lost') OR m.state <> 'running' AND m.released_at IS NULL`)
		return len(unsettled) == 0
	})
	require.True(x.t, ok, "a minute after everything was healed:\n%s", strings.Join(unsettled, "\n"))
	return texts(x.t, db, `SELECT id FROM allocator.member WHERE state = 'running' ORDER BY id`)
}

func texts(t *testing.T, db *audit.DB, sql string) []string {
	t.Helper()
	rows, err := db.Query(t.Context(), sql)
	require.NoError(t, err)
	out, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return out
}

// shims lists the members below dir that have a process, one entry for each: a shim keeps
// its member's folder locked.
func shims(t *testing.T, dir string) []string {
	t.Helper()
	out := []string{}
	fds, err := filepath.Glob("/proc/[0-9]*/fd")
	require.NoError(t, err)
	for _, p := range fds {
		cmd, err := os.ReadFile(filepath.Join(filepath.Dir(p), "cmdline"))
		if err != nil || !strings.HasPrefix(string(cmd), "weir-shim") {
			continue
		}
		links, _ := filepath.Glob(p + "/*")
		for _, l := range links {
			if f, err := os.Readlink(l); err == nil && strings.HasPrefix(f, dir) && filepath.Base(f) == "lock" {
				out = append(out, filepath.Base(filepath.Dir(f)))
			}
		}
	}
	slices.Sort(out)
	return out
}

// commands counts the processes of this run's commands that sleep for good.
func (x *chaos) commands() int {
	n := 0
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(x.t, err)
	for _, p := range all {
		if b, err := os.ReadFile(p); err == nil && strings.HasPrefix(string(b), "sleep\x00"+x.mark+".") {
			n++
		}
	}
	return n
}

// Eight clients, faults on every node and three kill -9, all at random: a minute after all
// is healed every instance is where it can stay, nothing acknowledged is lost, the house is
// in order, and exactly what runs has a process.
func TestChaos(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	if v := os.Getenv("WEIR_E2E_SEED"); v != "" {
		n, err := strconv.ParseUint(v, 10, 64)
		require.NoError(t, err)
		seed = n
	}
	t.Logf("WEIR_E2E_SEED=%d", seed)
	s := start(t, "--sim-nodes", "2xh100-80gb-sxm5:2", "--node-timeout", "4s", "--rate-limit", "0")
	c := newTenant(t, s, "chaos")
	admin, err := s.Admin(t.Context())
	require.NoError(t, err)
	awaitOffering(t, c, "h100-80gb.whole")
	x := &chaos{t: t, s: s, c: c, admin: admin, mark: strconv.Itoa(1_000_000 + rand.IntN(9_000_000)), acked: map[string]bool{}, faults: map[string]int{}, refusals: map[string]int{}}
	nodes, err := admin.All(t.Context(), "/v1/admin/nodes")
	require.NoError(t, err)
	for _, n := range nodes {
		x.nodes = append(x.nodes, rest.Str(n, "name"))
	}
	require.Len(t, x.nodes, 2)

	x.storm(seed)
	db, err := audit.Open(t.Context(), s.Dir)
	require.NoError(t, err)
	defer db.Close(context.WithoutCancel(t.Context()))
	t.Logf("%d acknowledged; refused: %v; faults: %v", len(x.acked), x.refusals, x.faults)
	running := x.settle(db)
	t.Logf("%d members run; ends: %v", len(running), texts(t, db, `SELECT format('%s/%s: %s', state, state_reason, count(*)) FROM allocator.instance GROUP BY state, state_reason ORDER BY 1`))
	for id := range x.acked {
		r, err := c.Get(t.Context(), "/v1/instances/"+id)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, r.Status, "acknowledged instance %s is lost", id)
	}
	requireSound(t, s)
	requireUsageIsItsIntervals(t, s, c)
	running = texts(t, db, `SELECT id FROM allocator.member WHERE state = 'running' ORDER BY id`)
	if !assertEventually(10*time.Second, func() bool { return slices.Equal(running, shims(t, s.Dir)) }) {
		require.Equal(t, running, shims(t, s.Dir), "what runs and what has a process")
	}
	require.LessOrEqual(t, x.commands(), len(running), "commands that outlived their member")
}
