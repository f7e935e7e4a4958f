// Package domain owns the inventory's types and its decisions that need neither a clock nor
// a database: which status is news, what it changes about a node and its cards, who may take
// a name, and since when a silence counts.
package domain
