package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/weirhq/weir/services/agent/internal/boottime"
	"github.com/weirhq/weir/services/agent/shim"
)

// Adopt takes over the members of this boot, by process number and start time, and ends what belongs to another boot.
func (r *Runtime) Adopt(ctx context.Context, boot string, notify func(string)) error {
	r.boot, r.notify = boot, notify
	entries, err := os.ReadDir(filepath.Join(r.cfg.Dir, "members"))
	if err != nil {
		return fmt.Errorf("read the members' folders: %w", err)
	}
	for _, e := range entries {
		if err := r.adopt(ctx, e.Name(), boot); err != nil {
			return err
		}
	}
	return r.sweepUIDs()
}

func (r *Runtime) adopt(ctx context.Context, name, boot string) error {
	dir := r.dirOf(name)
	state, started, err := shim.ReadState(dir)
	if err != nil {
		return err
	}
	if !started {
		// The agent died while the shim was starting: it either comes up now or gives up.
		if state, started, err = settleStart(ctx, dir); err != nil {
			return err
		}
	}
	if !started {
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("drop a member that never started: %w", err)
		}
		return nil
	}
	if state.HostBoot != boottime.HostBoot() {
		return r.retire(name, dir) // its process numbers mean nothing any more
	}
	if state.Boot != boot {
		if err := kill(ctx, state); err != nil {
			return err
		}
		return r.retire(name, dir)
	}
	r.track(name, dir, state)
	return nil
}

func settleStart(ctx context.Context, dir string) (shim.State, bool, error) {
	for range 300 {
		if !shim.Held(dir) {
			break
		}
		select {
		case <-ctx.Done():
			return shim.State{}, false, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
		if state, ok, err := shim.ReadState(dir); ok || err != nil {
			return state, ok, err
		}
	}
	return shim.ReadState(dir) // it may have come and gone
}

// kill is a power cut for one member. It returns once its processes have ended.
func kill(ctx context.Context, s shim.State) error {
	within, cancel := context.WithTimeout(ctx, killWithin)
	defer cancel()
	if err := errors.Join(s.Shim.Kill(within), s.Init.Kill(within)); err != nil {
		return fmt.Errorf("end member %s: %w", s.Member, err)
	}
	if s.OwnUID {
		shim.ClearUID(s.UID)
	}
	return nil
}

// KillAll is a power cut for all of them.
func (r *Runtime) KillAll(ctx context.Context) error {
	r.mu.Lock()
	all := make([]*member, 0, len(r.members))
	for _, m := range r.members {
		all = append(all, m)
	}
	r.mu.Unlock()
	var errs []error
	for _, m := range all {
		if err := kill(ctx, m.state); err != nil {
			errs = append(errs, err)
		}
		if !m.endsWithin(ctx, killWithin) {
			errs = append(errs, fmt.Errorf("member %s did not die", m.name))
			continue
		}
		errs = append(errs, r.Remove(ctx, m.name))
	}
	return errors.Join(errs...)
}

// Remove gives back an ended member's uid and folder. Its log is kept for a while.
func (r *Runtime) Remove(_ context.Context, name string) error {
	r.mu.Lock()
	m := r.members[name]
	r.mu.Unlock()
	if m != nil {
		select {
		case <-m.ended:
		default:
			return fmt.Errorf("member %s runs still", name)
		}
	}
	if err := r.retire(name, r.dirOf(name)); err != nil {
		return err
	}
	r.mu.Lock()
	delete(r.members, name)
	r.mu.Unlock()
	if m != nil {
		r.freeUID(m.state.UID, m.state.OwnUID)
	}
	return nil
}

// retire keeps the log of an ended member, and the newest of those.
func (r *Runtime) retire(name, dir string) error {
	if _, err := os.Stat(dir); os.IsNotExist(err) {
		return nil
	}
	ended := filepath.Join(r.cfg.Dir, "ended", name)
	if err := os.RemoveAll(ended); err != nil {
		return fmt.Errorf("retire member %s: %w", name, err)
	}
	if err := os.Rename(dir, ended); err != nil {
		return fmt.Errorf("retire member %s: %w", name, err)
	}
	return r.prune()
}

func (r *Runtime) prune() error {
	entries, err := os.ReadDir(filepath.Join(r.cfg.Dir, "ended"))
	if err != nil || len(entries) <= r.cfg.KeepLogs {
		return err
	}
	changed := func(e os.DirEntry) int64 {
		info, err := e.Info()
		if err != nil {
			return 0
		}
		return info.ModTime().UnixNano()
	}
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return int(changed(a) - changed(b)) })
	for _, e := range entries[:len(entries)-r.cfg.KeepLogs] {
		if err := os.RemoveAll(filepath.Join(r.cfg.Dir, "ended", e.Name())); err != nil {
			return fmt.Errorf("drop old log: %w", err)
		}
	}
	return nil
}
