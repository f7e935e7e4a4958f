package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/services/gateway/internal/api/publicgen"
)

// GetHealth says that the process is alive.
func (h *Handlers) GetHealth(context.Context, publicgen.GetHealthRequestObject) (publicgen.GetHealthResponseObject, error) {
	return publicgen.GetHealth200JSONResponse{Status: publicgen.Ok}, nil
}

// GetReadiness asks every part; the refusal names the first that cannot serve.
func (h *Handlers) GetReadiness(ctx context.Context, _ publicgen.GetReadinessRequestObject) (publicgen.GetReadinessResponseObject, error) {
	if err := h.Ready(ctx); err != nil {
		return nil, fault.Wrap(fault.Unavailable, "Not ready: "+err.Error()+".", err)
	}
	return publicgen.GetReadiness200JSONResponse{Status: publicgen.Ok}, nil
}

// GetOpenAPI returns the merged document.
func (h *Handlers) GetOpenAPI(context.Context, publicgen.GetOpenAPIRequestObject) (publicgen.GetOpenAPIResponseObject, error) {
	return contract(h.Contract), nil
}

// contract is a document that is JSON already.
type contract []byte

// VisitGetOpenAPIResponse writes the document as it is.
func (c contract) VisitGetOpenAPIResponse(w http.ResponseWriter) error {
	sum := sha256.Sum256(c)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:8])+`"`)
	w.WriteHeader(http.StatusOK)
	_, err := w.Write(c)
	return err
}
