package app

import (
	"context"
	"errors"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kernel/id"
	"github.com/weirhq/weir/services/inventory/internal/domain"
)

// Identity is what a node speaks with.
type Identity struct {
	Node        string
	Certificate domain.Certificate
	CAPEM       string
}

// Enroll trades a join token and a certificate request for a node's identity. A name that
// is known keeps its node id; the machine behind it may be another, so that its earlier
// certificates are revoked and its boots forgotten.
func (a *App) Enroll(ctx context.Context, secret, csrPEM, name string) (Identity, error) {
	if !domain.ValidNodeName(name) {
		return Identity{}, fault.InvalidField("node_name", "must be lower-case letters, digits, dots and dashes, as host names are")
	}
	var out Identity
	err := a.store.Write(ctx, func(tx domain.Tx) error {
		now := a.clk.Now()
		t, err := tx.LockToken(domain.HashSecret(secret))
		if errors.Is(err, fault.NotFound) {
			return domain.ErrToken
		}
		if err != nil {
			return err
		}
		if err := t.Check(now, name); err != nil {
			return err
		}
		n, err := a.nameNode(tx, t, name)
		if err != nil {
			return err
		}
		if err := tx.UseToken(t.ID, n.ID, now); err != nil {
			return err
		}
		out, err = a.certify(tx, n.ID, csrPEM)
		return err
	})
	if err == nil {
		a.log.InfoContext(ctx, "node enrolled", "node", out.Node, "name", name, "serial", out.Certificate.Serial)
	}
	return out, err
}

// nameNode finds or makes the node of that name for a machine that joins.
func (a *App) nameNode(tx domain.Tx, t domain.JoinToken, name string) (domain.Node, error) {
	now := a.clk.Now()
	n, err := tx.LockName(name)
	if errors.Is(err, fault.NotFound) {
		pool, err := tx.Pool(t.Pool)
		if err != nil {
			return n, err
		}
		n = domain.Node{ID: id.New(id.Node, now), Name: name, Pool: pool.Name, Region: pool.Region,
			State: domain.NodeNotReady, Reason: domain.Enrolled, Labels: map[string]string{}, Version: 1, CreatedAt: now}
		if err := tx.InsertNode(n); err != nil {
			return n, err
		}
		return n, tx.Publish(n, nil)
	}
	if err != nil {
		return n, err
	}
	if err := n.CheckTaken(t.NodeName != ""); err != nil {
		return n, err
	}
	if err := tx.RevokeCertificates(n.ID, now); err != nil {
		return n, err
	}
	if err := tx.ForgetBoots(n.ID); err != nil {
		return n, err
	}
	if !n.Quarantined {
		return n, nil
	}
	n.Quarantined, n.Reason = false, domain.Enrolled
	return n, a.save(tx, &n)
}

// Renew gives a node its next certificate while it still has one that is good.
func (a *App) Renew(ctx context.Context, node, csrPEM string) (Identity, error) {
	var out Identity
	err := a.store.Write(ctx, func(tx domain.Tx) error {
		n, err := lockSpeaker(tx, node)
		if err != nil {
			return err
		}
		if n.Quarantined {
			return fault.New(fault.Forbidden, "Two machines hold this node's identity. Enrol the right one anew with a join token bound to its name.")
		}
		valid, err := tx.ValidCertificates(node, a.clk.Now())
		if err != nil {
			return err
		}
		if valid == 0 {
			return fault.New(fault.Forbidden, "This node's certificate has run out or was revoked. Enrol it anew with a join token bound to its name.")
		}
		out, err = a.certify(tx, node, csrPEM)
		return err
	})
	return out, err
}

// lockSpeaker locks the node that a call speaks for.
func lockSpeaker(tx domain.Tx, node string) (domain.Node, error) {
	n, err := tx.LockNode(node)
	if errors.Is(err, fault.NotFound) || err == nil && n.State == domain.NodeRetired {
		return n, fault.New(fault.Forbidden, "This node is not part of this cell any more.")
	}
	return n, err
}

func (a *App) certify(tx domain.Tx, node, csrPEM string) (Identity, error) {
	c, err := a.ca.Node(csrPEM, node)
	if err != nil {
		return Identity{}, err
	}
	return Identity{Node: node, Certificate: c, CAPEM: a.ca.PEM()}, tx.InsertCertificate(node, c)
}

// CA returns the authority and the certificates that it no longer stands for.
func (a *App) CA(ctx context.Context) (pem, pin string, revoked []domain.Revocation, err error) {
	err = a.store.Write(ctx, func(tx domain.Tx) (err error) { revoked, err = tx.Revoked(a.clk.Now()); return err })
	return a.ca.PEM(), a.ca.Pin(), revoked, err
}

// ServerCertificate certifies the agents' door.
func (a *App) ServerCertificate(csrPEM string) (domain.Certificate, string, error) {
	c, err := a.ca.Server(csrPEM)
	return c, a.ca.PEM(), err
}
