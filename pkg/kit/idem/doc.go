// Package idem owns idempotency: a key claimed in the transaction of the effect, so that
// a repeated request finds either nothing or the whole answer, and never a half.
package idem
