package store

import (
	"time"

	"gorm.io/gorm"

	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/services/tenant/internal/domain"
)

type accountRow struct {
	ID           string
	Email        string
	Name         string
	PasswordHash string
	Operator     bool
	DisabledAt   *time.Time
	CreatedAt    time.Time
}

// TableName is gorm's way to ask.
func (accountRow) TableName() string { return "account" }

func (t *tx) AccountByEmail(email string) (domain.Account, error) {
	return t.account(`SELECT * FROM account WHERE email = ?`, email)
}

func (t *tx) Account(id string) (domain.Account, error) {
	return t.account(`SELECT * FROM account WHERE id = ?`, id)
}

func (t *tx) HoldAccount(id string) (domain.Account, error) {
	return t.account(`SELECT * FROM account WHERE id = ? FOR SHARE`, id)
}

func (t *tx) account(query, arg string) (domain.Account, error) {
	rows, err := gorm.G[accountRow](t.DB).Raw(query, arg).Find(t.Context())
	r, err := one(rows, err, "account")
	return domain.Account{
		ID: r.ID, Email: r.Email, Name: r.Name, PasswordHash: r.PasswordHash, Operator: r.Operator, Disabled: r.DisabledAt != nil, CreatedAt: r.CreatedAt,
	}, err
}

func (t *tx) AddAccount(a domain.Account) error {
	row := accountRow{ID: a.ID, Email: a.Email, Name: a.Name, PasswordHash: a.PasswordHash, Operator: a.Operator, CreatedAt: a.CreatedAt}
	return gorm.G[accountRow](t.DB).Create(t.Context(), &row)
}

func (t *tx) SetPassword(account, hash string) error {
	return t.Exec(`UPDATE account SET password_hash = ? WHERE id = ?`, hash, account).Error
}

type membershipRow struct {
	Org       string
	Account   string
	Role      string
	CreatedAt time.Time
}

// TableName is gorm's way to ask.
func (membershipRow) TableName() string { return "membership" }

func (r membershipRow) domain() domain.Membership {
	return domain.Membership{Org: r.Org, Account: r.Account, Role: actor.Role(r.Role), CreatedAt: r.CreatedAt}
}

func (t *tx) AddMembership(m domain.Membership) error {
	row := membershipRow{Org: m.Org, Account: m.Account, Role: string(m.Role), CreatedAt: m.CreatedAt}
	return gorm.G[membershipRow](t.DB).Create(t.Context(), &row)
}

func (t *tx) Membership(account string) (domain.Membership, error) {
	rows, err := gorm.G[membershipRow](t.DB).Raw(`SELECT * FROM membership WHERE account = ?`, account).Find(t.Context())
	row, err := one(rows, err, "membership")
	return row.domain(), err
}

func (t *tx) Role(account string) (actor.Role, error) {
	rows, err := gorm.G[membershipRow](t.DB).Raw(`SELECT * FROM membership WHERE org = ? AND account = ?`, t.inOrg, account).Find(t.Context())
	row, err := one(rows, err, "membership")
	return actor.Role(row.Role), err
}
