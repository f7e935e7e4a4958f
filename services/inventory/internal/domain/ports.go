package domain

import (
	"context"
	"time"
)

// Store keeps nodes, cards, tokens and certificates. Every method of a Tx runs in one
// transaction.
type Store interface {
	// Read sees what requests may see: no token, no certificate.
	Read(ctx context.Context, fn func(Tx) error) error
	// Write may run fn again after a deadlock.
	Write(ctx context.Context, fn func(Tx) error) error
}

// Tx is an open transaction of a Store. What is not there is fault.NotFound.
type Tx interface {
	NodeTx
	SeenTx
	GPUTx
	IdentityTx

	// Claim makes the request's Idempotency-Key this transaction's, or answers with the
	// first answer again; it is the first statement. Remember keeps the answer.
	Claim() error
	Remember(status int, answer any) error
	// Publish puts the node with its cards into the feed.
	Publish(n Node, gpus []GPU) error
}

// NodeTx reads and writes pools and nodes.
type NodeTx interface {
	Pools(p Page) ([]Pool, error)
	Pool(name string) (Pool, error)
	Node(id string) (Node, error)
	// LockNode is Node FOR UPDATE: whoever changes a node or its cards holds it, so that
	// the items of one node are written in the order of its versions.
	LockNode(id string) (Node, error)
	// LockName finds the node of that name that is not retired, FOR UPDATE.
	LockName(name string) (Node, error)
	// NodeByName prefers the node that is not retired.
	NodeByName(name string) (Node, error)
	Nodes(f NodeFilter, p Page) ([]Node, error)
	AllNodes() ([]Node, error)
	// SilentNodes are the ready nodes last seen before cutoff, or after future: the clock
	// has gone back since, and they have not spoken again.
	SilentNodes(cutoff, future time.Time) ([]string, error)
	InsertNode(n Node) error
	// UpdateNode writes n under its next version.
	UpdateNode(n *Node, at time.Time) error
}

// SeenTx reads and writes what nodes were last seen like.
type SeenTx interface {
	// Heartbeat records a status that changes nothing else, in one statement; false when
	// it is not of that kind.
	Heartbeat(node string, st Status, at time.Time) (bool, error)
	Seen(node string) (*Seen, error)
	OldBoot(node, boot string) (*Boot, error)
	// SaveSeen makes st the newest status and keeps the boot that it supersedes. A status
	// with these facts is a heartbeat from now on.
	SaveSeen(node string, st Status, facts [32]byte, at time.Time) error
	// CountIgnored counts a stale status, with the strikes that Judge gave.
	CountIgnored(node string, seen Seen, old *Boot) error
	// ForgetBoots starts anew what is known of a node's boots.
	ForgetBoots(node string) error
	// InUse counts the slices of members that the node last showed.
	InUse(node string) (int, error)
}

// GPUTx reads and writes cards.
type GPUTx interface {
	GPU(id string) (GPU, error)
	GPUs(f GPUFilter, p Page) ([]GPU, error)
	GPUsOf(node string) ([]GPU, error)
	AllGPUs() (map[string][]GPU, error)
	// Elsewhere finds the cards with these UUIDs that another node has, and whether that
	// node is retired.
	Elsewhere(node string, uuids []string) ([]Elsewhere, error)
	// SaveGPU inserts a card without a version, or writes one under its next version.
	SaveGPU(g *GPU, at time.Time) error
}

// Elsewhere is a card that another node has.
type Elsewhere struct {
	GPU         GPU
	NodeRetired bool
}

// Free reports whether the card may have been moved to another server: its old node lost it
// or is retired. A card that an other node still shows belongs to that node, whoever else
// names its UUID.
func (e Elsewhere) Free() bool { return e.NodeRetired || e.GPU.State == GPULost }

// IdentityTx reads and writes join tokens and certificates.
type IdentityTx interface {
	InsertToken(t JoinToken) error
	// LockToken finds a token by its hash, FOR UPDATE: of many at once one wins.
	LockToken(hash [32]byte) (JoinToken, error)
	UseToken(id, node string, at time.Time) error
	InsertCertificate(node string, c Certificate) error
	// ValidCertificates counts the node's certificates that are neither revoked nor run out.
	ValidCertificates(node string, at time.Time) (int, error)
	RevokeCertificates(node string, at time.Time) error
	Revoked(at time.Time) ([]Revocation, error)
	// Sweep forgets tokens, certificates and boots that ended before then.
	Sweep(before time.Time) error
}

// Authority signs certificates.
type Authority interface {
	PEM() string
	Pin() string
	// Node certifies the key of a certificate request as that node's.
	Node(csrPEM, node string) (Certificate, error)
	// Server certifies the key and the names of a certificate request.
	Server(csrPEM string) (Certificate, error)
}

// Certificate is a signed certificate.
type Certificate struct {
	Serial              string // lower-case hexadecimal
	PEM                 string
	NotBefore, NotAfter time.Time
}

// Revocation is a certificate that is no longer good before its time.
type Revocation struct {
	Serial, Node string
	NotAfter     time.Time
}
