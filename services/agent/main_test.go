package agent_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/weirhq/weir/services/agent/shim"
	"github.com/weirhq/weir/services/agent/simgpu"
	"github.com/weirhq/weir/services/agent/simnode"
)

func TestMain(m *testing.M) {
	shim.MaybeRun()
	if os.Getenv("WEIR_TEST_NODE") != "" {
		if err := nodeProcess(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// nodeProcess is a simulated node in a process of its own, so that a test can kill it for real: from outside, or by its own
// hand at the step that CRASH_AT counts.
func nodeProcess() error {
	var die int
	if _, err := fmt.Sscan(os.Getenv("WEIR_TEST_CRASH_AT"), &die); err != nil {
		return err
	}
	boards, err := simgpu.ParseBoards(os.Getenv("WEIR_TEST_BOARDS"))
	if err != nil {
		return err
	}
	steps := 0
	h, err := simnode.New(context.Background(), simnode.Config{
		Name: "n1", Dir: os.Getenv("WEIR_TEST_NODE"), Boards: []simgpu.Boards{boards}, Runtime: os.Getenv("WEIR_TEST_RUNTIME"),
		Server: os.Getenv("WEIR_TEST_SERVER"), JoinToken: os.Getenv("WEIR_TEST_TOKEN"), CAPin: os.Getenv("WEIR_TEST_PIN"),
		Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
		Crash: func(step string) {
			if steps++; steps == die {
				_ = unix.Kill(os.Getpid(), unix.SIGKILL)
				select {}
			}
		},
	})
	if err != nil {
		return err
	}
	return h.Run(context.Background())
}
