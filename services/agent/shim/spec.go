package shim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// The files of a member's folder.
const (
	stateFile = "state.json"
	exitFile  = "exit.json"
	beatFile  = "beat"
	lockFile  = "lock"
	LogFile   = "log"
	OldLog    = "log.1"
)

// Spec is what a shim is told on its standard input.
type Spec struct {
	Dir      string   `json:"dir"`
	Member   string   `json:"member"`
	Boot     string   `json:"boot"`
	Command  []string `json:"command"` // empty: hold on until told to stop
	Env      []string `json:"env"`
	UID      int      `json:"uid"`
	Walls    Walls    `json:"walls"`
	LogLimit int64    `json:"log_limit"` // bytes
	Hostname string   `json:"hostname"`
}

// Walls is what stands between a command and the node.
type Walls struct {
	OwnUID     bool `json:"own_uid"`    // an unprivileged uid that no other live member has
	UserNS     bool `json:"user_ns"`    // and a user namespace that knows no other
	Namespaces bool `json:"namespaces"` // own mounts, processes, network, IPC and host name; a root of the system's programs only
}

// Missing names the walls that are not there.
func (w Walls) Missing() []string {
	var out []string
	if !w.OwnUID {
		out = append(out, "own_uid")
	}
	if !w.UserNS {
		out = append(out, "user_namespace")
	}
	if !w.Namespaces {
		out = append(out, "mount_namespace", "pid_namespace", "network_namespace", "ipc_namespace", "uts_namespace", "read_only_root", "private_tmp")
	}
	return out
}

// State is what the shim writes once the command runs: enough to know the same processes again.
type State struct {
	Member    string        `json:"member"`
	Boot      string        `json:"boot"`
	HostBoot  string        `json:"host_boot"`
	UID       int           `json:"uid"`
	OwnUID    bool          `json:"own_uid"`
	Shim      Process       `json:"shim"`
	Init      Process       `json:"init"`
	RunningAt time.Duration `json:"running_at"` // on the boot clock
}

// Exit is what the shim writes once the command has ended.
type Exit struct {
	Code    int           `json:"code"` // 128 + signal for a killed command
	Signal  int           `json:"signal,omitempty"`
	EndedAt time.Duration `json:"ended_at"` // on the boot clock
}

// ready is the shim's one answer to the agent.
type ready struct {
	State *State `json:"state,omitempty"`
	Error string `json:"error,omitempty"`
}

// ReadState reads a member's state; false while there is none.
func ReadState(dir string) (State, bool, error) {
	var s State
	ok, err := readJSON(filepath.Join(dir, stateFile), &s)
	return s, ok, err
}

// ReadExit reads how a member ended; false while it did not.
func ReadExit(dir string) (Exit, bool, error) {
	var x Exit
	ok, err := readJSON(filepath.Join(dir, exitFile), &x)
	return x, ok, err
}

// ReadBeat is the last time at which the shim was seen alive, 0 if never.
func ReadBeat(dir string) time.Duration {
	data, err := os.ReadFile(filepath.Join(dir, beatFile))
	if err != nil {
		return 0
	}
	var ns int64
	if _, err := fmt.Sscanf(string(data), "%d", &ns); err != nil {
		return 0
	}
	return time.Duration(ns)
}

func readJSON(path string, v any) (bool, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read member: %w", err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return false, fmt.Errorf("read %s: %w", path, err)
	}
	return true, nil
}

func writeJSON(path string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode %s: %w", filepath.Base(path), err)
	}
	if err := os.WriteFile(path+".next", data, 0o600); err != nil {
		return fmt.Errorf("write member: %w", err)
	}
	if err := os.Rename(path+".next", path); err != nil {
		return fmt.Errorf("write member: %w", err)
	}
	return nil
}
