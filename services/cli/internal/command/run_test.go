package command

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/api/allocatorapi"
	"github.com/weirhq/weir/pkg/kernel/fault"
)

// rental is a deployment with one instance, whose life a test writes.
type rental struct {
	*deployment
	mu   sync.Mutex
	now  allocatorapi.Instance
	next []func(*allocatorapi.Instance) // one is applied at every look
}

func newRental(t *testing.T, life ...func(*allocatorapi.Instance)) *rental {
	r := &rental{deployment: newDeployment(t), now: instance(allocatorapi.Assigned), next: life}
	r.on("POST /v1/instances", func(*http.Request, string) (int, any) { return http.StatusCreated, r.look(false) })
	r.on("GET /v1/instances/{id}", func(*http.Request, string) (int, any) { return http.StatusOK, r.look(true) })
	r.on("DELETE /v1/instances/{id}", func(*http.Request, string) (int, any) { return http.StatusAccepted, r.look(false) })
	r.on("POST /v1/instances/{id}/stop", func(*http.Request, string) (int, any) {
		r.set(becomes(allocatorapi.Stopped, "user", nil))
		return http.StatusAccepted, r.look(false)
	})
	return r
}

func (r *rental) look(step bool) allocatorapi.Instance {
	r.mu.Lock()
	defer r.mu.Unlock()
	if step && len(r.next) > 0 {
		r.next[0](&r.now)
		r.next = r.next[1:]
	}
	return r.now
}

func (r *rental) set(change func(*allocatorapi.Instance)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next = nil
	change(&r.now)
}

func becomes(state allocatorapi.InstanceState, reason string, exit *int) func(*allocatorapi.Instance) {
	return func(i *allocatorapi.Instance) {
		ran := i.RunningAt
		*i = instance(state)
		if state == allocatorapi.Failed && ran == nil {
			i.RunningAt, i.CostSoFar = nil, nil
		}
		if reason != "" {
			i.StateReason = &reason
		}
		i.ExitCode = exit
	}
}

// prints serves output that is there at once.
func (r *rental) prints(text string) {
	r.raw("GET /v1/instances/{id}/logs", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) })
}

var preparing, running = becomes(allocatorapi.Preparing, "", nil), becomes(allocatorapi.Running, "", nil)

func TestRunEndsAsItsCommand(t *testing.T) {
	t.Parallel()
	r := newRental(t, preparing, running, becomes(allocatorapi.Failed, "exit_nonzero", ptr(7)))
	r.prints("hello\n")
	p := newPerson(t, r.deployment)
	got := p.run("", "run", "--offering", "h100-80gb.1g.10gb", "--name", "greeter", "--count", "1", "--vcpus", "2.5", "--ram-mib", "1024", "--image", "debian:12",
		"--env", "A=b=c", "--label", "team=vision", "--max-price", "2", "--", "sh", "-c", "echo hello; exit 7", "--offering")
	require.Equal(t, 7, got.code)
	require.Equal(t, "hello\n", got.out)
	compare(t, "run", got.err)
	require.JSONEq(t, `{"offering":"h100-80gb.1g.10gb","name":"greeter","count":1,"vcpus":2.5,"ram_mib":1024,"image":"debian:12","env":{"A":"b=c"},"labels":{"team":"vision"},
		"max_price_per_hour":"2","command":["sh","-c","echo hello; exit 7","--offering"]}`, r.seen("createInstance")[0].body)
	require.Empty(t, r.seen("deleteInstance"))
}

func TestRunOutcomes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end  func(*allocatorapi.Instance)
		code int
		text string
	}{
		"completed":           {becomes(allocatorapi.Stopped, "completed", ptr(0)), 0, ""},
		"completed, no code":  {becomes(allocatorapi.Stopped, "completed", nil), 0, ""},
		"killed":              {becomes(allocatorapi.Failed, "exit_nonzero", ptr(137)), 137, ""},
		"a code that is none": {becomes(allocatorapi.Failed, "exit_nonzero", ptr(256)), 1, ""},
		"never ran": {func(i *allocatorapi.Instance) {
			becomes(allocatorapi.Failed, "carve_failed", nil)(i)
			i.StateDetail = ptr("The card refused to be cut.")
		}, 1, "weir: " + insID + " failed: carve_failed: The card refused to be cut.\n"},
		"stopped by somebody": {becomes(allocatorapi.Stopped, "operator", nil), 1, "weir: " + insID + " stopped: operator\n"},
		"lost":                {becomes(allocatorapi.Lost, "node_rebooted", nil), 1, "weir: " + insID + " lost: node_rebooted\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRental(t, c.end)
			r.prints("")
			got := newPerson(t, r.deployment).run("", "run", "-q", "--offering", "x", "--", "true")
			require.Equal(t, result{"", c.text, c.code}, got)
		})
	}
}

