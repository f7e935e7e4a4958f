// Package journal owns a small append-only file of records that survives kill -9 and power loss at any byte: each record
// is checksummed and on disk before Append returns, a torn tail is cut off at open, and damage anywhere else is an error
// instead of a silently shorter history.
//
// It does not know what the records mean.
//
// Format: a line `weir-journal 1`, then one line per record: CRC-32C of the payload in hex, a space, the payload.
// Payloads hold no newline.
package journal
