package store

import (
	"time"

	"gorm.io/gorm"

	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/services/tenant/internal/domain"
)

type limitsRow struct {
	Org             string
	GPUeMicro       *int64 `gorm:"column:gpue_micro"`
	Instances       *int64
	QueuedInstances *int64
	VCPUsMilli      *int64 `gorm:"column:vcpus_milli"`
	RAMMiB          *int64 `gorm:"column:ram_mib"`
	Version         int64
	UpdatedAt       time.Time
}

// TableName is gorm's way to ask.
func (limitsRow) TableName() string { return "org_limits" }

func (t *tx) Limits() (domain.Limits, error) {
	rows, err := gorm.G[limitsRow](t.DB).Raw(`SELECT * FROM org_limits WHERE org = ?`, t.inOrg).Find(t.Context())
	row, err := one(rows, err, "org")
	return domain.Limits(row), err
}

const saveLimits = `UPDATE org_limits SET gpue_micro = ?, instances = ?, queued_instances = ?, vcpus_milli = ?, ram_mib = ?, updated_at = ?, version = version + 1
	WHERE org = ? AND version = ?`

// SaveLimits stores l as the version after l.Version.
func (t *tx) SaveLimits(l domain.Limits) error {
	r := t.Exec(saveLimits, l.GPUeMicro, l.Instances, l.QueuedInstances, l.VCPUsMilli, l.RAMMiB, l.UpdatedAt, l.Org, l.Version)
	if err := pg.CAS(r.RowsAffected, r.Error); err != nil {
		return err
	}
	l.Version++
	return t.publishLimits(l)
}

type orgWithLimitsRow struct {
	Base            orgRow `gorm:"embedded"`
	LimitsVersion   int64
	LimitsUpdatedAt time.Time
	GPUeMicro       *int64 `gorm:"column:gpue_micro"`
	Instances       *int64
	QueuedInstances *int64
	VCPUsMilli      *int64 `gorm:"column:vcpus_milli"`
	RAMMiB          *int64 `gorm:"column:ram_mib"`
}

const orgsWithLimits = `SELECT o.*, l.gpue_micro, l.instances, l.queued_instances, l.vcpus_milli, l.ram_mib,
	l.version AS limits_version, l.updated_at AS limits_updated_at FROM org o JOIN org_limits l ON l.org = o.id`

func (r orgWithLimitsRow) domain() domain.OrgWithLimits {
	return domain.OrgWithLimits{Org: r.Base.domain(), Limits: domain.Limits{
		Org: r.Base.ID, GPUeMicro: r.GPUeMicro, Instances: r.Instances, QueuedInstances: r.QueuedInstances, VCPUsMilli: r.VCPUsMilli, RAMMiB: r.RAMMiB,
		Version: r.LimitsVersion, UpdatedAt: r.LimitsUpdatedAt,
	}}
}

func (t *tx) Orgs(p domain.Page) ([]domain.OrgWithLimits, error) {
	rows, err := gorm.G[orgWithLimitsRow](t.DB).Raw(orgsWithLimits+` WHERE (? = '' OR o.id < ?) ORDER BY o.id DESC LIMIT ?`, p.After, p.After, p.Limit).Find(t.Context())
	if err != nil {
		return nil, err
	}
	out := make([]domain.OrgWithLimits, len(rows))
	for i, r := range rows {
		out[i] = r.domain()
	}
	return out, nil
}

func (t *tx) OrgWithLimits(id string) (domain.OrgWithLimits, error) {
	return t.orgWithLimits(orgsWithLimits+` WHERE o.id = ?`, id)
}

func (t *tx) LockOrgWithLimits(id string) (domain.OrgWithLimits, error) {
	return t.orgWithLimits(orgsWithLimits+` WHERE o.id = ? FOR UPDATE`, id)
}

func (t *tx) orgWithLimits(query, id string) (domain.OrgWithLimits, error) {
	rows, err := gorm.G[orgWithLimitsRow](t.DB).Raw(query, id).Find(t.Context())
	row, err := one(rows, err, "org")
	return row.domain(), err
}
