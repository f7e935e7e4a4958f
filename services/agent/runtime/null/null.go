// Package null owns the runtime that runs nothing: members run until they are stopped. Simulated fleets of thousands of
// cards use it.
//
// A member is one small file, so that what runs survives a restart of the agent within a boot.
package null

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/weirhq/weir/services/agent/internal/boottime"
	"github.com/weirhq/weir/services/agent/runtime"
)

// Runtime implements runtime.Runtime.
type Runtime struct {
	dir string
	now func() time.Duration

	mu      sync.Mutex
	boot    string
	members map[string]record
}

type record struct {
	Member    string        `json:"member"`
	Boot      string        `json:"boot"`
	RunningAt time.Duration `json:"running_at"`
	EndedAt   time.Duration `json:"ended_at,omitempty"`
}

// New returns a runtime that keeps its members in dir. now is the boot clock; nil means the machine's.
func New(dir string, now func() time.Duration) (*Runtime, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the null runtime's folder: %w", err)
	}
	if now == nil {
		now = boottime.Now
	}
	return &Runtime{dir: dir, now: now, members: map[string]record{}}, nil
}

// Facts says that nothing runs.
func (r *Runtime) Facts() runtime.Facts {
	return runtime.Facts{Name: "null", Isolation: runtime.None}
}

// Adopt reads the members of this boot.
func (r *Runtime) Adopt(_ context.Context, boot string, _ func(string)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.boot = boot
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		return fmt.Errorf("read the null runtime's members: %w", err)
	}
	for _, e := range entries {
		member, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok {
			continue
		}
		var rec record
		data, err := os.ReadFile(r.path(member))
		if err == nil {
			err = json.Unmarshal(data, &rec)
		}
		if err != nil || rec.Boot != boot {
			if err := os.Remove(r.path(member)); err != nil {
				return fmt.Errorf("drop member of another boot: %w", err)
			}
			continue
		}
		r.members[member] = rec
	}
	return nil
}

func (r *Runtime) path(member string) string { return filepath.Join(r.dir, member+".json") }

func (r *Runtime) save(rec record) error {
	data, err := json.Marshal(rec)
	if err != nil {
		return fmt.Errorf("encode member: %w", err)
	}
	next := r.path(rec.Member) + ".next"
	if err := os.WriteFile(next, data, 0o600); err != nil {
		return fmt.Errorf("write member: %w", err)
	}
	if err := os.Rename(next, r.path(rec.Member)); err != nil {
		return fmt.Errorf("write member: %w", err)
	}
	r.members[rec.Member] = rec
	return nil
}

// Start counts the member as running.
func (r *Runtime) Start(_ context.Context, s runtime.Spec) (runtime.State, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rec, ok := r.members[s.Member]
	if !ok {
		rec = record{Member: s.Member, Boot: r.boot, RunningAt: r.now()}
		if err := r.save(rec); err != nil {
			return runtime.State{}, err
		}
	}
	return rec.state(), nil
}

func (rec record) state() runtime.State {
	s := runtime.State{Phase: runtime.Running, RunningAt: rec.RunningAt}
	if rec.EndedAt > 0 {
		s.Phase, s.EndedAt, s.ExitCode, s.Signal = runtime.Exited, rec.EndedAt, 143, 15 // as a process that obeys TERM
	}
	return s
}

// Observe says whether the member was started and stopped.
func (r *Runtime) Observe(_ context.Context, member string) (runtime.State, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rec, ok := r.members[member]
	if !ok {
		return runtime.State{Phase: runtime.Absent}, nil
	}
	return rec.state(), nil
}

// Stop ends the member at once.
func (r *Runtime) Stop(_ context.Context, member string, _ time.Duration) (runtime.State, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rec, ok := r.members[member]
	if !ok {
		return runtime.State{Phase: runtime.Absent}, nil
	}
	if rec.EndedAt == 0 {
		rec.EndedAt = r.now()
		if err := r.save(rec); err != nil {
			return runtime.State{}, err
		}
	}
	return rec.state(), nil
}

// Remove forgets the member.
func (r *Runtime) Remove(_ context.Context, member string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := os.Remove(r.path(member)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget member: %w", err)
	}
	delete(r.members, member)
	return nil
}

// Logs are empty.
func (r *Runtime) Logs(_ context.Context, member string, _ runtime.LogOptions) (io.ReadCloser, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.members[member]; !ok {
		return nil, runtime.ErrNoMember
	}
	return io.NopCloser(strings.NewReader("")), nil
}

// KillAll forgets every member.
func (r *Runtime) KillAll(ctx context.Context) error {
	r.mu.Lock()
	var all []string
	for m := range r.members {
		all = append(all, m)
	}
	r.mu.Unlock()
	var errs []error
	for _, m := range all {
		errs = append(errs, r.Remove(ctx, m))
	}
	return errors.Join(errs...)
}

// Close does nothing.
func (r *Runtime) Close() error { return nil }
