package pg

import (
	"fmt"

	"github.com/jackc/pgx/v5"

	weirdb "github.com/weirhq/weir/db"
)

// Role is one of the three roles that each schema has.
type Role string

// The roles.
const (
	Owner Role = weirdb.RoleOwner // runs migrations, owns the tables
	API   Role = weirdb.RoleAPI   // serves requests under forced row-level security
	Work  Role = weirdb.RoleWork  // runs background loops over all orgs
)

// Database says where the schemas live and how to speak as each of their roles.
type Database struct {
	// AdminDSN reaches the database as its administrator; only its address is used for the
	// services' roles.
	AdminDSN string
	// RolePrefix stands in the role names.
	RolePrefix string
	// Secret derives each role's password.
	Secret []byte
}

// Options are what the migrations need of d.
func (d Database) Options() weirdb.Options {
	return weirdb.Options{Prefix: d.RolePrefix, Secret: d.Secret}
}

// RoleName is weir_<prefix>_<schema>_<role>.
func (d Database) RoleName(schema string, r Role) string {
	return weirdb.RoleName(d.RolePrefix, schema, string(r))
}

// config is the connection of one role, with the limits that keep one stuck statement or
// forgotten transaction from holding others up.
func (d Database) config(schema string, r Role) (*pgx.ConnConfig, error) {
	cfg, err := pgx.ParseConfig(d.AdminDSN)
	if err != nil {
		return nil, fmt.Errorf("parse the database address: %w", err)
	}
	cfg.User = d.RoleName(schema, r)
	cfg.Password = weirdb.Password(d.Secret, cfg.User)
	for k, v := range map[string]string{
		"application_name":                    "weir_" + schema + "_" + string(r),
		"search_path":                         schema + ", public",
		"timezone":                            "UTC",
		"statement_timeout":                   "30s",
		"idle_in_transaction_session_timeout": "30s",
	} {
		cfg.RuntimeParams[k] = v
	}
	return cfg, nil
}
