package simgpu

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/weirhq/weir/pkg/kernel/mig"
	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/services/agent/driver"
	"github.com/weirhq/weir/services/agent/internal/boottime"
)

// Config describes a simulated node.
type Config struct {
	Dir    string // where its state lives; made when missing
	Name   string
	Boards []Boards
	Clock  clock.Clock
}

// Node is a simulated node's cards. It implements driver.Driver and driver.Tracker.
type Node struct {
	dir   string
	clock clock.Clock

	mu     sync.Mutex // guards file, delay and wedged
	file   nodeFile
	delay  time.Duration
	wedged chan struct{} // closed when healed; nil while healthy

	cards []*card
}

type card struct {
	mu       sync.Mutex
	index    int
	id       identity
	board    mig.Board
	state    cardFile
	failNext int // creations that fail
}

// Open reads a node's state, or makes a node. The boards of a node that exists must be the same ones.
func Open(cfg Config) (*Node, error) {
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make simulated node: %w", err)
	}
	n := &Node{dir: cfg.Dir, clock: cfg.Clock}
	found, err := read(nodePath(cfg.Dir), &n.file)
	if err != nil {
		return nil, err
	}
	host := boottime.HostBoot()
	if !found {
		n.file = nodeFile{Version: 1, Name: cfg.Name, Cards: identities(cfg.Boards)}
	}
	if err := n.check(cfg); err != nil {
		return nil, err
	}
	if !found || n.file.HostBoot != host {
		n.file.BootID, n.file.HostBoot = newBootID(), host
		if err := write(nodePath(cfg.Dir), n.file, true); err != nil {
			return nil, err
		}
	}
	for i, id := range n.file.Cards {
		board, _ := mig.BoardByKey(id.Board)
		c := &card{index: i, id: id, board: board}
		n.cards = append(n.cards, c)
		// A file that cannot be read is one that a power cut tore, and a power cut is a reboot.
		if found, err := read(cardPath(n.dir, i), &c.state); err != nil || !found || c.state.BootID != n.file.BootID {
			c.state = freshCard(n.file.BootID, id)
		}
	}
	return n, nil
}

func (n *Node) check(cfg Config) error {
	if n.file.Version != 1 {
		return fmt.Errorf("simulated node in %s was written by another version", cfg.Dir)
	}
	if len(cfg.Boards) == 0 {
		if len(n.file.Cards) == 0 {
			return fmt.Errorf("simulated node %q has no cards", cfg.Name)
		}
		return nil
	}
	want := identities(cfg.Boards)
	same := func(a, b identity) bool { return a.Board == b.Board && a.Policy == b.Policy }
	if !slices.EqualFunc(n.file.Cards, want, same) {
		return fmt.Errorf("simulated node %q in %s has other cards than asked for; use another directory or name", n.file.Name, cfg.Dir)
	}
	if len(want) > MaxCards {
		return fmt.Errorf("simulated node %q: more than %d cards", cfg.Name, MaxCards)
	}
	return nil
}

func identities(boards []Boards) []identity {
	var ids []identity
	for _, b := range boards {
		for range b.Count {
			ids = append(ids, identity{UUID: newUUID("GPU"), Serial: newSerial(), Board: b.Board, Policy: b.Policy})
		}
	}
	return ids
}

func newBootID() string { return newUUID("boot")[len("boot-"):] }

// Reboot starts the node anew: another boot id, nothing left on any card. Whoever runs processes on it kills them first.
func (n *Node) Reboot() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.cards {
		c.mu.Lock()
		defer c.mu.Unlock()
	}
	n.file.BootID = newBootID()
	if err := write(nodePath(n.dir), n.file, true); err != nil {
		return err
	}
	for _, c := range n.cards {
		c.state, c.failNext = freshCard(n.file.BootID, c.id), 0
	}
	return nil
}

// Simulated is true.
func (n *Node) Simulated() bool { return true }

// BootID is the node's current boot.
func (n *Node) BootID(ctx context.Context) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.file.BootID, ctx.Err()
}

// Cards lists the cards.
func (n *Node) Cards(ctx context.Context) ([]driver.Card, error) {
	out := make([]driver.Card, 0, len(n.cards))
	for _, c := range n.cards {
		c.mu.Lock()
		out = append(out, c.facts())
		c.mu.Unlock()
	}
	return out, ctx.Err()
}

func (c *card) facts() driver.Card {
	temperature, power := 31, 68 // an idle card
	if len(c.state.Clients) > 0 {
		temperature, power = 58, 340
	}
	return driver.Card{
		Index: c.index, UUID: c.id.UUID, Serial: c.id.Serial, Board: c.id.Board, Policy: c.id.Policy,
		Product: c.board.Product, Arch: c.board.Arch, MemoryMiB: c.board.MemoryMiB, SMs: c.board.SMs,
		Geometry: c.board.Geometry(), Mode: c.state.Mode, ResetToToggle: c.board.ResetToToggle, Lost: c.state.Lost,
		TemperatureC: &temperature, PowerW: &power,
	}
}
