// Package pgserver owns the life of a private PostgreSQL server: find the installed
// binaries, make a data directory, start, adopt one that still runs, stop. The server
// listens on a Unix socket only and asks for a SCRAM password. It outlives a killed parent;
// the next Start adopts it.
//
// The socket lies in the data directory. Where that path is too long for a socket (107
// bytes), it lies in <temporary directory>/weir-pg-<hash of the data directory>.
//
// PostgreSQL refuses to run as root: a root process runs it as user postgres, or nobody.
package pgserver
