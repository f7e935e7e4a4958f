// Command weir is the command line, and with `weir up` the whole product in one process.
package main

import (
	"os"

	"github.com/weirhq/weir/services/agent/shim"
	"github.com/weirhq/weir/services/cli"
)

func main() {
	shim.MaybeRun() // does not return when this process was started as a member's shim
	os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
