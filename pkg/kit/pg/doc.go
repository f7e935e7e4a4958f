// Package pg owns how Weir's services talk to PostgreSQL: a pool per (schema, role), and
// InTx, the only way to run a statement. Every transaction says for whom it runs (Scope);
// the api role sees the rows of that org and no others, whatever the query says.
//
// Rules that keep gorm honest here (docs in the house style): only the generics API
// (gorm.G[T](tx.DB)), Select with every struct update, raw SQL for UPDATE … RETURNING, CAS
// for version checks. Statement errors keep their *pgconn.PgError: see Constraint.
package pg
