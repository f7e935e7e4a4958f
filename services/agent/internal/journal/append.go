package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// batch is the records that go to disk together.
type batch struct {
	data []byte
	done bool
	err  error
}

// Append writes records in order and returns once they are on disk. When it fails, none of them is: the file is cut back.
func (j *Journal) Append(payloads ...[]byte) error {
	j.mu.Lock()
	mine := j.next
	for _, p := range payloads {
		mine.data = encode(mine.data, p)
	}
	j.mu.Unlock()

	j.flush.Lock()
	defer j.flush.Unlock()
	if mine.done {
		return mine.err // somebody took my records along
	}
	j.mu.Lock()
	j.next = &batch{} // from here on nobody adds to mine
	j.mu.Unlock()
	mine.done, mine.err = true, j.broken
	if mine.err == nil {
		mine.err = j.write(mine.data)
	}
	return mine.err
}

func (j *Journal) write(batch []byte) error {
	if _, err := j.file.WriteAt(batch, j.size); err != nil {
		if cut := j.file.Truncate(j.size); cut != nil {
			j.broken = errors.Join(ErrBroken, fmt.Errorf("append to journal: %w", err), cut)
			return j.broken
		}
		return fmt.Errorf("append to journal: %w", err)
	}
	if err := j.sync(j.file); err != nil {
		j.broken = errors.Join(ErrBroken, err) // after a failed flush the kernel forgets what was dirty
		return j.broken
	}
	j.size += int64(len(batch))
	return nil
}

// Size is how many bytes the journal takes.
func (j *Journal) Size() int64 {
	j.flush.Lock()
	defer j.flush.Unlock()
	return j.size
}

// Rewrite replaces the whole history by the given records, which must say the same. The caller keeps appends away.
func (j *Journal) Rewrite(payloads [][]byte) error {
	j.flush.Lock()
	defer j.flush.Unlock()
	if j.broken != nil {
		return j.broken
	}
	content := []byte(header)
	for _, p := range payloads {
		content = encode(content, p)
	}
	next, err := os.OpenFile(j.path+".next", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("compact journal: %w", err)
	}
	if err := j.replace(next, content); err != nil {
		next.Close()
		os.Remove(j.path + ".next")
		return fmt.Errorf("compact journal: %w", err)
	}
	j.file.Close()
	j.file, j.size = next, int64(len(content))
	if err := syncDir(filepath.Dir(j.path)); err != nil && !j.opts.NoSync {
		j.broken = errors.Join(ErrBroken, err) // a power cut may bring the old file back
		return j.broken
	}
	return nil
}

func (j *Journal) replace(next *os.File, content []byte) error {
	if _, err := next.WriteAt(content, 0); err != nil {
		return err
	}
	if err := j.sync(next); err != nil {
		return err
	}
	return os.Rename(j.path+".next", j.path)
}

// Close closes the file.
func (j *Journal) Close() error {
	j.flush.Lock()
	defer j.flush.Unlock()
	j.broken = errors.Join(ErrBroken, os.ErrClosed)
	return j.file.Close()
}
