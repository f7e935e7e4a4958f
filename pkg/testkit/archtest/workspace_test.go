package archtest

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "github.com/weirhq/weir/"

// unit is one package of the workspace.
type unit struct {
	ImportPath   string
	Dir          string
	Name         string
	Doc          string
	GoFiles      []string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

// room is the package's path inside the repository: "services/tenant/internal/api".
func (u unit) room() string { return strings.TrimPrefix(u.ImportPath, root) }

// in reports whether the package is one of the rooms or below one of them.
func (u unit) in(rooms ...string) bool { return within(u.room(), rooms...) }

func within(path string, rooms ...string) bool {
	for _, r := range rooms {
		if path == r || strings.HasPrefix(path, r+"/") {
			return true
		}
	}
	return false
}

// list runs go list in the workspace; it reports broken packages rather than stopping.
func list(dir string, args ...string) ([]unit, error) {
	cmd := exec.Command("go", append([]string{"list", "-e", "-json=ImportPath,Dir,Name,Doc,GoFiles,Imports,TestImports,XTestImports"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var units []unit
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var u unit
		err := d.Decode(&u)
		if errors.Is(err, io.EOF) {
			return units, nil
		}
		if err != nil {
			return nil, err
		}
		units = append(units, u)
	}
}

var loadWorkspace = sync.OnceValues(func() ([]unit, error) { return list(".", "work") })

func workspace(t *testing.T) []unit {
	t.Helper()
	units, err := loadWorkspace()
	require.NoError(t, err)
	require.Greater(t, len(units), 20, "the workspace was not found")
	return units
}

func repo(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../../..")
	require.NoError(t, err)
	return dir
}
