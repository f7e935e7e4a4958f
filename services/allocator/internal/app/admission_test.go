package app_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/services/allocator/internal/domain"
)

const slice = "h100-80gb.1g.10gb"

func TestRentAndRelease(t *testing.T) {
	t.Parallel()
	b := setup(t)
	n, org := b.node("h100-80gb-sxm5", 1), b.org()
	require.Equal(t, 7, b.offer(org, slice).Available)
	i := b.rent(org, slice)
	require.Equal(t, domain.Assigned, i.State)
	require.Equal(t, n.Name, i.Members[0].NodeName)
	require.Equal(t, 6, b.offer(org, slice).Available)
	b.report(n, n.BootID, saw(i, domain.SeenRunning))
	got := b.get(i)
	require.Equal(t, domain.Running, got.State)
	require.NotNil(t, got.RunningAt)
	require.Equal(t, "MIG-"+i.Members[0].Seats[0].ID, got.Members[0].Seats[0].Live.DeviceUUID)
	require.Equal(t, domain.Stopping, b.halt(i).State)
	require.Equal(t, 6, b.offer(org, slice).Available, "the seat stays until the agent's proof")
	b.report(n, n.BootID, saw(i, domain.SeenStopped))
	require.Equal(t, 6, b.offer(org, slice).Available, "ended is not released")
	ack := b.report(n, n.BootID, saw(i, domain.SeenStopped, released))
	require.Equal(t, []string{i.Members[0].ID}, ack.Acknowledged)
	require.Equal(t, 7, b.offer(org, slice).Available)
	require.Equal(t, domain.Stopped, b.get(i).State)
}

// kubernetes/kubernetes#136269: hundreds of requests for all devices at once.
func TestTwoHundredRequestsForFiftySixSlices(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.node("h100-80gb-sxm5", 8)
	org := b.org()
	var wg sync.WaitGroup
	var mu sync.Mutex
	won, full := 0, 0
	for range 200 {
		wg.Go(func() {
			_, err := b.tryRent(org, slice)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				won++
			case errors.Is(err, fault.NoCapacity):
				full++
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.Equal(t, 56, won)
	require.Equal(t, 144, full)
}
