// Command weir-agent runs on a GPU node: it joins the node to a cell and then carves cards, runs members and reports.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/weirhq/weir/services/agent/shim"
)

func main() {
	shim.MaybeRun()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := root().ExecuteContext(ctx); err != nil {
		os.Exit(1)
	}
}
