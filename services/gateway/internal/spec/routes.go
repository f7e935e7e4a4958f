package spec

import (
	"fmt"
	"sort"

	"github.com/weirhq/weir/pkg/kit/authz"
)

// Gateway is the service whose operations the gateway answers itself.
const Gateway = "gateway"

// Route is one public operation and the service that answers it.
type Route struct {
	Service   string
	Operation string
	Method    string
	Path      string // as in OpenAPI: /v1/instances/{id}
	Stream    bool   // the answer goes on for as long as the caller listens
}

// Routes lists every public operation that another service answers.
func Routes() ([]Route, error) {
	var routes []Route
	for _, s := range sources {
		if s.service == Gateway {
			continue
		}
		doc, err := s.doc()
		if err != nil {
			return nil, fmt.Errorf("openapi document of %s: %w", s.service, err)
		}
		for path, item := range doc.Paths.Map() {
			for method, op := range item.Operations() {
				id, _ := authz.Table.Name(op.OperationID)
				r := Route{Service: s.service, Operation: id, Method: method, Path: path}
				if ok := op.Responses.Value("200"); ok != nil && ok.Value != nil {
					r.Stream = ok.Value.Content["text/event-stream"] != nil
				}
				routes = append(routes, r)
			}
		}
	}
	sort.Slice(routes, func(i, j int) bool {
		return routes[i].Path+routes[i].Method < routes[j].Path+routes[j].Method
	})
	return routes, nil
}
