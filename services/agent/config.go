package agent

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"regexp"
	goruntime "runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/services/agent/driver"
	"github.com/weirhq/weir/services/agent/internal/boottime"
	"github.com/weirhq/weir/services/agent/internal/link"
	"github.com/weirhq/weir/services/agent/runtime"
)

// Protocol is the version of the agent protocol spoken.
const Protocol = 1

// Network stands between the agent and the control plane.
type Network = link.Network

// Config describes one node's agent. Zero fields under "optional" mean the default.
type Config struct {
	Name      string // of the node, as in the REST contract
	StateDir  string // journal and identity; made when missing
	Server    string // https://HOST:8443
	JoinToken string // for the first start only
	CAPin     string // sha256:<hex>; for the first start only
	Driver    driver.Driver
	Runtime   runtime.Runtime

	// Optional.
	Clock      clock.Clock
	BootClock  func() time.Duration
	Log        *slog.Logger
	Rand       func() float64 // jitter, in [0, 1)
	Network    Network
	Facts      Facts
	Version    string
	Crash      func(step string) // called around every journal write and act; tests die in it
	Grace      time.Duration     // between TERM and KILL: 10 s
	MinFreeMiB uint64            // kept free for the journal: 64
	DiskFree   func() (uint64, error)
	NoSync     bool // a simulated node loses everything with its machine, so its journal need not be flushed
}

// Facts are what the node offers beside its cards. Zeros are measured.
type Facts struct {
	Hostname   string
	VCPUsMilli int64
	RAMMiB     int64
	DiskMiB    int64
}

var namePattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$`)

func (c Config) validate() error {
	var errs []error
	if !namePattern.MatchString(c.Name) {
		errs = append(errs, fmt.Errorf("the node's name %q must be lower-case letters, digits, dots and dashes, at most 63", c.Name))
	}
	if c.StateDir == "" {
		errs = append(errs, errors.New("a state directory is needed"))
	}
	if c.Driver == nil || c.Runtime == nil {
		return errors.Join(append(errs, errors.New("a driver and a runtime are needed"))...)
	}
	if facts := c.Runtime.Facts(); !c.Driver.Simulated() && !facts.RealCards {
		errs = append(errs, fmt.Errorf("the %s runtime is refused on a node with real cards", facts.Name))
	}
	return errors.Join(errs...)
}

func (c Config) withDefaults() Config {
	if c.Clock == nil {
		c.Clock = clock.Real{}
	}
	if c.BootClock == nil {
		c.BootClock = boottime.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Rand == nil {
		c.Rand = rand.Float64
	}
	if c.Version == "" {
		c.Version = "dev"
	}
	if c.Grace == 0 {
		c.Grace = 10 * time.Second
	}
	if c.MinFreeMiB == 0 {
		c.MinFreeMiB = 64
	}
	dir := c.StateDir
	if c.DiskFree == nil {
		c.DiskFree = func() (uint64, error) {
			free, _, err := disk(dir)
			return free, err
		}
	}
	return c
}

// measure fills in what was not given.
func (f Facts) measure(dir string) (Facts, error) {
	var err error
	if f.Hostname == "" {
		if f.Hostname, err = os.Hostname(); err != nil {
			return f, fmt.Errorf("read the host name: %w", err)
		}
	}
	if f.VCPUsMilli == 0 {
		f.VCPUsMilli = int64(goruntime.NumCPU()) * 1000
	}
	if f.RAMMiB == 0 {
		var info unix.Sysinfo_t
		if err := unix.Sysinfo(&info); err != nil {
			return f, fmt.Errorf("read the memory size: %w", err)
		}
		f.RAMMiB = int64(info.Totalram) * int64(info.Unit) >> 20
	}
	if f.DiskMiB == 0 {
		_, total, err := disk(dir)
		if err != nil {
			return f, err
		}
		f.DiskMiB = int64(total >> 20)
	}
	return f, nil
}

func disk(dir string) (free, total uint64, err error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, 0, fmt.Errorf("look at the disk: %w", err)
	}
	return s.Bavail * uint64(s.Bsize), s.Blocks * uint64(s.Bsize), nil
}
