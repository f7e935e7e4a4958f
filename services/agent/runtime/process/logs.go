package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/weirhq/weir/services/agent/runtime"
	"github.com/weirhq/weir/services/agent/shim"
)

const followEvery = 100 * time.Millisecond

// Logs reads a member's output, of one that ended too while it is kept.
func (r *Runtime) Logs(ctx context.Context, name string, o runtime.LogOptions) (io.ReadCloser, error) {
	r.mu.Lock()
	m := r.members[name]
	r.mu.Unlock()
	l := &logReader{ctx: ctx, follow: o.Follow && m != nil}
	if m != nil {
		l.dir, l.ended = m.dir, m.ended
	} else {
		l.dir = filepath.Join(r.cfg.Dir, "ended", name)
		if _, err := os.Stat(l.dir); err != nil {
			return nil, runtime.ErrNoMember
		}
	}
	if err := l.open(o.Tail); err != nil {
		return nil, err
	}
	return l, nil
}

// logReader reads the older file, then the newer one, then, when following, whatever comes after until the member's end.
type logReader struct {
	ctx     context.Context
	dir     string
	follow  bool
	ended   <-chan struct{}
	current *os.File // nil while there is none
	next    *os.File // opened already, read after current
	over    bool     // the member had ended before the last look
}

func (l *logReader) open(tail int) error {
	// The newer one first: a rotation between the two opens shows as the same file twice, not as a gap.
	newer, err := openIf(filepath.Join(l.dir, shim.LogFile))
	if err != nil {
		return err
	}
	older, err := openIf(filepath.Join(l.dir, shim.OldLog))
	if err != nil {
		return err
	}
	if older != nil && newer != nil && same(older, newer) {
		older.Close()
		older = nil
	}
	l.current, l.next = older, newer
	if older == nil {
		l.current, l.next = newer, nil
	}
	if tail < 0 {
		return nil
	}
	return l.seekTail(tail)
}

func openIf(path string) (*os.File, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	return f, nil
}

func same(a, b *os.File) bool {
	x, errX := a.Stat()
	y, errY := b.Stat()
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// seekTail leaves only the last lines to read.
func (l *logReader) seekTail(lines int) error {
	if l.next != nil {
		found, err := seekLines(l.next, lines)
		if err != nil {
			return err
		}
		if lines -= found; lines <= 0 {
			l.current.Close()
			l.current, l.next = l.next, nil
			return nil
		}
	}
	if l.current == nil {
		return nil
	}
	_, err := seekLines(l.current, lines)
	return err
}

// seekLines moves f to its last lines and returns how many there are, at most that many.
func seekLines(f *os.File, lines int) (int, error) {
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, fmt.Errorf("read log: %w", err)
	}
	if lines == 0 || end == 0 {
		return 0, nil
	}
	found, buf := 0, make([]byte, 32<<10)
	for at := end; at > 0; {
		n := min(at, int64(len(buf)))
		at -= n
		if _, err := f.ReadAt(buf[:n], at); err != nil {
			return 0, fmt.Errorf("read log: %w", err)
		}
		for i := n - 1; i >= 0; i-- {
			if buf[i] != '\n' || at+i == end-1 {
				continue
			}
			if found++; found == lines {
				_, err := f.Seek(at+i+1, io.SeekStart)
				return lines, err
			}
		}
	}
	_, err = f.Seek(0, io.SeekStart)
	return found + 1, err
}

// Read implements io.Reader.
func (l *logReader) Read(p []byte) (int, error) {
	for {
		if l.current != nil {
			if n, err := l.current.Read(p); n > 0 || err != nil && !errors.Is(err, io.EOF) {
				return n, err
			}
		}
		if l.advance() {
			continue
		}
		if !l.follow || l.over {
			return 0, io.EOF
		}
		select {
		case <-l.ctx.Done():
			return 0, l.ctx.Err()
		case <-l.ended:
			l.over = true // one more look: it may have written until its end
		case <-time.After(followEvery):
		}
	}
}

// advance goes on to a newer file when there is one.
func (l *logReader) advance() bool {
	newer := l.next
	l.next = nil
	if newer == nil && l.follow {
		newer, _ = openIf(filepath.Join(l.dir, shim.LogFile))
		if newer != nil && l.current != nil && same(newer, l.current) {
			newer.Close()
			return false
		}
	}
	if newer == nil {
		return false
	}
	if l.current != nil {
		if grew(l.current) { // before it was put away
			l.next = newer
			return true
		}
		l.current.Close()
	}
	l.current = newer
	return true
}

// grew tells whether a file that was read to its end goes on.
func grew(f *os.File) bool {
	at, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Size() > at
}

// Close implements io.Closer.
func (l *logReader) Close() error {
	if l.current != nil {
		l.current.Close()
	}
	if l.next != nil {
		l.next.Close()
	}
	return nil
}
