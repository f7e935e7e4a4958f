package store

import (
	"time"

	"gorm.io/gorm"

	"github.com/weirhq/weir/services/tenant/internal/domain"
)

type projectRow struct {
	ID        string
	Org       string
	Name      string
	CreatedAt time.Time
}

// TableName is gorm's way to ask.
func (projectRow) TableName() string { return "project" }

func (t *tx) Projects(p domain.Page) ([]domain.Project, error) {
	rows, err := gorm.G[projectRow](t.DB).Raw(`SELECT * FROM project WHERE org = ? AND (? = '' OR id < ?) ORDER BY id DESC LIMIT ?`, t.inOrg, p.After, p.After, p.Limit).Find(t.Context())
	if err != nil {
		return nil, err
	}
	out := make([]domain.Project, len(rows))
	for i, r := range rows {
		out[i] = domain.Project(r)
	}
	return out, nil
}

func (t *tx) Project(id string) (domain.Project, error) {
	rows, err := gorm.G[projectRow](t.DB).Raw(`SELECT * FROM project WHERE org = ? AND id = ?`, t.inOrg, id).Find(t.Context())
	row, err := one(rows, err, "project")
	return domain.Project(row), err
}
