package agent_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/services/agent/driver"
	"github.com/weirhq/weir/services/agent/runtime"
	"github.com/weirhq/weir/services/agent/runtime/null"
)

// alive reports whether a process runs; one that only waits to be buried does not.
func alive(pid int64) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func contains(list []string, s string) bool { return slices.Contains(list, s) }

func count(list []string, s string) (n int) {
	for _, x := range list {
		if x == s {
			n++
		}
	}
	return n
}

func nullRuntime(t *testing.T) runtime.Runtime {
	t.Helper()
	rt, err := null.New(t.TempDir(), nil)
	require.NoError(t, err)
	return rt
}

// real are cards that claim to be.
type real struct{ driver.Driver }

func (real) Simulated() bool { return false }
