package journal

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

const header = "weir-journal 1\n"

var table = crc32.MakeTable(crc32.Castagnoli)

// ErrDamaged means that records before the tail cannot be read: starting would forget work that may be running.
var ErrDamaged = errors.New("journal is damaged")

// ErrBroken means that an earlier write failed in a way that leaves the file unknown; only opening it anew helps.
var ErrBroken = errors.New("journal is broken")

// Options are for simulated fleets, whose cards lose everything in a power cut anyway.
type Options struct{ NoSync bool }

// Journal is an open file. Safe for concurrent use: appends that meet share one flush to disk.
type Journal struct {
	path string
	opts Options

	mu   sync.Mutex // guards next and what it holds until it is taken
	next *batch

	flush  sync.Mutex // guards the file
	file   *os.File
	size   int64
	broken error
}

// Open reads the journal at path, or starts one, and returns its records.
func Open(path string, opts Options) (*Journal, [][]byte, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("open journal: %w", err)
	}
	j := &Journal{path: path, opts: opts, file: f, next: &batch{}}
	records, err := j.load()
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return j, records, nil
}

func (j *Journal) load() ([][]byte, error) {
	data, err := os.ReadFile(j.path)
	if err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	if len(data) < len(header) && bytes.HasPrefix([]byte(header), data) {
		if err := j.reset([]byte(header)); err != nil {
			return nil, err
		}
		return nil, syncDir(filepath.Dir(j.path))
	}
	if !bytes.HasPrefix(data, []byte(header)) {
		return nil, fmt.Errorf("%w: %s is not a journal of this version", ErrDamaged, j.path)
	}
	records, good, err := parse(data)
	if err != nil {
		return nil, err
	}
	if int64(good) < int64(len(data)) {
		if err := j.file.Truncate(int64(good)); err != nil {
			return nil, fmt.Errorf("cut torn tail of journal: %w", err)
		}
	}
	j.size = int64(good)
	return records, nil
}

func (j *Journal) reset(content []byte) error {
	if err := j.file.Truncate(0); err != nil {
		return fmt.Errorf("start journal: %w", err)
	}
	if _, err := j.file.WriteAt(content, 0); err != nil {
		return fmt.Errorf("start journal: %w", err)
	}
	j.size = int64(len(content))
	return j.sync(j.file)
}

// parse returns the records and how many bytes of data are good. Only a tail may be bad.
func parse(data []byte) ([][]byte, int, error) {
	var records [][]byte
	at := len(header)
	for at < len(data) {
		line, rest, whole := bytes.Cut(data[at:], []byte{'\n'})
		payload, ok := decode(line)
		if !whole || !ok {
			if anyGood(rest) {
				return nil, 0, fmt.Errorf("%w at byte %d", ErrDamaged, at)
			}
			return records, at, nil
		}
		records = append(records, bytes.Clone(payload))
		at += len(line) + 1
	}
	return records, at, nil
}

func anyGood(data []byte) bool {
	for line := range bytes.Lines(data) {
		if _, ok := decode(bytes.TrimSuffix(line, []byte{'\n'})); ok {
			return true
		}
	}
	return false
}

func encode(b, payload []byte) []byte {
	b = fmt.Appendf(b, "%08x ", crc32.Checksum(payload, table))
	b = append(b, payload...)
	return append(b, '\n')
}

func decode(line []byte) ([]byte, bool) {
	if len(line) < 9 || line[8] != ' ' {
		return nil, false
	}
	payload := line[9:]
	return payload, fmt.Sprintf("%08x", crc32.Checksum(payload, table)) == string(line[:8])
}

func (j *Journal) sync(f *os.File) error {
	if j.opts.NoSync {
		return nil
	}
	if err := unix.Fdatasync(int(f.Fd())); err != nil {
		return fmt.Errorf("flush journal: %w", err)
	}
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("flush journal's folder: %w", err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("flush journal's folder: %w", err)
	}
	return nil
}
