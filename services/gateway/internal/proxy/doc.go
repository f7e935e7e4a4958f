// Package proxy owns how a request at a door reaches the service that answers it: only
// known headers go on, the caller's credential is replaced by an internal token, and a
// service that cannot be reached is a problem the caller may retry.
package proxy
