package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/services/agent"
	"github.com/weirhq/weir/services/agent/simgpu"
	"github.com/weirhq/weir/services/agent/simnode"
)

const defaultDir = "/var/lib/weir-agent"

func root() *cobra.Command {
	cmd := &cobra.Command{Use: "weir-agent", Short: "Joins this machine to a Weir cell and works on its GPUs", SilenceUsage: true}
	cmd.AddCommand(joinCommand(), runCommand())
	return cmd
}

// nodeName is this machine's name as a node's.
func nodeName(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("read the host name: %w", err)
	}
	return strings.ToLower(host), nil
}

func joinCommand() *cobra.Command {
	var c agent.JoinConfig
	var dir string
	cmd := &cobra.Command{
		Use: "join", Short: "Make this machine a node, with the line that `weir nodes token` prints", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			name, err := nodeName(c.Name)
			if err != nil {
				return err
			}
			c.Name, c.StateDir, c.Clock = name, simnode.StateDir(dir), clock.Real{}
			node, err := agent.Join(cmd.Context(), c)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "joined as %s (%s); start it with: weir-agent run --state-dir %s --driver sim\n", node, name, dir)
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&c.Server, "server", "", "the cell's agents' door, https://HOST:8443")
	f.StringVar(&c.Token, "token", "", "a join token, good for one node and at most an hour")
	f.StringVar(&c.CAPin, "ca-pin", "", "hash of the cell's CA certificate, sha256:…")
	f.StringVar(&c.Name, "node-name", "", "name of this node (default: the host name)")
	f.StringVar(&dir, "state-dir", defaultDir, "where the node's identity and journal are kept")
	for _, name := range []string{"server", "token", "ca-pin"} {
		_ = cmd.MarkFlagRequired(name) // the flag exists
	}
	return cmd
}

type runFlags struct {
	dir, driver, board, runtime, name, admin string
}

func runCommand() *cobra.Command {
	var r runFlags
	cmd := &cobra.Command{
		Use: "run", Short: "Work on this node's GPUs until told to stop; what runs on them stays", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return r.run(cmd) },
	}
	f := cmd.Flags()
	f.StringVar(&r.dir, "state-dir", defaultDir, "where the node's identity and journal are kept")
	f.StringVar(&r.driver, "driver", "nvml", "what drives the cards: nvml or sim")
	f.StringVar(&r.board, "sim-board", "", "the simulated cards, BOARD:N, for example h100-80gb-sxm5:8")
	f.StringVar(&r.runtime, "runtime", "process", "what runs members: process or null")
	f.StringVar(&r.name, "node-name", "", "name of this node (default: the host name)")
	f.StringVar(&r.admin, "admin-addr", "", "address for /healthz, /readyz and /metrics (default: none)")
	return cmd
}

// run hosts the node until the context ends.
func (r runFlags) run(cmd *cobra.Command) error {
	if r.driver == "nvml" {
		return errors.New("the NVML driver is not built in this version; use --driver sim with --sim-board")
	}
	if r.driver != "sim" {
		return fmt.Errorf("--driver must be nvml or sim, not %q", r.driver)
	}
	name, err := nodeName(r.name)
	if err != nil {
		return err
	}
	cfg := simnode.Config{Name: name, Dir: r.dir, Runtime: r.runtime, Clock: clock.Real{}, Version: version,
		Log: slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))}
	if r.board != "" {
		boards, err := simgpu.ParseBoards(r.board)
		if err != nil {
			return err
		}
		cfg.Boards = []simgpu.Boards{boards}
	} else if _, err := os.Stat(filepath.Join(r.dir, "cards")); err != nil {
		return errors.New("--sim-board says which cards to simulate, for example h100-80gb-sxm5:8")
	}
	if !agent.HasIdentity(simnode.StateDir(r.dir)) {
		return agent.ErrNotJoined
	}
	h, err := simnode.New(cmd.Context(), cfg)
	if err != nil {
		return err
	}
	defer func() { _ = h.Close() }() // Run has said what went wrong
	stop, err := serveAdmin(r.admin, h)
	if err != nil {
		return err
	}
	defer stop()
	if err := h.Run(cmd.Context()); cmd.Context().Err() == nil {
		return err
	}
	return nil
}

// version is set when a release is built.
var version = "dev"
