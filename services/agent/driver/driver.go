package driver

import (
	"context"

	"github.com/weirhq/weir/pkg/kernel/mig"
)

// Driver is what the agent needs from the cards.
type Driver interface {
	// Simulated reports whether the cards are not real.
	Simulated() bool
	// BootID changes whenever the machine starts anew. Nothing on a card survives that.
	BootID(ctx context.Context) (string, error)
	// Cards lists every card, by index. A lost card is listed as such, with the facts last known.
	Cards(ctx context.Context) ([]Card, error)
	// Instances reads the GPU instances that are on a card now.
	Instances(ctx context.Context, gpu string) ([]Instance, error)
	// SetMIGMode switches the mode of an idle card: ErrInUse when something holds it, ErrNotSupported when it takes a reset.
	SetMIGMode(ctx context.Context, gpu string, on bool) error
	// CreateInstance cuts a GPU instance at exactly that placement and returns its id.
	CreateInstance(ctx context.Context, gpu string, profileID int, at mig.Placement) (int, error)
	// ComputeProfiles lists the compute-instance profiles a GPU instance supports.
	ComputeProfiles(ctx context.Context, gpu string, gi int) ([]ComputeProfile, error)
	// CreateCompute makes a compute instance in a GPU instance and returns its id.
	CreateCompute(ctx context.Context, gpu string, gi, profileID int) (int, error)
	// DestroyCompute removes a compute instance: ErrInUse while a process holds it.
	DestroyCompute(ctx context.Context, gpu string, gi, ci int) error
	// DestroyInstance removes a GPU instance: ErrInUse while it holds a compute instance.
	DestroyInstance(ctx context.Context, gpu string, gi int) error
}

// Tracker is implemented by a driver that cannot see processes by itself: the agent tells it who holds a device, by the
// card's or the slice's UUID. Both calls are idempotent.
type Tracker interface {
	Opened(ctx context.Context, device, holder string) error
	Closed(ctx context.Context, device, holder string) error
}

// Mode is a card's MIG mode.
type Mode string

// The MIG modes. Pending means a change that waits for a reset.
const (
	ModeOn      Mode = "on"
	ModeOff     Mode = "off"
	ModePending Mode = "pending"
)

// Card is one physical card as it reports itself.
type Card struct {
	Index         int
	UUID          string
	Serial        string
	Board         string // key of the geometry table, "" when unknown
	Product       string
	Arch          string
	MemoryMiB     int
	SMs           int
	Geometry      mig.Geometry
	Mode          Mode
	ResetToToggle bool
	Policy        string // auto, whole or mig: how the node was set up
	Lost          bool
	TemperatureC  *int
	PowerW        *int
}

// Instance is a GPU instance that is on a card.
type Instance struct {
	ID        int
	ProfileID int
	Profile   string
	Placement mig.Placement
	Compute   []Compute
}

// Compute is a compute instance inside a GPU instance.
type Compute struct {
	ID        int
	ProfileID int
	UUID      string // of the MIG device
	SMs       int
	MemoryMiB int
}

// ComputeProfile is one way to fill a GPU instance.
type ComputeProfile struct {
	ID     int
	Slices int
	SMs    int
}

// Fullest is the compute profile that takes all of its GPU instance: the most slices, then the most SMs.
func Fullest(profiles []ComputeProfile) (ComputeProfile, bool) {
	var best ComputeProfile
	for i, p := range profiles {
		if i == 0 || p.Slices > best.Slices || p.Slices == best.Slices && p.SMs > best.SMs {
			best = p
		}
	}
	return best, len(profiles) > 0
}
