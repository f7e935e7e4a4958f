package api

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/weirhq/weir/services/allocator/internal/api/publicgen"
)

// snapshotVersion is the form of what `weir replay` reads.
const snapshotVersion = 1

// AdminGetSnapshot is the pool as placement sees it.
func (h public) AdminGetSnapshot(ctx context.Context, _ publicgen.AdminGetSnapshotRequestObject) (publicgen.AdminGetSnapshotResponseObject, error) {
	s, err := h.app.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(s.Pool)
	if err != nil {
		return nil, fmt.Errorf("write the pool: %w", err)
	}
	out := publicgen.AdminGetSnapshot200JSONResponse{Version: snapshotVersion, At: s.At, Incarnation: s.Incarnation,
		Orphans: []publicgen.Orphan{}, Violations: []publicgen.Violation{}}
	if err := json.Unmarshal(raw, &out.Pool); err != nil {
		return nil, fmt.Errorf("write the pool: %w", err)
	}
	for _, o := range s.Orphans {
		out.Orphans = append(out.Orphans, publicgen.Orphan{ID: o.ID, Node: o.Node, GPUUUID: o.GPUUUID, Member: o.Member, Kind: string(o.Kind),
			Profile: orNil(o.Profile), Start: o.Start, Size: o.Size, FoundAt: o.FoundAt})
	}
	for _, v := range s.Violations {
		out.Violations = append(out.Violations, publicgen.Violation{Code: v.Code, Where: v.Where, Detail: v.Detail})
	}
	return out, nil
}
