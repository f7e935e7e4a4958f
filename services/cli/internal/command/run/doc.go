// Package run is `weir run`: rent, run a command, bring its output here, and end as it ends.
//
// Standard output is the command's output and nothing else, byte for byte, whatever breaks
// on the way. The instance is never left behind in silence: what is not stopped is named.
package run
