package archtest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rule refuses imports. why is what its offender reads.
type rule struct {
	why     string
	applies func(u unit) bool
	refuses func(u unit, path string) bool
}

// local returns the path inside the repository, or "" for std and third parties.
func local(path string) string {
	p, ok := strings.CutPrefix(path, root)
	if !ok {
		return ""
	}
	return p
}

// std has no dot in its first element.
func std(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

func third(prefixes ...string) func(unit, string) bool {
	return func(_ unit, path string) bool { return within(path, prefixes...) }
}

// service returns "tenant" for everything under services/tenant.
func service(room string) string {
	rest, ok := strings.CutPrefix(room, "services/")
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}

// layer returns "api" for services/X/internal/api and below.
func layer(room string) string {
	_, rest, ok := strings.Cut(room, "/internal/")
	if !ok || service(room) == "" {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}

func layers(names ...string) func(unit) bool {
	return func(u unit) bool {
		for _, n := range names {
			if layer(u.room()) == n {
				return true
			}
		}
		return false
	}
}

// ownLayer refuses the named rooms of the package's own service.
func ownLayer(names ...string) func(unit, string) bool {
	return func(u unit, path string) bool {
		l := local(path)
		if service(l) == "" || service(l) != service(u.room()) {
			return false
		}
		for _, n := range names {
			if layer(l) == n {
				return true
			}
		}
		return false
	}
}

func except(rooms ...string) func(unit) bool {
	return func(u unit) bool { return !u.in(rooms...) }
}

// assembly is where services are put together into processes.
var assembly = []string{"services/cmd", "services/cli"}

var rules = []rule{
	{"the kernel is std-only", func(u unit) bool { return u.in("pkg/kernel") },
		func(_ unit, p string) bool { return !std(p) && !within(local(p), "pkg/kernel") }},
	{"pkg knows no service", func(u unit) bool { return u.in("pkg") },
		func(_ unit, p string) bool { return within(local(p), "services", "e2e", "frontend") }},
	{"the kit knows the kernel and libraries, not the product's API", func(u unit) bool { return u.in("pkg/kit") },
		func(_ unit, p string) bool { return within(local(p), "pkg/api", "pkg/testkit") }},
	{"generated clients know nothing of ours but the shared types", func(u unit) bool { return u.in("pkg/api") },
		func(_ unit, p string) bool {
			return local(p) != "" && !within(local(p), "pkg/api/commonapi", "pkg/api/commonserver")
		}},
	{"migrations know nothing of ours", func(u unit) bool { return u.in("db") },
		func(_ unit, p string) bool { return local(p) != "" && !within(local(p), "db") }},
	{"the test kit is for tests", except("pkg/testkit", "e2e"),
		func(_ unit, p string) bool { return within(local(p), "pkg/testkit") }},
	{"services meet over their clients, never in Go", func(u unit) bool { return service(u.room()) != "" && !u.in(assembly...) },
		func(u unit, p string) bool {
			to := service(local(p))
			return to != "" && to != service(u.room()) && !(to == "agent" && service(u.room()) == "sim")
		}},
	{"processes are put together from services' roots", func(u unit) bool { return u.in(assembly...) },
		func(u unit, p string) bool { return service(local(p)) != service(u.room()) && layer(local(p)) != "" }},
	{"the domain is std and kernel only", layers("domain"),
		func(u unit, p string) bool {
			return !std(p) && !within(local(p), "pkg/kernel") && layer(local(p)) != "domain"
		}},
	{"the engines are std and kernel only", layers("place", "rate", "meter"),
		func(u unit, p string) bool {
			return !std(p) && !within(local(p), "pkg/kernel") && !ownLayer("place", "rate", "meter")(u, p)
		}},
	{"use cases reach the outside through ports", layers("app"), ownLayer("api", "store", "peer", "work")},
	{"use cases know no wire types", layers("app", "store"), func(_ unit, p string) bool { return within(local(p), "pkg/api") }},
	{"handlers go through use cases", layers("api"), ownLayer("store", "peer", "work")},
	{"stores implement ports and know nothing else of the service", layers("store"), ownLayer("api", "peer", "work")},
	{"peers implement ports of the domain", layers("peer"), ownLayer("api", "store", "work")},

	{"gin belongs to handlers, the gateway and httpx", func(u unit) bool {
		return layer(u.room()) != "api" && !u.in("services/gateway", "pkg/kit/httpx")
	}, third("github.com/gin-gonic", "github.com/gin-contrib")},
	{"gorm belongs to stores and the database kit", func(u unit) bool {
		return layer(u.room()) != "store" && !u.in("pkg/kit/pg", "pkg/kit/outbox", "pkg/kit/idem")
	}, third("gorm.io")},
	{"Stripe belongs to its gateway", except("services/metering/internal/stripegw"), third("github.com/stripe")},
	{"NVML belongs to its driver", except("services/agent/internal/nvmlgpu"), third("github.com/NVIDIA")},
	{"tokens are read and written by authn and the tenant service", except("pkg/kit/authn", "services/tenant"), third("github.com/golang-jwt")},
}

func TestImports(t *testing.T) {
	t.Parallel()
	for _, u := range workspace(t) {
		for _, r := range rules {
			if !r.applies(u) {
				continue
			}
			for _, p := range u.Imports {
				if r.refuses(u, p) {
					t.Errorf("%s imports %s: %s", u.room(), strings.TrimPrefix(p, root), r.why)
				}
			}
		}
	}
}

// TestRulesBite keeps the rules from rotting into ones that refuse nothing.
func TestRulesBite(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ from, to string }{
		{"pkg/kernel/id", "github.com/google/uuid"}, {"pkg/kit/pg", root + "services/tenant"}, {"pkg/kit/httpx", root + "pkg/api/tenantapi"},
		{"pkg/api/tenantapi", root + "pkg/kit/httpx"}, {"db", root + "pkg/kit/pg"}, {"services/tenant", root + "pkg/testkit/pgtest"},
		{"services/tenant/internal/app", root + "services/allocator"}, {"services/cmd/weir", root + "services/tenant/internal/app"},
		{"services/tenant/internal/domain", root + "pkg/kit/clock"}, {"services/allocator/internal/place", root + "pkg/kit/clock"},
		{"services/tenant/internal/app", root + "services/tenant/internal/store"}, {"services/tenant/internal/app", root + "pkg/api/tenantapi"},
		{"services/tenant/internal/api/publicgen", root + "services/tenant/internal/store"}, {"services/tenant/internal/store", root + "services/tenant/internal/peer"},
		{"services/allocator/internal/peer", root + "services/allocator/internal/store"}, {"services/tenant/internal/app", "github.com/gin-gonic/gin"},
		{"services/tenant/internal/app", "gorm.io/gorm"}, {"services/metering", "github.com/stripe/stripe-go"}, {"services/agent", "github.com/NVIDIA/go-nvml/pkg/nvml"},
		{"services/metering", "github.com/golang-jwt/jwt/v5"},
	} {
		u, bites := unit{ImportPath: root + c.from}, false
		for _, r := range rules {
			bites = bites || r.applies(u) && r.refuses(u, c.to)
		}
		require.True(t, bites, "%s may import %s", c.from, c.to)
	}
}

// TestAgentStaysSmall looks at everything the agent links, not only at what it imports:
// it runs with privileges on customers' machines.
func TestAgentStaysSmall(t *testing.T) {
	t.Parallel()
	units, err := list(repo(t)+"/services/agent", "-deps", "./...")
	require.NoError(t, err)
	for _, u := range units {
		for _, heavy := range []string{"gorm.io", "github.com/gin-gonic", "github.com/stripe", "github.com/jackc", "github.com/getkin"} {
			if within(u.ImportPath, heavy) {
				t.Errorf("the agent links %s", u.ImportPath)
			}
		}
		if u.ImportPath == "database/sql" { // not its driver, which is only types
			t.Errorf("the agent links %s", u.ImportPath)
		}
		if s := service(local(u.ImportPath)); s != "" && s != "agent" {
			t.Errorf("the agent links the service %s", s)
		}
	}
}
