package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/services/agent/internal/link"
)

// ErrNotJoined means that the node has no usable identity and no token to get one.
var ErrNotJoined = errors.New("this node has not joined: run weir-agent join with the line that `weir nodes token` prints")

// Joined reports whether the state directory holds an identity that is still good.
func Joined(stateDir string, now time.Time) bool {
	id, err := link.Load(stateDir)
	return err == nil && !id.Expired(now)
}

// JoinConfig is what joining takes.
type JoinConfig struct {
	StateDir, Server, Token, CAPin, Name string
	Clock                                clock.Clock
	Network                              Network
}

// Join makes this node's identity: a key that never leaves StateDir, and a certificate for it from the cell whose CA has
// the pinned hash. A good identity is kept.
func Join(ctx context.Context, c JoinConfig) (node string, err error) {
	if id, err := link.Load(c.StateDir); err == nil && !id.Expired(c.Clock.Now()) {
		return id.Node, nil
	}
	if !namePattern.MatchString(c.Name) {
		return "", fmt.Errorf("the node's name %q must be lower-case letters, digits, dots and dashes, at most 63", c.Name)
	}
	pin, err := link.ParsePin(c.CAPin)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(c.StateDir, 0o700); err != nil {
		return "", fmt.Errorf("make the state directory: %w", err)
	}
	id, err := link.Join(ctx, link.Options{Server: c.Server, Clock: c.Clock, Network: c.Network}, c.StateDir, c.Name, c.Token, pin)
	return id.Node, err
}

// Join makes the agent's identity from its configuration.
func (a *Agent) Join(ctx context.Context) error {
	_, err := Join(ctx, JoinConfig{StateDir: a.cfg.StateDir, Server: a.cfg.Server, Token: a.cfg.JoinToken, CAPin: a.cfg.CAPin,
		Name: a.cfg.Name, Clock: a.cfg.Clock, Network: a.cfg.Network})
	return err
}

// identityLoop gets an identity and keeps it fresh.
func (a *Agent) identityLoop(ctx context.Context) error {
	id, err := a.enter(ctx)
	if err != nil {
		return err
	}
	server := a.cfg.Server
	if server == "" {
		server = id.Server
	}
	a.identity.Store(&id)
	client, err := link.New(link.Options{Server: server, Clock: a.cfg.Clock, Network: a.cfg.Network}, func() link.Identity { return *a.identity.Load() })
	if err != nil {
		return err
	}
	a.client.Store(client)
	close(a.linked)
	a.cfg.Log.Info("node has its identity", "node", id.Node, "not_after", id.Leaf.NotAfter)
	return a.renewLoop(ctx, client)
}

// enter loads the identity, or joins. A refusal ends it; silence does not. An identity that ran out is used all the same
// where there is no token: the members of a node that was cut off for days still want to be looked after.
func (a *Agent) enter(ctx context.Context) (link.Identity, error) {
	for try := 0; ; try++ {
		id, err := link.Load(a.cfg.StateDir)
		if err == nil && !id.Expired(a.cfg.Clock.Now()) {
			return id, nil
		}
		if err != nil && !errors.Is(err, link.ErrNotJoined) {
			return id, err
		}
		if err == nil && a.cfg.JoinToken == "" {
			a.cfg.Log.Error("this node's certificate ran out; join it again", "not_after", id.Leaf.NotAfter)
			return id, nil
		}
		if a.cfg.JoinToken == "" {
			return id, ErrNotJoined
		}
		err = a.Join(ctx)
		if err == nil {
			continue
		}
		if refusal(err) {
			return id, err
		}
		wait := a.backoff(try)
		a.cfg.Log.Warn("not joined yet", "error", err, "wait", wait)
		if err := clock.Sleep(ctx, a.cfg.Clock, wait); err != nil {
			return id, err
		}
	}
}

// refusal reports whether trying again is pointless.
func refusal(err error) bool {
	for _, c := range []fault.Code{fault.Unauthenticated, fault.Forbidden, fault.Invalid, fault.Conflict, fault.NotFound} {
		if errors.Is(err, c) {
			return true
		}
	}
	return false
}

// renewLoop renews at two thirds of each certificate's life. It looks at the wall clock again and again, for that may jump.
func (a *Agent) renewLoop(ctx context.Context, client *link.Client) error {
	for try := 0; ; {
		id := *a.identity.Load()
		wait := min(time.Minute, id.RenewAt().Sub(a.cfg.Clock.Now()))
		if wait <= 0 {
			next, err := client.RenewIdentity(ctx, a.cfg.StateDir, id)
			if err == nil {
				try = 0
				a.identity.Store(&next)
				client.Close()
				a.answered()
				a.cfg.Log.Info("certificate renewed", "not_after", next.Leaf.NotAfter)
				continue
			}
			wait = a.backoff(try)
			try++
			a.cfg.Log.Warn("certificate not renewed", "error", err, "not_after", id.Leaf.NotAfter, "wait", wait)
		}
		if err := clock.Sleep(ctx, a.cfg.Clock, wait); err != nil {
			return err
		}
	}
}
