package spec

import (
	"encoding/json"
	"fmt"
	"reflect"
	"sort"
	"strings"

	"github.com/weirhq/weir/pkg/kit/authz"
)

type object = map[string]any

// part is one document on its way into the merged one.
type part struct {
	service string
	doc     object
	rename  map[string]string // "schemas/Name" → its name in the merged document
}

// Merge returns the public documents as one, in JSON.
func Merge() ([]byte, error) {
	var parts []*part
	for _, s := range append([]source{common}, sources...) {
		raw, err := s.raw()
		if err != nil {
			return nil, fmt.Errorf("openapi document of %s: %w", s.service, err)
		}
		p := &part{service: s.service, rename: map[string]string{}}
		if err := json.Unmarshal(raw, &p.doc); err != nil {
			return nil, fmt.Errorf("openapi document of %s: %w", s.service, err)
		}
		parts = append(parts, p)
	}
	nameApart(parts)
	paths, components := object{}, object{"securitySchemes": object{"bearer": object{
		"type": "http", "scheme": "bearer", "description": "An access token from /v1/auth/login, or an API key.",
	}}}
	for _, p := range parts {
		docPaths, _ := p.refer(p.doc["paths"], parts[0]).(object)
		for path, item := range docPaths {
			if _, twice := paths[path]; twice {
				return nil, fmt.Errorf("path %s is in two documents", path)
			}
			mark(item.(object))
			paths[path] = item
		}
		p.each(func(kind, name string, value any) {
			group, _ := components[kind].(object)
			if group == nil {
				group = object{}
				components[kind] = group
			}
			group[p.rename[kind+"/"+name]] = p.refer(value, parts[0])
		})
	}
	return json.Marshal(object{
		"openapi":    "3.0.3",
		"info":       object{"title": "Weir", "version": "1", "description": "Rent GPUs, whole or in slices. Errors are `application/problem+json`; compare their `code`."},
		"servers":    []any{object{"url": "/"}},
		"security":   []any{object{"bearer": []any{}}},
		"paths":      paths,
		"components": components,
	})
}

// nameApart gives components a name of their own when documents mean different things by
// the same one.
func nameApart(parts []*part) {
	first := map[string]any{}
	clash := map[string]bool{}
	for _, p := range parts {
		p.each(func(kind, name string, value any) {
			key := kind + "/" + name
			if have, seen := first[key]; seen && !reflect.DeepEqual(have, value) {
				clash[key] = true
			}
			first[key] = value
		})
	}
	for _, p := range parts {
		p.each(func(kind, name string, _ any) {
			key := kind + "/" + name
			p.rename[key] = name
			if clash[key] && p.service != common.service {
				p.rename[key] = strings.ToUpper(p.service[:1]) + p.service[1:] + name
			}
		})
	}
}

// each visits the components of a document in a stable order.
func (p *part) each(fn func(kind, name string, value any)) {
	groups, _ := p.doc["components"].(object)
	for _, kind := range sorted(groups) {
		group, _ := groups[kind].(object)
		for _, name := range sorted(group) {
			fn(kind, name, group[name])
		}
	}
}

// refer returns v with every reference pointing into the merged document.
func (p *part) refer(v any, common *part) any {
	switch v := v.(type) {
	case object:
		out := object{}
		for k, item := range v {
			if ref, ok := item.(string); ok && k == "$ref" {
				out[k] = p.target(ref, common)
				continue
			}
			if strings.HasPrefix(k, "x-go-") {
				continue // for our generator only
			}
			out[k] = p.refer(item, common)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = p.refer(item, common)
		}
		return out
	}
	return v
}

func (p *part) target(ref string, common *part) string {
	file, key, _ := strings.Cut(ref, "#/components/")
	owner := p
	if file != "" {
		owner = common
	}
	kind, _, _ := strings.Cut(key, "/")
	return "#/components/" + kind + "/" + owner.rename[key]
}

// mark gives operations their ids as written and says which need no credential.
func mark(item object) {
	for _, op := range item {
		if op, ok := op.(object); ok && op["operationId"] != nil {
			id, _ := op["operationId"].(string)
			id, _ = authz.Table.Name(id)
			op["operationId"] = id
			if authz.Table[id].Who.Public() {
				op["security"] = []any{}
			}
		}
	}
}

func sorted(m object) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
