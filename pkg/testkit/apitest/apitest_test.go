package apitest_test

import (
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kit/authn"
	"github.com/weirhq/weir/pkg/kit/host"
	"github.com/weirhq/weir/pkg/kit/mesh"
	"github.com/weirhq/weir/pkg/testkit/apitest"
)

func TestCallersAreSeenAsTheyAre(t *testing.T) {
	t.Parallel()
	stack := apitest.New(t, apitest.Config{})
	stack.Serve(func(env host.Env) (*host.Module, error) {
		verify := authn.NewVerifier(env.GatewayKey, "echo", env.Real)
		return &host.Module{Name: "echo", Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			who := "nobody"
			if h := r.Header.Get("Authorization"); h != "" {
				a, err := verify.Verify(h[len("Bearer "):])
				if err != nil {
					who = err.Error()
				} else {
					who = a.ID
				}
			}
			_, _ = io.WriteString(w, mesh.Peer(r.Context())+"/"+who)
		})}, nil
	})
	for want, caller := range map[string]apitest.Caller{
		"gateway/usr_1":   stack.As(actor.Actor{Kind: actor.User, ID: "usr_1", Org: "org_1", Role: actor.Owner}),
		"gateway/nobody":  stack.As(actor.Actor{}),
		"metering/nobody": stack.AsService("metering"),
	} {
		base, client := caller.Client("echo")
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base, nil)
		require.NoError(t, err)
		resp, err := client.Do(r)
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, want, string(body))
	}
}

func TestModulesRunUntilTheTestEnds(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	t.Run("inner", func(t *testing.T) {
		apitest.New(t, apitest.Config{}).Serve(func(host.Env) (*host.Module, error) {
			return &host.Module{Name: "loop", Workers: []host.Worker{{Name: "wait", Run: func(ctx context.Context) error {
				<-ctx.Done()
				close(ended)
				return nil
			}}}}, nil
		})
	})
	select {
	case <-ended:
	default:
		t.Fatal("the worker outlived its test")
	}
}
