package command

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kit/clock"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// person is somebody at a terminal.
type person struct {
	t       *testing.T
	d       *deployment
	env     map[string]string
	dir     string
	clock   clock.Clock
	signals chan os.Signal
	out     io.Writer // instead of the recorded standard output
	errOut  *buffer
}

func newPerson(t *testing.T, d *deployment) *person {
	return &person{t: t, d: d, env: map[string]string{"WEIR_URL": d.URL, "WEIR_TOKEN": "weir_d_test"}, dir: t.TempDir(), clock: clock.Real{}, signals: make(chan os.Signal, 4), errOut: &buffer{}}
}

type result struct {
	out, err string
	code     int
}

func (p *person) run(stdin string, args ...string) result {
	p.t.Helper()
	out, errOut := &buffer{}, p.errOut
	var stdout io.Writer = out
	if p.out != nil {
		stdout = p.out
	}
	before := len(errOut.String())
	code := Run(p.t.Context(), args, World{
		In: strings.NewReader(stdin), Out: stdout, Err: errOut, Getenv: func(k string) string { return p.env[k] }, ConfigDir: p.dir, Clock: p.clock, Signals: p.signals,
	})
	return result{out.String(), errOut.String()[before:], code}
}

// golden runs a command that must succeed silently and compares its output with a file.
func (p *person) golden(name string, args ...string) {
	p.t.Helper()
	r := p.run("", args...)
	require.Zero(p.t, r.code, r.err)
	require.Empty(p.t, r.err)
	compare(p.t, name, r.out)
}

func compare(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run with -update to write it")
	require.Equal(t, string(want), got)
}

// buffer may be written and read at once.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
