package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// call is a function of a package that only some rooms may name.
type call struct {
	pkg, name string
	allowed   func(u unit) bool
	why       string
}

func rooms(names ...string) func(unit) bool { return func(u unit) bool { return u.in(names...) } }

var (
	testRooms = []string{"pkg/testkit", "e2e"}
	clocks    = rooms(append([]string{"pkg/kit/clock"}, testRooms...)...)
	prints    = rooms(testRooms...)
	environ   = rooms(append([]string{"services/cli", "services/cmd", "services/agent/cmd", "pkg/kit/config", "db/cmd"}, testRooms...)...)
)

// requestPath is where a request's context must be handed on.
func requestPath(u unit) bool {
	switch layer(u.room()) {
	case "api", "app", "store", "peer":
		return true
	}
	return u.in("pkg/kit/httpx", "pkg/kit/idem", "pkg/kit/authn", "services/gateway/internal")
}

var calls = []call{
	{"time", "Now", clocks, "take a clock.Clock"},
	{"time", "Since", clocks, "take a clock.Clock"},
	{"time", "Until", clocks, "take a clock.Clock"},
	{"os", "Getenv", environ, "configuration is read by the command line"},
	{"os", "LookupEnv", environ, "configuration is read by the command line"},
	{"fmt", "Print", prints, "write to the command's output, or log"},
	{"fmt", "Printf", prints, "write to the command's output, or log"},
	{"fmt", "Println", prints, "write to the command's output, or log"},
	{"log/slog", "Default", prints, "loggers are injected"},
	{"context", "Background", func(u unit) bool { return !requestPath(u) }, "hand the request's context on"},
	{"context", "TODO", func(u unit) bool { return !requestPath(u) }, "hand the request's context on"},
}

// maxLines is where a file must be split. Most should be far below.
const maxLines = 600

// TestCode reads every hand-written file that ends up in a program.
func TestCode(t *testing.T) {
	t.Parallel()
	fset := token.NewFileSet()
	for _, u := range workspace(t) {
		for _, name := range u.GoFiles {
			path := filepath.Join(u.Dir, name)
			src, err := os.ReadFile(path)
			require.NoError(t, err)
			if strings.HasSuffix(name, ".gen.go") {
				continue
			}
			if n := bytes.Count(src, []byte("\n")); n > maxLines {
				t.Errorf("%s/%s has %d lines: split it", u.room(), name, n)
			}
			f, err := parser.ParseFile(fset, path, src, parser.SkipObjectResolution)
			if err != nil {
				t.Errorf("parse: %v", err)
				continue
			}
			for _, found := range named(f) {
				for _, c := range calls {
					if found.pkg == c.pkg && found.name == c.name && !c.allowed(u) {
						t.Errorf("%s/%s:%d uses %s.%s: %s", u.room(), name, fset.Position(found.pos).Line, c.pkg, c.name, c.why)
					}
				}
			}
		}
	}
}

type use struct {
	pkg, name string
	pos       token.Pos
}

// named lists what a file names of the packages it imports.
func named(f *ast.File) (uses []use) {
	imports := map[string]string{}
	for _, s := range f.Imports {
		path, _ := strconv.Unquote(s.Path.Value)
		as := path[strings.LastIndex(path, "/")+1:]
		if s.Name != nil {
			as = s.Name.Name
		}
		imports[as] = path
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && imports[x.Name] != "" {
				uses = append(uses, use{imports[x.Name], sel.Sel.Name, sel.Pos()})
			}
		}
		return true
	})
	return uses
}

// TestEveryPackageSaysWhatItOwns wants a package comment, and for our own ones the
// conventional first words.
func TestEveryPackageSaysWhatItOwns(t *testing.T) {
	t.Parallel()
	for _, u := range workspace(t) {
		switch {
		case len(u.GoFiles) == 0: // tests only
		case u.Doc == "":
			t.Errorf("%s has no package comment", u.room())
		case u.Name == "main":
			require.True(t, strings.HasPrefix(u.Doc, "Command "), "%s: the comment of a main package begins with %q", u.room(), "Command")
		default:
			require.True(t, strings.HasPrefix(u.Doc, fmt.Sprintf("Package %s ", u.Name)), "%s: the package comment begins with %q", u.room(), "Package "+u.Name)
		}
	}
}
