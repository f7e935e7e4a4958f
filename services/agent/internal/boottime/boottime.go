// Package boottime reads the machine's boot clock: monotonic, counting suspend, the same for every process until the next
// boot. Ages in reports and stamps in the journal are on it, so that no step of the wall clock can move a bill.
package boottime

import (
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Now is the time since the machine booted.
func Now() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		panic(err) // the clock exists since Linux 2.6.39
	}
	return time.Duration(ts.Nano())
}

// HostBoot is the kernel's id of this boot, "" where it cannot be read.
func HostBoot() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
