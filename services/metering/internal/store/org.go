package store

import (
	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/services/metering/internal/domain"
)

// SaveOrg keeps the newest version of an org.
func SaveOrg(tx *pg.Tx, o domain.Org) error {
	_, err := exec(tx, "write an org", `INSERT INTO org (id, currency, time_zone, version) VALUES ($1, $2, $3, $4)
		ON CONFLICT (id) DO UPDATE SET currency = EXCLUDED.currency, time_zone = EXCLUDED.time_zone, version = EXCLUDED.version
		WHERE org.version < EXCLUDED.version`, o.ID, o.Currency, o.TimeZone, o.Version)
	return err
}
