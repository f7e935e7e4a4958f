// Package frontend will own the web console; it is a module of its own because go:embed
// cannot reach upwards and because npm packages ship stray .go files.
package frontend
