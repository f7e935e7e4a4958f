package httpx

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/gin-gonic/gin"

	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/authz"
	"github.com/weirhq/weir/pkg/kit/idem"
	"github.com/weirhq/weir/pkg/kit/mesh"
)

// idempotencyHeader is required by the operations whose document declares it.
const idempotencyHeader = "Idempotency-Key"

// operations is a document's operations by method and gin route.
type operations map[string]*operation

// operation is what the guard needs of one operation, worked out once.
type operation struct {
	id         string
	params     []*openapi3.Parameter // query and header
	query      map[string]bool       // the known query parameters
	body       *openapi3.Schema      // nil when there is no JSON body
	needsBody  bool
	idempotent bool
}

var pathParam = regexp.MustCompile(`\{([^{}]+)\}`)

// Route writes an OpenAPI path as the generated code registers it.
func Route(path string) string { return pathParam.ReplaceAllString(path, ":$1") }

func compile(spec *openapi3.T, rules authz.Rules) operations {
	ops := operations{}
	for path, item := range spec.Paths.Map() {
		for method, op := range item.Operations() {
			ops[method+" "+Route(path)] = compileOperation(item, op, rules)
		}
	}
	return ops
}

func compileOperation(item *openapi3.PathItem, op *openapi3.Operation, rules authz.Rules) *operation {
	if op.OperationID == "" {
		panic("httpx: an operation without operationId")
	}
	id, _ := rules.Name(op.OperationID) // one without a rule is refused when it is called
	o := &operation{id: id, query: map[string]bool{}}
	for _, list := range []openapi3.Parameters{item.Parameters, op.Parameters} {
		for _, p := range list {
			switch p.Value.In {
			case openapi3.ParameterInQuery:
				o.query[p.Value.Name] = true
			case openapi3.ParameterInHeader:
				o.idempotent = o.idempotent || p.Value.Name == idempotencyHeader
			default:
				continue // ids in paths are looked up, not checked
			}
			o.params = append(o.params, p.Value)
		}
	}
	if op.RequestBody != nil {
		if m := op.RequestBody.Value.Content.Get("application/json"); m != nil && m.Schema != nil {
			o.body, o.needsBody = m.Schema.Value, op.RequestBody.Value.Required
			closeObjects(o.body, map[*openapi3.Schema]bool{})
		}
	}
	return o
}

// closeObjects makes every object that lists its properties and says nothing of others
// refuse others: unknown fields are mistakes. Parts of an allOf know only their share.
func closeObjects(s *openapi3.Schema, seen map[*openapi3.Schema]bool) {
	if s == nil || seen[s] {
		return
	}
	seen[s] = true
	if len(s.Properties) > 0 && len(s.AllOf) == 0 && s.AdditionalProperties.Has == nil && s.AdditionalProperties.Schema == nil {
		no := false
		s.AdditionalProperties.Has = &no
	}
	for _, p := range s.Properties {
		closeObjects(p.Value, seen)
	}
	for _, list := range []openapi3.SchemaRefs{s.OneOf, s.AnyOf} {
		for _, r := range list {
			closeObjects(r.Value, seen)
		}
	}
	if s.Items != nil {
		closeObjects(s.Items.Value, seen)
	}
	if s.AdditionalProperties.Schema != nil {
		closeObjects(s.AdditionalProperties.Schema.Value, seen)
	}
}

// guard lets a request through to its handler when its caller may make it and it is what
// the document says, in that order: a stranger learns nothing about the body.
func (ops operations) guard(o Options) gin.HandlerFunc {
	return func(c *gin.Context) {
		op := ops[c.Request.Method+" "+c.FullPath()]
		if op == nil {
			fail(c, fmt.Errorf("route %s %s is in no document", c.Request.Method, c.FullPath()))
			return
		}
		who, err := o.Identify(c.Request)
		if err != nil {
			fail(c, err)
			return
		}
		ctx := actor.With(c.Request.Context(), who)
		c.Request = c.Request.WithContext(ctx)
		if err := o.Rules.Check(op.id, who, mesh.Peer(ctx)); err != nil {
			fail(c, err)
			return
		}
		if err := pathText(c.Params); err != nil {
			fail(c, err)
			return
		}
		raw, err := op.check(c.Request)
		if err != nil {
			fail(c, err)
			return
		}
		if op.idempotent {
			c.Request = c.Request.WithContext(idem.With(ctx, idem.Key{
				Org: who.Org, Principal: who.ID, Operation: op.id, Path: c.Request.URL.Path,
				Key: c.GetHeader(idempotencyHeader), Body: sha256.Sum256(raw),
			}))
		}
	}
}

// pathText refuses text that no id has and no database takes, like any unknown id.
func pathText(params gin.Params) error {
	for _, p := range params {
		if !cleanText(p.Value) || len(p.Value) > 255 {
			return fault.New(fault.NotFound, "There is no such "+strings.ReplaceAll(p.Key, "_", " ")+".")
		}
	}
	return nil
}
