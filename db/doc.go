// Package db owns the shape of Weir's PostgreSQL: one schema per service, three roles per
// schema, and the goose migrations that build them.
//
//   - owner runs migrations and owns the tables;
//   - api serves requests under forced row-level security: it sees the rows of the org its
//     transaction speaks for, and nothing without one;
//   - work runs background loops: it sees every org of its own schema.
//
// No role has any right in another service's schema. A migration creates a table and then
// passes it through exactly one of three functions that Migrate installs in each schema:
//
//	SELECT weir_tenant_table('instance', 'org');   -- rows belong to an org
//	SELECT weir_work_table('lease');               -- loops only
//	SELECT weir_shared_table('offering');          -- api reads, work writes
//
// The tables every service has (outbox, feeds, idempotency) live in migrations/common and
// are applied to each schema under their own version table, before the service's own
// migrations in migrations/<schema>.
package db
