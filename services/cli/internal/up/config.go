package up

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
)

// config is what the flags of `weir up` say.
type config struct {
	addr, agentAddr string
	dataDir         string
	simNodes        string
	simFleet        string
	simRuntime      string
	clock           string
	databaseURL     string
	postgresBin     string
	redisURL        string
	nodeTimeout     time.Duration
	evictAfter      time.Duration
	rateLimit       int
	openToNetwork   bool
	verbose         bool

	weak []string // what this machine does not allow of members' sandbox; known once nodes are open
}

// defaultNodes is the fleet a newcomer meets: two H100 servers of 8 and one A100 server of 4.
const defaultNodes = "2xh100-80gb-sxm5:8,1xa100-40gb:4"

// defaultAddr is the door where nothing else is said; the command line looks there too.
const defaultAddr = "127.0.0.1:8080"

// minNodeTimeout leaves room for a few words per time-out.
const minNodeTimeout = 4 * time.Second

func (c *config) bind(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&c.addr, "addr", defaultAddr, "address of the web and REST door")
	f.StringVar(&c.agentAddr, "agent-addr", "127.0.0.1:8443", "address of the agents' TLS door")
	f.StringVar(&c.dataDir, "data-dir", "", "where all state lives (default /var/lib/weir for root, else ~/.local/share/weir)")
	f.StringVar(&c.simNodes, "sim-nodes", defaultNodes, "simulated nodes: COUNTxBOARD:CARDS[@auto|whole|mig], comma separated; empty for none")
	f.StringVar(&c.simFleet, "sim-fleet", "", "CSV of simulated nodes instead: name,board,cards,cpu_milli,memory_mib")
	f.StringVar(&c.simRuntime, "sim-runtime", "process", "what runs on simulated nodes: process (sandboxed processes here) or null (nothing)")
	f.StringVar(&c.clock, "clock", "real", "business clock; only real exists in this version")
	f.StringVar(&c.databaseURL, "database-url", "", "use this PostgreSQL (a role that may create roles and schemas) instead of a private one")
	f.StringVar(&c.postgresBin, "postgres-bin", "", "folder of PostgreSQL's binaries, where it is not found by itself")
	f.StringVar(&c.redisURL, "redis-url", "", "not built in this version")
	f.DurationVar(&c.nodeTimeout, "node-timeout", 40*time.Second, "silence after which a node is not ready")
	f.DurationVar(&c.evictAfter, "evict-after", 5*time.Minute, "not built in this version: rentals keep their seats on a silent node")
	f.IntVar(&c.rateLimit, "rate-limit", 50, "requests per second and credential; 0 is no limit")
	f.BoolVar(&c.openToNetwork, "i-know-tenants-run-processes-on-this-machine", false, "allow a non-loopback address with the process runtime")
	f.BoolVarP(&c.verbose, "verbose", "v", false, "log what the services do")
}

// validate checks all that can be known without touching anything, and fills the defaults.
func (c *config) validate(cmd *cobra.Command) error {
	if c.clock != "real" {
		return fmt.Errorf("--clock %s: only the real clock is built in this version", c.clock)
	}
	if c.redisURL != "" {
		return errors.New("--redis-url: Redis is not built in this version; leave it out")
	}
	if cmd.Flags().Changed("evict-after") {
		return errors.New("--evict-after: moving work off silent nodes is not built in this version; leave it out")
	}
	if c.simRuntime != "process" && c.simRuntime != "null" {
		return fmt.Errorf("--sim-runtime %s: must be process or null", c.simRuntime)
	}
	if c.simFleet != "" && cmd.Flags().Changed("sim-nodes") {
		return errors.New("--sim-nodes and --sim-fleet exclude each other; give one")
	}
	if c.nodeTimeout < minNodeTimeout {
		return fmt.Errorf("--node-timeout must be at least %s: nodes speak four times in it, at most once a second", minNodeTimeout)
	}
	if c.rateLimit < 0 {
		return errors.New("--rate-limit must be 0 (none) or more requests per second")
	}
	if c.dataDir == "" {
		dir, err := defaultDataDir()
		if err != nil {
			return err
		}
		c.dataDir = dir
	}
	abs, err := filepath.Abs(c.dataDir)
	if err != nil {
		return fmt.Errorf("--data-dir %s: %w", c.dataDir, err)
	}
	c.dataDir = abs
	for _, a := range []struct{ flag, addr string }{{"--addr", c.addr}, {"--agent-addr", c.agentAddr}} {
		if err := c.checkAddr(a.flag, a.addr); err != nil {
			return err
		}
	}
	return nil
}

// postgresBins is where to look for PostgreSQL; nothing means the usual places.
func (c *config) postgresBins() []string {
	if c.postgresBin == "" {
		return nil
	}
	return []string{c.postgresBin}
}

// checkAddr refuses an address that is malformed, taken, or open to the network while
// tenants' processes run on this machine.
func (c *config) checkAddr(flag, addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("%s %s: must look like 127.0.0.1:8080", flag, addr)
	}
	ip := net.ParseIP(host)
	loopback := host == "localhost" || (ip != nil && ip.IsLoopback())
	if !loopback && c.simRuntime == "process" && !c.openToNetwork {
		return fmt.Errorf("%s %s: with --sim-runtime process tenants run processes on this machine, so only loopback addresses are allowed; "+
			"use --sim-runtime null, or say so with --i-know-tenants-run-processes-on-this-machine", flag, addr)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("%s %s: the address cannot be used: %w", flag, addr, rootCause(err))
	}
	return l.Close()
}

// rootCause strips the layers that only repeat the address.
func rootCause(err error) error {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err
		}
		err = next
	}
}

func defaultDataDir() (string, error) {
	if os.Geteuid() == 0 {
		return "/var/lib/weir", nil
	}
	if d := os.Getenv("XDG_DATA_HOME"); d != "" {
		return filepath.Join(d, "weir"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find a data directory (give --data-dir): %w", err)
	}
	return filepath.Join(home, ".local", "share", "weir"), nil
}
