package spec

import (
	"github.com/getkin/kin-openapi/openapi3"

	"github.com/weirhq/weir/pkg/api/commonserver"
	"github.com/weirhq/weir/services/gateway/internal/spec/allocatorspec"
	"github.com/weirhq/weir/services/gateway/internal/spec/gatewayspec"
	"github.com/weirhq/weir/services/gateway/internal/spec/inventoryspec"
	"github.com/weirhq/weir/services/gateway/internal/spec/meteringspec"
	"github.com/weirhq/weir/services/gateway/internal/spec/simspec"
	"github.com/weirhq/weir/services/gateway/internal/spec/tenantspec"
)

// source is the public document of one service.
type source struct {
	service string
	raw     func() ([]byte, error)
	doc     func() (*openapi3.T, error)
}

// sources are all public documents, in the order readers expect. A new one in
// openapi/public is a line here.
var sources = []source{
	{"tenant", tenantspec.GetSpecJSON, tenantspec.GetSpec},
	{"allocator", allocatorspec.GetSpecJSON, allocatorspec.GetSpec},
	{"metering", meteringspec.GetSpecJSON, meteringspec.GetSpec},
	{"inventory", inventoryspec.GetSpecJSON, inventoryspec.GetSpec},
	{"sim", simspec.GetSpecJSON, simspec.GetSpec},
	{Gateway, gatewayspec.GetSpecJSON, gatewayspec.GetSpec},
}

// common is what all of them refer to.
var common = source{"common", commonserver.GetSpecJSON, commonserver.GetSpec}
