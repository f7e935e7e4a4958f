package shim

import (
	"bytes"
	"os"
	"path/filepath"
)

// minLog keeps even the smallest log useful.
const minLog = 64 << 10

const maxLine = 64 << 10

// logWriter keeps the newest output of a command in two files of half the limit each. It never fails: what cannot be
// written is dropped, so that a full disk neither stops the command nor its bill.
type logWriter struct {
	dir   string
	half  int64
	file  *os.File
	size  int64
	fails bool
}

func newLog(dir string, limit int64) *logWriter {
	return &logWriter{dir: dir, half: max(limit, minLog) / 2}
}

// Write implements io.Writer. Files change at the end of a line, if lines are not absurdly long.
func (l *logWriter) Write(p []byte) (int, error) {
	total := len(p)
	if l.file == nil {
		l.rotate()
	}
	if l.size >= l.half {
		if end := bytes.IndexByte(p, '\n') + 1; end > 0 {
			l.put(p[:end])
			p = p[end:]
			l.rotate()
		} else if l.size >= l.half+maxLine {
			l.rotate()
		}
	}
	l.put(p)
	return total, nil
}

func (l *logWriter) put(p []byte) {
	if l.file == nil || len(p) == 0 {
		return
	}
	if l.fails {
		n, err := l.file.WriteString("\n[weir: output was dropped here, the node's disk was full]\n")
		l.size += int64(n)
		if err != nil {
			return
		}
		l.fails = false
	}
	n, err := l.file.Write(p)
	l.size += int64(n)
	l.fails = err != nil
}

func (l *logWriter) rotate() {
	current := filepath.Join(l.dir, LogFile)
	if l.file != nil {
		l.file.Close()
		l.file = nil
		if err := os.Rename(current, filepath.Join(l.dir, OldLog)); err != nil {
			return
		}
	}
	f, err := os.OpenFile(current, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return
	}
	l.file, l.size = f, 0
	if info, err := f.Stat(); err == nil {
		l.size = info.Size()
	}
}

func (l *logWriter) close() {
	if l.file != nil {
		l.file.Close()
	}
}
