// Package pgtest gives each test its own PostgreSQL database with every schema migrated.
//
// One private server per user serves all test processes of the machine; it is started by
// the first that needs it, keeps running between runs and is replaced when it is broken or
// was made with other settings. A database is a clone of a template that is built once per
// state of the migrations. Nothing of a killed run gets in the way of the next.
//
// PostgreSQL must be installed: a test that needs it fails without it, it is never skipped.
package pgtest
