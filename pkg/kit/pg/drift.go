package pg

import (
	"context"
	"fmt"
	"sync"

	"gorm.io/gorm/schema"
)

// Drift names the fields of gorm rows that have no column in this pool's schema. Each
// store's tests ask it about all rows, because gorm itself notices only when it runs.
func (db *DB) Drift(ctx context.Context, rows ...any) ([]string, error) {
	var columns []struct{ Tab, Col string }
	err := db.InTx(ctx, Scope{ReadOnly: true}, func(tx *Tx) error {
		return tx.Raw(`SELECT table_name AS tab, column_name AS col FROM information_schema.columns WHERE table_schema = ?`, db.schema).Scan(&columns).Error
	})
	if err != nil {
		return nil, fmt.Errorf("read the columns of %s: %w", db.schema, err)
	}
	have := map[string]bool{}
	for _, c := range columns {
		have[c.Tab+"."+c.Col] = true
	}
	var missing []string
	for _, row := range rows {
		s, err := schema.Parse(row, &sync.Map{}, db.gorm.NamingStrategy)
		if err != nil {
			return nil, fmt.Errorf("parse row %T: %w", row, err)
		}
		for _, f := range s.Fields {
			if f.DBName != "" && !have[s.Table+"."+f.DBName] {
				missing = append(missing, s.Table+"."+f.DBName)
			}
		}
	}
	return missing, nil
}
