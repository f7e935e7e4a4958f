package httpx_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/httpx"
	"github.com/weirhq/weir/pkg/kit/mesh"
)

func TestWhoMayCall(t *testing.T) {
	t.Parallel()
	b := setup(t)
	viewer := member
	viewer.Role = actor.Viewer
	require.Equal(t, 401, b.do(t, actor.Actor{}, "GET", "/v1/things", "").Code, "the gateway forwards strangers without a token")
	require.Equal(t, `Bearer realm="weir"`, b.do(t, actor.Actor{}, "GET", "/v1/things", "").Header().Get("WWW-Authenticate"))
	require.Equal(t, 200, b.do(t, actor.Actor{}, "GET", "/v1/open", "").Code)
	require.Equal(t, 200, b.do(t, viewer, "GET", "/v1/things", "").Code)
	a := b.do(t, viewer, "POST", "/v1/things", `{"bad`, "Idempotency-Key", "k")
	require.Equal(t, "forbidden", a.problem.Code, "who may not learns nothing of the body")
	require.Equal(t, "Your role viewer may not do this; it needs owner, developer.", a.problem.Detail)
	require.Equal(t, 403, b.do(t, member, "GET", "/internal/v1/peer", "").Code)
	require.Equal(t, 401, b.do(t, actor.Actor{Kind: actor.Node, ID: ""}, "GET", "/v1/things", "").Code)

	for _, h := range []string{"Basic dTpw", "Bearer", "Bearer ", "token", ""} {
		a := b.do(t, actor.Actor{}, "GET", "/v1/open", "", "Authorization", h)
		require.Equal(t, "unauthenticated", a.problem.Code, "even an open door refuses a broken credential: %q", h)
	}
}

func TestPeers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	token, err := b.minter.Mint("things", member)
	require.NoError(t, err)
	try := func(peer, path, token string) int {
		r := httptest.NewRequest("GET", path, nil)
		if peer != "" {
			r = r.WithContext(mesh.WithPeer(t.Context(), peer))
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		return b.serve(t, r).Code
	}
	require.Equal(t, 200, try("gateway", "/v1/things", token))
	require.Equal(t, 401, try("metering", "/v1/things", token), "only the gateway speaks for callers")
	require.Equal(t, 401, try("", "/v1/things", token), "a token outside the mesh is worthless")
	require.Equal(t, 403, try("metering", "/v1/things", ""), "a service is no member")
	require.Equal(t, 200, try("metering", "/internal/v1/peer", ""))
	require.Equal(t, 403, try("tenant", "/internal/v1/peer", ""))
	require.Equal(t, 401, try("gateway", "/internal/v1/peer", ""))
	require.Equal(t, 401, try("", "/internal/v1/peer", ""))

	require.Equal(t, 204, try("metering", "/internal/v1/feed", ""))
	require.Equal(t, 403, try("", "/internal/v1/feed", ""))
	require.Equal(t, 403, try("gateway", "/internal/v1/feed", token), "no caller of the gateway reads feeds")
}

func TestSmallHelpers(t *testing.T) {
	t.Parallel()
	tag := httpx.ETag(12)
	require.Equal(t, `"12"`, tag)
	v, err := httpx.IfMatch(&tag)
	require.NoError(t, err)
	require.EqualValues(t, 12, *v)
	for _, none := range []string{"*", " * "} {
		v, err = httpx.IfMatch(&none)
		require.NoError(t, err)
		require.Nil(t, v)
	}
	weak := `W/"12"`
	_, err = httpx.IfMatch(&weak)
	require.ErrorIs(t, err, fault.Stale)
	for _, bad := range []string{"12", `"x"`, `"1","2"`, `"`, ""} {
		_, err = httpx.IfMatch(&bad)
		require.ErrorIs(t, err, fault.Invalid, bad)
	}

	c := httpx.Cursor("2026-01-01", "ins_1")
	parts, err := httpx.ParseCursor(&c, 2)
	require.NoError(t, err)
	require.Equal(t, []string{"2026-01-01", "ins_1"}, parts)
	parts, err = httpx.ParseCursor(nil, 2)
	require.NoError(t, err)
	require.Nil(t, parts)
	nul, junk := httpx.Cursor("a\x00", "b"), strings.Repeat("!", 9)
	for _, bad := range []*string{&nul, &junk} {
		_, err = httpx.ParseCursor(bad, 2)
		require.ErrorIs(t, err, fault.Invalid)
	}
	_, err = httpx.ParseCursor(&c, 3)
	require.ErrorIs(t, err, fault.Invalid)
}
