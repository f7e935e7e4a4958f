// Package e2e drives the built product from outside: the binary, its REST door, its
// command line and its database, as a user, an operator and an auditor would.
package e2e
