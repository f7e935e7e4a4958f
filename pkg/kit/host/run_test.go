package host_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"testing"

	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/pkg/kit/host"
	"github.com/weirhq/weir/pkg/kit/mesh"
)

func env() host.Env {
	return host.Env{Log: slog.New(slog.DiscardHandler), Real: clock.Real{}, Business: clock.Real{}, Mesh: mesh.NewMemory()}
}

func TestStopIsInReverseAndDrainsFirst(t *testing.T) {
	t.Parallel()
	var order []string
	note := func(s string) func(context.Context) error {
		return func(context.Context) error { order = append(order, s); return nil }
	}
	mod := func(name string) *host.Module {
		return &host.Module{Name: name, Start: note("start " + name), Drain: note("drain " + name), Stop: note("stop " + name),
			Workers: []host.Worker{{Name: "w", Run: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}}}
	}
	g, err := host.Start(t.Context(), env(), mod("a"), mod("b"))
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{"start a", "start b", "drain b", "stop b", "drain a", "stop a"}
	if !slices.Equal(order, want) {
		t.Fatalf("order %v, want %v", order, want)
	}
}

func TestAFailedStartStopsWhatRan(t *testing.T) {
	t.Parallel()
	stopped := false
	bad := errors.New("taken port")
	_, err := host.Start(t.Context(), env(),
		&host.Module{Name: "a", Stop: func(context.Context) error { stopped = true; return nil }},
		&host.Module{Name: "b", Start: func(context.Context) error { return bad }})
	if !errors.Is(err, bad) || !stopped {
		t.Fatalf("err %v, stopped %v", err, stopped)
	}
}

func TestCallsCarryTheCallersName(t *testing.T) {
	t.Parallel()
	e := env()
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, mesh.Peer(r.Context())) })
	g, err := host.Start(t.Context(), e, &host.Module{Name: "tenant", Handler: h})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = g.Stop(context.WithoutCancel(t.Context())) }()
	base, client := e.Mesh.As("gateway").HTTPClient("tenant")
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/x", nil)
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, _ := io.ReadAll(resp.Body); string(b) != "gateway" {
		t.Fatalf("peer %q", b)
	}
}
