package domain

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const timeout = 40 * time.Second

func TestSilenceBeforeTheServerListenedDoesNotCount(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	ear, now := NewEar(start), start
	tick := func(d time.Duration) time.Duration { now = now.Add(d); return ear.Tick(now) }
	counts := func() bool { _, ok := ear.Cutoff(now, timeout); return ok }

	for range 39 {
		require.Zero(t, tick(time.Second))
		require.False(t, counts(), "it listens for less than the time-out")
	}
	require.Zero(t, tick(time.Second))
	require.True(t, counts())

	require.Zero(t, tick(MaxGap), "a pause that short is nothing")
	require.True(t, counts())
	require.Equal(t, 6*time.Second, tick(6*time.Second), "stalled")
	require.False(t, counts())
	for range 40 {
		tick(time.Second)
	}
	require.True(t, counts())

	ear.Missed(now)
	require.False(t, counts(), "deaf")
	for range 40 {
		tick(time.Second)
	}
	require.True(t, counts())

	require.Equal(t, 2*time.Hour, tick(2*time.Hour), "the clock jumped ahead")
	require.False(t, counts())
	require.Equal(t, -3*time.Hour, tick(-3*time.Hour), "the clock went back")
	require.False(t, counts())
	for range 40 {
		tick(time.Second)
	}
	require.True(t, counts(), "nobody gains more than a time-out by that")
}
