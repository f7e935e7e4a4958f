// Package archtest holds the house rules that a compiler does not: who may import whom,
// which calls belong to which room, and that every package says what it owns. Its tests
// read the whole workspace; there is nothing to import.
package archtest