func TestRunDetachedAndRemoved(t *testing.T) {
	t.Parallel()
	r := newRental(t, becomes(allocatorapi.Stopped, "completed", ptr(0)))
	r.prints("bye")
	p := newPerson(t, r.deployment)
	got := p.run("", "run", "-d", "--offering", "a,b", "--", "true")
	require.Equal(t, result{insID + "\n", "weir: " + insID + " rented: h100-80gb.1g.10gb at 1.72 CNY/h\n", 0}, got)
	require.Contains(t, r.seen("createInstance")[0].body, `"offerings":["a","b"]`)
	require.Empty(t, r.seen("getInstance"))

	got = p.run("", "run", "-q", "--rm", "--offering", "x", "--", "true")
	require.Equal(t, result{"bye", "", 0}, got)
	require.Len(t, r.seen("deleteInstance"), 1)
}

func TestRunRefusedForWantOfRoom(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	f := fault.New(fault.NoCapacity, "No node has 8 free cards of this kind.").With("limit", 4).With("used", 0).With("requested", 8).
		With("alternatives", []map[string]any{{"offering": "a100-40gb.whole", "count": 4, "available": 1, "price": map[string]any{"per_hour": "14.000000", "currency": "CNY"}}})
	d.on("POST /v1/instances", func(*http.Request, string) (int, any) { return 0, f })
	got := newPerson(t, d).run("", "run", "--offering", "a100-40gb.whole", "--count", "8", "--", "true")
	require.Equal(t, result{"", "weir: No node has 8 free cards of this kind.\n  limit 4, used 0, requested 8\n  hint: a100-40gb.whole fits now with --count 4 (1 available, 14.00 CNY/h)\n", 5}, got)
	require.Len(t, d.seen("createInstance"), 1, "a refusal is final")
}

// The answer is lost, then a part is not there: the same key, until there is an answer.
func TestRunRentsOnceWhateverBreaks(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	tries := 0
	end := instance(allocatorapi.Stopped)
	end.ExitCode = ptr(0)
	d.raw("POST /v1/instances", func(w http.ResponseWriter, _ *http.Request) {
		switch tries++; tries {
		case 1:
			c, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				c.Close()
			}
		case 2:
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprint(w, `{"type":"x","title":"x","status":503,"detail":"The allocator is starting.","code":"unavailable","request_id":"req_1"}`)
		default:
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusCreated)
			_, _ = w.Write(encode(t, instance(allocatorapi.Assigned)))
		}
	})
	d.on("GET /v1/instances/{id}", func(*http.Request, string) (int, any) { return http.StatusOK, end })
	d.raw("GET /v1/instances/{id}/logs", func(http.ResponseWriter, *http.Request) {})
	got := newPerson(t, d).run("", "run", "--offering", "x", "--", "true")
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.err, "weir: The allocator is starting.; trying again")
	keys := map[string]bool{}
	for _, c := range d.seen("createInstance") {
		keys[c.key] = true
	}
	require.Len(t, d.seen("createInstance"), 3)
	require.Len(t, keys, 1, "one key")
}

