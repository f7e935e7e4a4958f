// Package tenant owns who people are and what their orgs may do: accounts, sessions, API
// keys, orgs with their projects, and the limits and standing that the operator sets. It
// is the only service that reads passwords, access tokens and keys.
package tenant
