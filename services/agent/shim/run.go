package shim

import (
	"os"
)

// The hidden first arguments.
const (
	argShim  = "__weir-shim"
	argSetup = "__weir-setup"
	argInit  = "__weir-init"
)

// self is this program, even when its file was replaced by an upgrade.
const self = "/proc/self/exe"

// MaybeRun turns this process into a shim, when it was started as one, and never returns then. Call it first in main.
func MaybeRun() {
	if len(os.Args) != 2 {
		return
	}
	switch os.Args[1] {
	case argShim:
		os.Exit(supervise())
	case argSetup:
		os.Exit(setup())
	case argInit:
		os.Exit(initMain())
	}
}