// The stream breaks twice, once in the middle of a word: every byte comes once.
func TestRunOutputComesOnce(t *testing.T) {
	t.Parallel()
	r := newRental(t, running, running, running, running)
	const text = "one\ntwo\nthree\n"
	passes := 0
	r.raw("GET /v1/instances/{id}/logs", func(w http.ResponseWriter, req *http.Request) {
		if passes++; passes == 3 {
			_, _ = w.Write([]byte(text))
			r.set(becomes(allocatorapi.Stopped, "completed", ptr(0)))
			return
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(text)))
		_, _ = w.Write([]byte(text[:3+2*passes]))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	p := newPerson(t, r.deployment)
	got := p.run("", "run", "-q", "--offering", "x", "--", "true")
	require.Equal(t, result{text, "", 0}, got)
	require.Equal(t, 3, passes)
}

func TestRunSaysWhenOutputIsMissing(t *testing.T) {
	t.Parallel()
	r := newRental(t, becomes(allocatorapi.Stopped, "completed", ptr(0)))
	r.raw("GET /v1/instances/{id}/logs", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	got := newPerson(t, r.deployment).run("", "run", "-q", "--offering", "x", "--", "true")
	require.Equal(t, result{"", "weir: the output may be incomplete; see: weir instances logs " + insID + "\n", 0}, got)
}

// follows serves output that goes on until the instance is stopped or the test ends.
func (r *rental) follows(t *testing.T, text string) (streaming <-chan struct{}) {
	began := make(chan struct{})
	var once sync.Once
	r.raw("GET /v1/instances/{id}/logs", func(w http.ResponseWriter, req *http.Request) {
		_, _ = w.Write([]byte(text))
		_ = http.NewResponseController(w).Flush()
		once.Do(func() { close(began) })
		for r.look(false).State != allocatorapi.Stopped {
			select {
			case <-req.Context().Done():
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	})
	return began
}

func TestRunInterruptedStopsAndWaits(t *testing.T) {
	t.Parallel()
	r := newRental(t, running)
	streaming := r.follows(t, "working…\n")
	p := newPerson(t, r.deployment)
	go func() { <-streaming; p.signals <- os.Interrupt }()
	got := p.run("", "run", "-q", "--offering", "x", "--rm", "--", "sleep", "60")
	require.Equal(t, result{"working…\n", "weir: stopping the instance (again: leave without waiting)\n", 130}, got)
	require.Len(t, r.seen("stopInstance"), 1)
	require.Len(t, r.seen("deleteInstance"), 1)
}

func TestRunInterruptedTwiceLeaves(t *testing.T) {
	t.Parallel()
	r := newRental(t, running)
	streaming := r.follows(t, "")
	p := newPerson(t, r.deployment)
	stopped := make(chan struct{})
	r.mux.HandleFunc("POST /v1/instances/"+insID+"/stop", func(w http.ResponseWriter, _ *http.Request) { // it takes for ever
		close(stopped)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusAccepted)
		_, _ = w.Write(encode(t, instance(allocatorapi.Stopping)))
	})
	go func() {
		<-streaming
		p.signals <- syscall.SIGTERM
		<-stopped
		p.signals <- syscall.SIGTERM
	}()
	got := p.run("", "run", "-q", "--offering", "x", "--", "sleep", "60")
	require.Equal(t, 130, got.code)
	require.Contains(t, got.err, insID+" goes on without us; see: weir instances show "+insID)
}

// closedPipe is what is left of a standard output that nobody reads.
type closedPipe struct{}

func (closedPipe) Write([]byte) (int, error) { return 0, syscall.EPIPE }

func TestRunStopsWhenNobodyReads(t *testing.T) {
	t.Parallel()
	r := newRental(t, running)
	r.follows(t, strings.Repeat("y\n", 1000))
	p := newPerson(t, r.deployment)
	p.out = closedPipe{}
	got := p.run("", "run", "-q", "--offering", "x", "--", "yes")
	require.Equal(t, 1, got.code)
	require.Equal(t, "weir: write standard output: broken pipe\n", got.err)
	require.Len(t, r.seen("stopInstance"), 1)
}

// An outage in the middle is waited out: the command runs on.
func TestRunOutlivesAnOutage(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	looks := 0
	d.on("POST /v1/instances", func(*http.Request, string) (int, any) {
		return http.StatusCreated, instance(allocatorapi.Assigned)
	})
	d.on("GET /v1/instances/{id}", func(*http.Request, string) (int, any) {
		switch looks++; looks {
		case 1:
			return 0, fault.New(fault.Unavailable, "The allocator is not available.")
		}
		end := instance(allocatorapi.Stopped)
		end.ExitCode = ptr(3)
		return http.StatusOK, end
	})
	d.raw("GET /v1/instances/{id}/logs", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("done\n")) })
	got := newPerson(t, d).run("", "run", "--offering", "x", "--", "true")
	require.Equal(t, 3, got.code)
	require.Equal(t, "done\n", got.out)
	require.Contains(t, got.err, "The command goes on; waiting.")
	require.Contains(t, got.err, "answers again")
}
