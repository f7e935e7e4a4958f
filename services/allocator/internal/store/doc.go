// Package store owns the allocator's rows: it maps them to the domain, writes a batch of the
// admission writer as one fenced transaction, and reads for requests under row-level
// security. Nothing but this package knows SQL.
//
// Rows travel as JSON in both directions: one parameter per table however many rows, and
// one row type per table (see rows.go).
package store
