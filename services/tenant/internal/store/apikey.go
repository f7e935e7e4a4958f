package store

import (
	"time"

	"gorm.io/gorm"

	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/services/tenant/internal/domain"
)

type apiKeyRow struct {
	ID         string
	Org        string
	Project    *string
	Owner      string
	Name       string
	Role       string
	Hint       string
	Hash       []byte
	Disabled   bool
	Version    int64
	CreatedAt  time.Time
	ExpiresAt  *time.Time
	LastUsedAt *time.Time
}

// TableName is gorm's way to ask.
func (apiKeyRow) TableName() string { return "api_key" }

func (r apiKeyRow) domain() domain.APIKey {
	k := domain.APIKey{
		ID: r.ID, Org: r.Org, Project: text(r.Project), Owner: r.Owner, Name: r.Name, Role: actor.Role(r.Role), Hint: r.Hint,
		Disabled: r.Disabled, Version: r.Version, CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt, LastUsedAt: r.LastUsedAt,
	}
	copy(k.Hash[:], r.Hash)
	return k
}

func (t *tx) AddKey(k domain.APIKey) error {
	row := apiKeyRow{
		ID: k.ID, Org: k.Org, Project: null(k.Project), Owner: k.Owner, Name: k.Name, Role: string(k.Role), Hint: k.Hint, Hash: k.Hash[:],
		Disabled: k.Disabled, Version: k.Version, CreatedAt: k.CreatedAt, ExpiresAt: k.ExpiresAt,
	}
	return gorm.G[apiKeyRow](t.DB).Create(t.Context(), &row)
}

// A revoked key stays as a row, because history names it, but nobody sees it any more.
const liveKeys = `SELECT * FROM api_key WHERE org = ? AND revoked_at IS NULL`

func (t *tx) Keys(f domain.KeyFilter, p domain.Page) ([]domain.APIKey, error) {
	rows, err := gorm.G[apiKeyRow](t.DB).Raw(liveKeys+` AND (? = '' OR owner = ?) AND (? = '' OR id = ?) AND (? = '' OR id < ?) ORDER BY id DESC LIMIT ?`,
		t.inOrg, f.Owner, f.Owner, f.ID, f.ID, p.After, p.After, p.Limit).Find(t.Context())
	if err != nil {
		return nil, err
	}
	out := make([]domain.APIKey, len(rows))
	for i, r := range rows {
		out[i] = r.domain()
	}
	return out, nil
}

func (t *tx) Key(id string) (domain.APIKey, error) { return t.key(liveKeys+` AND id = ?`, id) }

func (t *tx) LockKey(id string) (domain.APIKey, error) {
	return t.key(liveKeys+` AND id = ? FOR UPDATE`, id)
}

func (t *tx) key(query, id string) (domain.APIKey, error) {
	rows, err := gorm.G[apiKeyRow](t.DB).Raw(query, t.inOrg, id).Find(t.Context())
	row, err := one(rows, err, "API key")
	return row.domain(), err
}

// SaveKey stores k as the version after k.Version.
func (t *tx) SaveKey(k domain.APIKey) error {
	r := t.Exec(`UPDATE api_key SET disabled = ?, version = version + 1 WHERE org = ? AND id = ? AND version = ? AND revoked_at IS NULL`, k.Disabled, t.inOrg, k.ID, k.Version)
	return pg.CAS(r.RowsAffected, r.Error)
}

func (t *tx) RevokeKey(id string, at time.Time) error {
	r := t.Exec(`UPDATE api_key SET revoked_at = ?, version = version + 1 WHERE org = ? AND id = ? AND revoked_at IS NULL`, at, t.inOrg, id)
	if r.Error == nil && r.RowsAffected == 0 {
		return notFound("API key")
	}
	return r.Error
}

type liveKeyRow struct {
	Base          apiKeyRow `gorm:"embedded"`
	OwnerDisabled bool
	OwnerRole     *string
	OrgStanding   string
}

const keyByHash = `SELECT k.*, a.disabled_at IS NOT NULL AS owner_disabled, m.role AS owner_role, o.standing AS org_standing
	FROM api_key k JOIN account a ON a.id = k.owner JOIN org o ON o.id = k.org LEFT JOIN membership m ON m.org = k.org AND m.account = k.owner
	WHERE k.hash = ? AND k.revoked_at IS NULL`

func (t *tx) KeyByHash(hash [32]byte) (domain.LiveKey, error) {
	rows, err := gorm.G[liveKeyRow](t.DB).Raw(keyByHash, hash[:]).Find(t.Context())
	r, err := one(rows, err, "API key")
	return domain.LiveKey{
		APIKey: r.Base.domain(), OwnerDisabled: r.OwnerDisabled, OwnerRole: actor.Role(text(r.OwnerRole)), OrgStanding: domain.Standing(r.OrgStanding),
	}, err
}

func (t *tx) TouchKey(id string, at time.Time) error {
	return t.Exec(`UPDATE api_key SET last_used_at = ? WHERE id = ? AND (last_used_at IS NULL OR last_used_at < ?)`, at, id, at).Error
}
