package simgpu

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/weirhq/weir/pkg/kernel/mig"
	"github.com/weirhq/weir/services/agent/driver"
)

// nodeFile is what stays the same until the next boot.
type nodeFile struct {
	Version  int        `json:"version"`
	Name     string     `json:"name"`
	BootID   string     `json:"boot_id"`
	HostBoot string     `json:"host_boot"` // a reboot of the machine underneath is one of the node
	Cards    []identity `json:"cards"`
}

// identity is what is printed on a card.
type identity struct {
	UUID   string `json:"uuid"`
	Serial string `json:"serial"`
	Board  string `json:"board"`
	Policy string `json:"policy"`
}

// cardFile is what a card loses in a reboot: a file of another boot counts as empty.
type cardFile struct {
	BootID    string              `json:"boot_id"`
	Mode      driver.Mode         `json:"mode"`
	Lost      bool                `json:"lost"`
	Instances []instance          `json:"instances"`
	Clients   map[string][]string `json:"clients"` // device UUID → who holds it
}

type instance struct {
	ID        int       `json:"id"`
	ProfileID int       `json:"profile_id"`
	Start     int       `json:"start"`
	Size      int       `json:"size"`
	Foreign   bool      `json:"foreign,omitempty"` // made by the foreign_mig fault; the driver never tells
	Compute   []compute `json:"compute"`
}

func (i instance) placement() mig.Placement { return mig.Placement{Start: i.Start, Size: i.Size} }

type compute struct {
	ID        int    `json:"id"`
	ProfileID int    `json:"profile_id"`
	UUID      string `json:"uuid"`
}

func freshCard(boot string, id identity) cardFile {
	mode := driver.ModeOff
	if id.Policy == PolicyMIG {
		mode = driver.ModeOn
	}
	return cardFile{BootID: boot, Mode: mode, Clients: map[string][]string{}}
}

func nodePath(dir string) string        { return filepath.Join(dir, "node.json") }
func cardPath(dir string, i int) string { return filepath.Join(dir, fmt.Sprintf("card-%d.json", i)) }

// write replaces a file at once, so that a reader or a kill -9 sees the old content or the new.
func write(path string, v any, durable bool) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode %s: %w", filepath.Base(path), err)
	}
	f, err := os.OpenFile(path+".next", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("write simulated card: %w", err)
	}
	defer f.Close()
	if _, err := f.Write(data); err != nil {
		return fmt.Errorf("write simulated card: %w", err)
	}
	if durable {
		if err := f.Sync(); err != nil {
			return fmt.Errorf("write simulated card: %w", err)
		}
	}
	if err := os.Rename(path+".next", path); err != nil {
		return fmt.Errorf("write simulated card: %w", err)
	}
	return nil
}

// read reports whether there was a file.
func read(path string, v any) (bool, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read simulated card: %w", err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return false, fmt.Errorf("read %s: %w", path, err)
	}
	return true, nil
}

// newUUID is random, with the version nibble 5 that NVIDIA's UUIDs show.
func newUUID(prefix string) string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6] = b[6]&0x0f | 0x50
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%s-%x-%x-%x-%x-%x", prefix, b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func newSerial() string {
	var b [6]byte
	_, _ = rand.Read(b[:])
	n := uint64(0)
	for _, x := range b {
		n = n<<8 | uint64(x)
	}
	return fmt.Sprintf("16%011d", n%100_000_000_000)
}
