package store

import (
	"github.com/weirhq/weir/services/inventory/internal/domain"
)

type poolRow struct {
	ID                string
	Name              string
	Region            string
	Authority         string
	ShareAcrossOrgs   bool
	DefaultCardPolicy string
}

func (r poolRow) pool() domain.Pool {
	return domain.Pool{ID: r.ID, Name: r.Name, Region: r.Region, Authority: r.Authority,
		ShareAcrossOrgs: r.ShareAcrossOrgs, DefaultPolicy: domain.Policy(r.DefaultCardPolicy)}
}

func (t *tx) Pool(name string) (domain.Pool, error) {
	r, err := one[poolRow](t, "read pool", "There is no such pool.", `SELECT * FROM pool WHERE name = ?`, name)
	return r.pool(), err
}

func (t *tx) Pools(p domain.Page) ([]domain.Pool, error) {
	after := ""
	if len(p.After) == 1 {
		after = p.After[0]
	}
	rows, err := many[poolRow](t, "read pools", `SELECT * FROM pool WHERE id > ? ORDER BY id LIMIT ?`, after, p.Limit)
	pools := make([]domain.Pool, 0, len(rows))
	for _, r := range rows {
		pools = append(pools, r.pool())
	}
	return pools, err
}
