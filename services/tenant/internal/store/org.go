package store

import (
	"time"

	"gorm.io/gorm"

	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/services/tenant/internal/domain"
)

type orgRow struct {
	ID          string
	Name        string
	Currency    string
	TimeZone    string
	BillingMode string
	Standing    string
	Approved    bool
	Reason      *string
	Version     int64
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// TableName is gorm's way to ask.
func (orgRow) TableName() string { return "org" }

func (r orgRow) domain() domain.Org {
	return domain.Org{
		ID: r.ID, Name: r.Name, Currency: r.Currency, TimeZone: r.TimeZone, BillingMode: domain.BillingMode(r.BillingMode),
		Standing: domain.Standing(r.Standing), Approved: r.Approved, Reason: text(r.Reason), Version: r.Version, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
	}
}

func (t *tx) AddOrg(o domain.Org, p domain.Project, l domain.Limits) error {
	row := orgRow{
		ID: o.ID, Name: o.Name, Currency: o.Currency, TimeZone: o.TimeZone, BillingMode: string(o.BillingMode), Standing: string(o.Standing),
		Approved: o.Approved, Reason: null(o.Reason), Version: o.Version, CreatedAt: o.CreatedAt, UpdatedAt: o.UpdatedAt,
	}
	if err := gorm.G[orgRow](t.DB).Create(t.Context(), &row); err != nil {
		return err
	}
	project := projectRow(p)
	if err := gorm.G[projectRow](t.DB).Create(t.Context(), &project); err != nil {
		return err
	}
	if err := t.publishOrg(o, p.ID); err != nil {
		return err
	}
	limits := limitsRow(l)
	if err := gorm.G[limitsRow](t.DB).Create(t.Context(), &limits); err != nil {
		return err
	}
	return t.publishLimits(l)
}

func (t *tx) Org() (domain.Org, error) { return t.org(`SELECT * FROM org WHERE id = ?`, t.inOrg) }

func (t *tx) LockOrg() (domain.Org, error) {
	return t.org(`SELECT * FROM org WHERE id = ? FOR UPDATE`, t.inOrg)
}

func (t *tx) org(query string, args ...any) (domain.Org, error) {
	rows, err := gorm.G[orgRow](t.DB).Raw(query, args...).Find(t.Context())
	row, err := one(rows, err, "org")
	return row.domain(), err
}

const saveOrg = `UPDATE org SET name = ?, time_zone = ?, billing_mode = ?, standing = ?, approved = ?, reason = ?, updated_at = ?, version = version + 1
	WHERE id = ? AND version = ?`

// SaveOrg stores o as the version after o.Version.
func (t *tx) SaveOrg(o domain.Org) error {
	r := t.Exec(saveOrg, o.Name, o.TimeZone, string(o.BillingMode), string(o.Standing), o.Approved, null(o.Reason), o.UpdatedAt, o.ID, o.Version)
	if err := pg.CAS(r.RowsAffected, r.Error); err != nil {
		return err
	}
	o.Version++
	_, p, err := t.OrgAndDefaultProject(o.ID)
	if err != nil {
		return err
	}
	return t.publishOrg(o, p.ID)
}

func (t *tx) OrgAndDefaultProject(org string) (domain.Org, domain.Project, error) {
	o, err := t.org(`SELECT * FROM org WHERE id = ?`, org)
	if err != nil {
		return o, domain.Project{}, err
	}
	rows, err := gorm.G[projectRow](t.DB).Raw(`SELECT * FROM project WHERE org = ? AND name = ?`, org, domain.DefaultProject).Find(t.Context())
	row, err := one(rows, err, "project")
	return o, domain.Project(row), err
}
