package carve

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/weirhq/weir/services/agent/internal/journal"
)

const (
	compactAbove = 512 << 10 // bytes of journal worth a look
	tombstoneCap = 1 << 16
)

// entry is one line of the journal. Exactly one field is set.
type entry struct {
	Member  *Member      `json:"member,omitempty"`
	Forget  []string     `json:"forget,omitempty"`
	Floor   string       `json:"floor,omitempty"`
	Boot    *bootEntry   `json:"boot,omitempty"`
	Desired *versionMark `json:"desired,omitempty"`
	Brake   *brakeEntry  `json:"brake,omitempty"`
}

type bootEntry struct {
	ID       string `json:"id"`
	Reported bool   `json:"reported"` // its first full report was answered
}

type versionMark struct {
	Incarnation string `json:"incarnation"`
	Generation  int64  `json:"generation"`
}

type brakeEntry struct {
	At []time.Duration `json:"at"` // when inferred stops were let through, on the boot clock
}

// Book is the journal with its content in memory: what Get answers is on disk.
type Book struct {
	gate sync.RWMutex // held for writing while the journal is rewritten
	log  *journal.Journal

	mu      sync.RWMutex
	members map[string]Member
	ended   map[string]bool // forgotten members: never to be started again
	floor   string          // every unknown id up to here counts as ended; ids sort by time
	boot    bootEntry
	desired versionMark
	brake   []time.Duration
}

// OpenBook reads the journal at path.
func OpenBook(path string, opts journal.Options) (*Book, error) {
	log, records, err := journal.Open(path, opts)
	if err != nil {
		return nil, err
	}
	b := &Book{log: log, members: map[string]Member{}, ended: map[string]bool{}}
	for i, r := range records {
		var e entry
		if err := json.Unmarshal(r, &e); err != nil {
			return nil, errors.Join(fmt.Errorf("%w: record %d: %w", journal.ErrDamaged, i, err), log.Close())
		}
		b.apply(e)
	}
	return b, nil
}

func (b *Book) apply(e entry) {
	switch {
	case e.Member != nil:
		b.members[e.Member.ID] = e.Member.clone()
	case e.Forget != nil:
		for _, id := range e.Forget {
			delete(b.members, id)
			b.ended[id] = true
		}
		b.prune()
	case e.Floor != "":
		b.floor = e.Floor
	case e.Boot != nil:
		b.boot = *e.Boot
	case e.Desired != nil:
		b.desired = *e.Desired
	case e.Brake != nil:
		b.brake = e.Brake.At
	}
}

// prune keeps the tombstones few: the older half becomes a floor.
func (b *Book) prune() {
	if len(b.ended) <= tombstoneCap {
		return
	}
	ids := slices.Sorted(maps.Keys(b.ended))
	old := ids[:len(ids)/2]
	for _, id := range old {
		delete(b.ended, id)
	}
	b.floor = max(b.floor, old[len(old)-1])
}

// write makes entries durable, then visible.
func (b *Book) write(entries ...entry) error {
	payloads := make([][]byte, len(entries))
	for i, e := range entries {
		p, err := json.Marshal(e)
		if err != nil {
			return fmt.Errorf("encode journal record: %w", err)
		}
		payloads[i] = p
	}
	b.gate.RLock()
	err := b.log.Append(payloads...)
	if err == nil {
		b.mu.Lock()
		for _, e := range entries {
			b.apply(e)
		}
		b.mu.Unlock()
	}
	b.gate.RUnlock()
	if err != nil {
		return err
	}
	return b.compact()
}

// compact rewrites the journal when most of it is history.
func (b *Book) compact() error {
	if b.log.Size() < compactAbove {
		return nil
	}
	b.gate.Lock()
	defer b.gate.Unlock()
	var payloads [][]byte
	size := 0
	for _, e := range b.snapshot() {
		p, err := json.Marshal(e)
		if err != nil {
			return fmt.Errorf("encode journal record: %w", err)
		}
		payloads = append(payloads, p)
		size += len(p)
	}
	if b.log.Size() < int64(4*size) {
		return nil
	}
	if err := b.log.Rewrite(payloads); err != nil && errors.Is(err, journal.ErrBroken) {
		return err
	}
	return nil // a rewrite that could not begin is tried again by the next write
}

func (b *Book) snapshot() []entry {
	b.mu.RLock()
	defer b.mu.RUnlock()
	boot, desired := b.boot, b.desired
	out := []entry{{Boot: &boot}, {Desired: &desired}, {Brake: &brakeEntry{At: b.brake}}}
	if b.floor != "" {
		out = append(out, entry{Floor: b.floor})
	}
	for chunk := range slices.Chunk(slices.Sorted(maps.Keys(b.ended)), 1000) {
		out = append(out, entry{Forget: chunk})
	}
	for _, id := range slices.Sorted(maps.Keys(b.members)) {
		m := b.members[id]
		out = append(out, entry{Member: &m})
	}
	return out
}

// Put records a member as it is now.
func (b *Book) Put(m Member) error {
	m = m.clone()
	return b.write(entry{Member: &m})
}

// Get is a member as recorded.
func (b *Book) Get(id string) (Member, bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	m, ok := b.members[id]
	return m.clone(), ok
}

// All lists the members by id.
func (b *Book) All() []Member {
	b.mu.RLock()
	defer b.mu.RUnlock()
	out := make([]Member, 0, len(b.members))
	for _, id := range slices.Sorted(maps.Keys(b.members)) {
		out = append(out, b.members[id].clone())
	}
	return out
}

// Forget replaces ended members by tombstones.
func (b *Book) Forget(ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	return b.write(entry{Forget: ids})
}

// Ended reports whether a member ended here and was forgotten.
func (b *Book) Ended(id string) bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if b.ended[id] {
		return true
	}
	_, known := b.members[id]
	return !known && id <= b.floor
}

// Boot is the boot the records belong to, and whether its first full report was answered.
func (b *Book) Boot() (id string, reported bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.boot.ID, b.boot.Reported
}

// SetBoot records the boot; a new one clears the brake's stamps, which are on the boot clock.
func (b *Book) SetBoot(id string, reported bool) error {
	if old, _ := b.Boot(); old != id {
		return b.write(entry{Brake: &brakeEntry{}}, entry{Boot: &bootEntry{ID: id, Reported: reported}})
	}
	return b.write(entry{Boot: &bootEntry{ID: id, Reported: reported}})
}

// Desired is the version of the desired state applied last.
func (b *Book) Desired() (incarnation string, generation int64) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.desired.Incarnation, b.desired.Generation
}

// SetDesired records that version.
func (b *Book) SetDesired(incarnation string, generation int64) error {
	return b.write(entry{Desired: &versionMark{incarnation, generation}})
}

// Brake lists when inferred stops were let through.
func (b *Book) Brake() []time.Duration {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return slices.Clone(b.brake)
}

// SetBrake records that list.
func (b *Book) SetBrake(at []time.Duration) error {
	return b.write(entry{Brake: &brakeEntry{At: at}})
}

// Close closes the journal.
func (b *Book) Close() error { return b.log.Close() }
