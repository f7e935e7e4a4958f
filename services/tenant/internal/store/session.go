package store

import (
	"time"

	"gorm.io/gorm"

	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/services/tenant/internal/domain"
)

type sessionRow struct {
	ID        string
	Account   string
	Org       *string
	CreatedAt time.Time
	ExpiresAt time.Time
}

// TableName is gorm's way to ask.
func (sessionRow) TableName() string { return "session" }

func (r sessionRow) domain() domain.Session {
	return domain.Session{ID: r.ID, Account: r.Account, Org: text(r.Org), CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt}
}

func (t *tx) AddSession(s domain.Session, token domain.RefreshToken) error {
	row := sessionRow{ID: s.ID, Account: s.Account, Org: null(s.Org), CreatedAt: s.CreatedAt, ExpiresAt: s.ExpiresAt}
	if err := gorm.G[sessionRow](t.DB).Create(t.Context(), &row); err != nil {
		return err
	}
	return t.addRefreshToken(token)
}

type liveSessionRow struct {
	Base     sessionRow `gorm:"embedded"`
	Ended    bool
	Disabled bool
	Operator bool
	Role     *string
}

const liveSession = `SELECT s.id, s.account, s.org, s.created_at, s.expires_at, s.ended_at IS NOT NULL AS ended,
	a.disabled_at IS NOT NULL AS disabled, a.operator, m.role
	FROM session s JOIN account a ON a.id = s.account LEFT JOIN membership m ON m.org = s.org AND m.account = s.account
	WHERE s.id = ?`

func (t *tx) Session(id string) (domain.LiveSession, error) {
	rows, err := gorm.G[liveSessionRow](t.DB).Raw(liveSession, id).Find(t.Context())
	r, err := one(rows, err, "session")
	return domain.LiveSession{
		Session:  r.Base.domain(),
		Ended:    r.Ended,
		Disabled: r.Disabled, Operator: r.Operator, Role: actor.Role(text(r.Role)),
	}, err
}

func (t *tx) EndSession(id, reason string, at time.Time) (bool, error) {
	r := t.Exec(`UPDATE session SET ended_at = ?, end_reason = ? WHERE id = ? AND ended_at IS NULL`, at, reason, id)
	return r.RowsAffected > 0, r.Error
}

func (t *tx) EndSessionsOf(account, reason string, at time.Time) error {
	return t.Exec(`UPDATE session SET ended_at = ?, end_reason = ? WHERE account = ? AND ended_at IS NULL`, at, reason, account).Error
}

type refreshTokenRow struct {
	Hash      []byte
	Session   string
	IssuedAt  time.Time
	ExpiresAt time.Time
	UsedAt    *time.Time
}

// TableName is gorm's way to ask.
func (refreshTokenRow) TableName() string { return "refresh_token" }

func (t *tx) addRefreshToken(token domain.RefreshToken) error {
	row := refreshTokenRow{Hash: token.Hash[:], Session: token.Session, IssuedAt: token.IssuedAt, ExpiresAt: token.ExpiresAt}
	return gorm.G[refreshTokenRow](t.DB).Create(t.Context(), &row)
}

// LockRefreshToken does not wait for a request that holds the token: SKIP LOCKED makes
// its row vanish, which a second look tells from a token that never was.
func (t *tx) LockRefreshToken(hash [32]byte) (domain.RefreshToken, bool, error) {
	rows, err := gorm.G[refreshTokenRow](t.DB).Raw(`SELECT * FROM refresh_token WHERE hash = ? FOR UPDATE SKIP LOCKED`, hash[:]).Find(t.Context())
	if err != nil {
		return domain.RefreshToken{}, false, err
	}
	if len(rows) == 0 {
		rows, err = gorm.G[refreshTokenRow](t.DB).Raw(`SELECT * FROM refresh_token WHERE hash = ?`, hash[:]).Find(t.Context())
		_, err = one(rows, err, "refresh token")
		return domain.RefreshToken{}, err == nil, err
	}
	r := rows[0]
	return domain.RefreshToken{Hash: hash, Session: r.Session, IssuedAt: r.IssuedAt, ExpiresAt: r.ExpiresAt, UsedAt: r.UsedAt}, false, nil
}

func (t *tx) Rotate(used, next domain.RefreshToken) error {
	r := t.Exec(`UPDATE refresh_token SET used_at = ? WHERE hash = ? AND used_at IS NULL`, used.UsedAt, used.Hash[:])
	if err := pg.CAS(r.RowsAffected, r.Error); err != nil {
		return err
	}
	return t.addRefreshToken(next)
}
