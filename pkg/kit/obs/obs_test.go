package obs_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kit/obs"
)

func TestRecordsCarryRequestAndOrg(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := obs.NewLogger(&out, slog.LevelInfo).With("svc", "allocator")
	ctx := actor.With(obs.WithRequestID(t.Context(), "req_1"), actor.Actor{Org: "org_1"})
	log.InfoContext(ctx, "seat assigned", "gpu", "gpu_1")
	log.DebugContext(ctx, "below the level")

	var got map[string]any
	require.NoError(t, json.Unmarshal(out.Bytes(), &got), "one line only")
	delete(got, "time")
	require.Equal(t, map[string]any{"level": "INFO", "msg": "seat assigned", "svc": "allocator", "gpu": "gpu_1", "request_id": "req_1", "org": "org_1"}, got)
	require.Empty(t, obs.RequestID(t.Context()))
}
