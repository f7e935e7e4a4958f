// Package auth is `weir login` and `weir logout`.
package auth
