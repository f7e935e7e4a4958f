package store

import (
	"time"

	"github.com/weirhq/weir/services/inventory/internal/domain"
)

type tokenRow struct {
	ID        string
	Pool      string
	NodeName  *string
	CreatedBy string
	CreatedAt time.Time
	ExpiresAt time.Time
	UsedAt    *time.Time
	UsedBy    *string
}

func (t *tx) InsertToken(k domain.JoinToken) error {
	_, err := t.exec("insert join token", `INSERT INTO join_token (id, hash, pool, node_name, created_by, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		k.ID, k.Hash[:], k.Pool, null(k.NodeName), k.CreatedBy, k.CreatedAt, k.ExpiresAt)
	return err
}

func (t *tx) LockToken(hash [32]byte) (domain.JoinToken, error) {
	r, err := one[tokenRow](t, "lock join token", "There is no such join token.",
		`SELECT id, pool, node_name, created_by, created_at, expires_at, used_at, used_by FROM join_token WHERE hash = ? FOR UPDATE`, hash[:])
	k := domain.JoinToken{ID: r.ID, Hash: hash, Pool: r.Pool, NodeName: text(r.NodeName), CreatedBy: r.CreatedBy,
		CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt, UsedBy: text(r.UsedBy)}
	if r.UsedAt != nil {
		k.UsedAt = *r.UsedAt
	}
	return k, err
}

func (t *tx) UseToken(id, node string, at time.Time) error {
	_, err := t.exec("use join token", `UPDATE join_token SET used_at = ?, used_by = ? WHERE id = ?`, at, node, id)
	return err
}

func (t *tx) InsertCertificate(node string, c domain.Certificate) error {
	_, err := t.exec("insert certificate", `INSERT INTO certificate (serial, node, not_before, not_after) VALUES (?, ?, ?, ?)`,
		c.Serial, node, c.NotBefore, c.NotAfter)
	return err
}

func (t *tx) ValidCertificates(node string, at time.Time) (int, error) {
	r, err := one[countRow](t, "count certificates", "",
		`SELECT count(*) AS n FROM certificate WHERE node = ? AND not_after > ? AND revoked_at IS NULL`, node, at)
	return r.N, err
}

func (t *tx) RevokeCertificates(node string, at time.Time) error {
	_, err := t.exec("revoke certificates", `UPDATE certificate SET revoked_at = ? WHERE node = ? AND not_after > ? AND revoked_at IS NULL`, at, node, at)
	return err
}

func (t *tx) Revoked(at time.Time) ([]domain.Revocation, error) {
	return many[domain.Revocation](t, "read revoked certificates",
		`SELECT serial, node, not_after FROM certificate WHERE revoked_at IS NOT NULL AND not_after > ? ORDER BY serial`, at)
}

func (t *tx) Sweep(before time.Time) error {
	for _, sql := range []string{
		`DELETE FROM join_token WHERE expires_at < ?`,
		`DELETE FROM certificate WHERE not_after < ?`,
		`DELETE FROM node_boot WHERE superseded_at < ?`,
	} {
		if _, err := t.exec("sweep", sql, before); err != nil {
			return err
		}
	}
	return nil
}
