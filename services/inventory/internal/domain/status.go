package domain

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"github.com/weirhq/weir/pkg/kernel/fault"
)

// Protocols are the versions of the agent protocol served.
const (
	MinProtocol = 1
	MaxProtocol = 1
)

// Status is what an agent says of its node at one moment.
type Status struct {
	BootID   string           `json:"boot_id"`
	Seq      int64            `json:"seq"`
	Protocol int              `json:"protocol"`
	At       time.Time        `json:"at"` // the node's own clock
	Node     NodeFacts        `json:"node"`
	Cards    []Card           `json:"cards"`
	Counters map[string]int64 `json:"counters"`
}

// Card is one card in a status.
type Card struct {
	UUID   string    `json:"uuid"`
	Facts  CardFacts `json:"facts"`
	Policy Policy    `json:"policy"` // what the node was set up with; counts for a new card only
	Lost   bool      `json:"lost"`
	Seen   CardSeen  `json:"seen"`
}

// CardSeen is what changes about a card by using it.
type CardSeen struct {
	Layout       []SliceSeen `json:"layout"`
	TemperatureC *int        `json:"temperature_c,omitempty"`
	PowerW       *int        `json:"power_w,omitempty"`
}

// SliceSeen is a MIG slice as read back from the driver.
type SliceSeen struct {
	Start      int    `json:"start"`
	Size       int    `json:"size"`
	Profile    string `json:"profile"`
	DeviceUUID string `json:"device_uuid,omitempty"`
	Foreign    bool   `json:"foreign,omitempty"`
	Member     string `json:"member,omitempty"`
}

// Foreign reports whether the card holds a slice that Weir did not make.
func (c CardSeen) Foreign() bool {
	for _, s := range c.Layout {
		if s.Foreign {
			return true
		}
	}
	return false
}

// InUse counts the slices that belong to members.
func (c CardSeen) InUse() int {
	n := 0
	for _, s := range c.Layout {
		if s.Member != "" {
			n++
		}
	}
	return n
}

// Validate refuses a status of a protocol not served, or that contradicts itself.
func (s Status) Validate() error {
	if s.Protocol < MinProtocol || s.Protocol > MaxProtocol {
		return fault.InvalidField("protocol", fmt.Sprintf("must be between %d and %d", MinProtocol, MaxProtocol))
	}
	uuids := map[string]bool{}
	for i, c := range s.Cards {
		if uuids[c.UUID] {
			return fault.InvalidField(fmt.Sprintf("cards[%d].uuid", i), "is named twice")
		}
		uuids[c.UUID] = true
	}
	return nil
}

// Digest tells a repeated status from another one under the same number.
func (s Status) Digest() [sha256.Size]byte { return sha256.Sum256(encode(s)) }

// FactsHash is the same for two statuses that change nothing about the node and its cards.
func (s Status) FactsHash() [sha256.Size]byte {
	type card struct {
		UUID    string
		Facts   CardFacts
		Lost    bool
		Foreign bool
	}
	facts := struct {
		Node  NodeFacts
		Cards []card
	}{Node: s.Node}
	for _, c := range s.Cards {
		facts.Cards = append(facts.Cards, card{c.UUID, c.Facts, c.Lost, c.Seen.Foreign()})
	}
	return sha256.Sum256(encode(facts))
}

// Observed is the part of the status that is kept as it came.
func (s Status) Observed() map[string]CardSeen {
	m := make(map[string]CardSeen, len(s.Cards))
	for _, c := range s.Cards {
		if c.Seen.Layout == nil {
			c.Seen.Layout = []SliceSeen{}
		}
		m[c.UUID] = c.Seen
	}
	return m
}

// encode marshals plain structs, which cannot fail.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("inventory: encode %T: %v", v, err))
	}
	return b
}
