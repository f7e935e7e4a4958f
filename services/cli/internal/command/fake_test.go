package command

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/problem"
)

// docs are the public documents: what the fake says, and what it is asked, must be in them.
var docs = sync.OnceValues(func() (all []*openapi3.T, err error) {
	loader := openapi3.NewLoader()
	loader.IsExternalRefsAllowed = true
	for _, s := range []string{"tenant", "allocator", "inventory", "metering", "gateway"} {
		doc, err := loader.LoadFromFile("../../../../openapi/public/" + s + ".yaml")
		if err != nil {
			return nil, err
		}
		all = append(all, doc)
	}
	return all, nil
})

// deployment is a fake one: the operations a test needs, checked against the documents.
type deployment struct {
	*httptest.Server
	t   *testing.T
	mux *http.ServeMux

	mu    sync.Mutex
	calls []call
}

type call struct {
	op, path, query, auth, key string
	body                       string
}

func newDeployment(t *testing.T) *deployment {
	d := &deployment{t: t, mux: http.NewServeMux()}
	d.Server = httptest.NewServer(d.mux)
	t.Cleanup(d.Close)
	return d
}

// operation finds a documented operation.
func (d *deployment) operation(method, path string) *openapi3.Operation {
	all, err := docs()
	require.NoError(d.t, err)
	for _, doc := range all {
		if item := doc.Paths.Find(path); item != nil && item.GetOperation(method) != nil {
			return item.GetOperation(method)
		}
	}
	d.t.Fatalf("%s %s is in no document", method, path)
	return nil
}

// on answers an operation; route is "METHOD /path/{id}". answer returns a status and a JSON
// value or a fault.
func (d *deployment) on(route string, answer func(r *http.Request, body string) (int, any)) {
	method, path, _ := strings.Cut(route, " ")
	op := d.operation(method, path)
	d.mux.HandleFunc(route, func(w http.ResponseWriter, r *http.Request) {
		body := d.note(op, r)
		status, v := answer(r, body)
		if f, ok := v.(*fault.Error); ok {
			_ = problem.Write(w, f, "req_01J9Z3N8Q4T5V6W7X8Y9Z0A1B2")
			return
		}
		if v == nil {
			w.WriteHeader(status)
			return
		}
		d.check(op, status, v)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(v)
	})
}

// raw answers an operation with a handler.
func (d *deployment) raw(route string, h http.HandlerFunc) {
	method, path, _ := strings.Cut(route, " ")
	op := d.operation(method, path)
	d.mux.HandleFunc(route, func(w http.ResponseWriter, r *http.Request) {
		d.note(op, r)
		h(w, r)
	})
}

// note records a request and checks its body and query against the document.
func (d *deployment) note(op *openapi3.Operation, r *http.Request) string {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		d.t.Errorf("%s: read the body: %v", op.OperationID, err)
	}
	if op.RequestBody != nil {
		var v any
		if err := json.Unmarshal(raw, &v); err != nil {
			d.t.Errorf("%s: the body is no JSON: %s", op.OperationID, raw)
		} else if err := op.RequestBody.Value.Content.Get("application/json").Schema.Value.VisitJSON(v, openapi3.VisitAsRequest()); err != nil {
			d.t.Errorf("%s: the request is not what the document says: %v\n%s", op.OperationID, err, raw)
		}
	}
	for name := range r.URL.Query() {
		if op.Parameters.GetByInAndName("query", name) == nil {
			d.t.Errorf("%s: unknown query parameter %s", op.OperationID, name)
		}
	}
	if p := op.Parameters.GetByInAndName("header", "Idempotency-Key"); p != nil && r.Header.Get("Idempotency-Key") == "" {
		d.t.Errorf("%s: no idempotency key", op.OperationID)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls = append(d.calls, call{op.OperationID, r.URL.Path, r.URL.RawQuery, r.Header.Get("Authorization"), r.Header.Get("Idempotency-Key"), string(raw)})
	return string(raw)
}

// check compares an answer with the document.
func (d *deployment) check(op *openapi3.Operation, status int, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		d.t.Errorf("%s: %v", op.OperationID, err)
		return
	}
	var plain any
	_ = json.Unmarshal(raw, &plain)
	resp := op.Responses.Status(status)
	if resp == nil {
		d.t.Errorf("%s: the document knows no answer %d", op.OperationID, status)
		return
	}
	if err := resp.Value.Content.Get("application/json").Schema.Value.VisitJSON(plain, openapi3.VisitAsResponse()); err != nil {
		d.t.Errorf("%s: the fake's answer is not what the document says: %v", op.OperationID, err)
	}
}

// seen lists the recorded calls of an operation.
func (d *deployment) seen(op string) (found []call) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.calls {
		if c.op == op {
			found = append(found, c)
		}
	}
	return found
}
