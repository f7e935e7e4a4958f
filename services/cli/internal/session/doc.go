// Package session owns who the command line speaks as: the tokens of each deployment one
// has logged in to, in a private file, and their renewal.
//
// A refresh token works once, and using an old one ends the session. Several weir processes
// may find the access token expired at the same moment, so renewal happens under a lock on
// a file: the first renews, the others read what it got.
package session
