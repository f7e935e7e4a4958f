// Package shell owns what a command is given by the world around it: its streams, its
// environment, the signals, and the deployment it speaks to.
package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/pkg/api/tenantapi"
	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/services/cli/internal/call"
	"github.com/weirhq/weir/services/cli/internal/failure"
	"github.com/weirhq/weir/services/cli/internal/output"
	"github.com/weirhq/weir/services/cli/internal/session"
)

// DefaultURL is where `weir up` listens unless told otherwise.
const DefaultURL = "http://localhost:8080"

// Shell is the world of one command.
type Shell struct {
	In       io.Reader
	Out, Err io.Writer
	Getenv   func(string) string
	Clock    clock.Clock
	Sessions *session.Store
	// URLFlag is the --url flag; "" when it was not given.
	URLFlag string

	mu        sync.Mutex
	interrupt func(os.Signal)
}

// OnInterrupt replaces what Ctrl-C does.
func (s *Shell) OnInterrupt(fn func(os.Signal)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.interrupt = fn
}

// Interrupt is a signal that came.
func (s *Shell) Interrupt(sig os.Signal) {
	s.mu.Lock()
	fn := s.interrupt
	s.mu.Unlock()
	if fn != nil {
		fn(sig)
	}
}

// Sayf writes a line on standard error.
func (s *Shell) Sayf(format string, args ...any) { fmt.Fprintf(s.Err, format+"\n", args...) }

// URL is the deployment to speak to: the flag, the environment, the last login, or the
// default.
func (s *Shell) URL() (string, error) {
	for _, u := range []string{s.URLFlag, s.Getenv("WEIR_URL")} {
		if u != "" {
			return CleanURL(u)
		}
	}
	u, err := s.Sessions.Current()
	if err != nil || u != "" {
		return u, err
	}
	return DefaultURL, nil
}

// CleanURL checks a deployment's address and writes it in the one form that is saved.
func CleanURL(raw string) (string, error) {
	u, err := url.Parse(raw)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", failure.Usagef("the URL %q must look like http://localhost:8080", raw)
	}
	return strings.TrimRight(u.Scheme+"://"+u.Host+u.Path, "/"), nil
}

// Client is the deployment's API, with the credential of the environment or the last login.
func (s *Shell) Client() (*call.Client, error) {
	base, err := s.URL()
	if err != nil {
		return nil, err
	}
	return s.client(base, s.Getenv("WEIR_TOKEN"))
}

// SessionClient is the deployment's API with the saved login, whatever the environment says.
func (s *Shell) SessionClient(base string) (*call.Client, error) { return s.client(base, "") }

func (s *Shell) client(base, token string) (*call.Client, error) {
	bare, err := s.Bare(base)
	if err != nil {
		return nil, err
	}
	return call.New(base, &session.Transport{
		Next: transport, Store: s.Sessions, URL: base, Token: token,
		Renew: func(ctx context.Context, refreshToken string) (session.Tokens, error) {
			return renew(ctx, bare, refreshToken)
		},
	})
}

// Bare is the API without a credential.
func (s *Shell) Bare(base string) (*call.Client, error) { return call.New(base, transport) }

func renew(ctx context.Context, c *call.Client, refreshToken string) (session.Tokens, error) {
	r, err := c.Tenant.RefreshSessionWithResponse(ctx, tenantapi.RefreshSessionJSONRequestBody{RefreshToken: refreshToken})
	if err != nil {
		return session.Tokens{}, err
	}
	t, err := call.Body(r.JSON200, nil)
	if err != nil {
		return session.Tokens{}, err
	}
	return session.Tokens{AccessToken: t.AccessToken, RefreshToken: t.RefreshToken, ExpiresIn: time.Duration(t.ExpiresIn) * time.Second}, nil
}

// transport is shared by all calls of the process.
var transport = func() http.RoundTripper {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	t = t.Clone()
	t.MaxIdleConnsPerHost = 8
	return t
}()

// Output adds the flag -o to a command that reads.
func Output(cmd *cobra.Command) *output.Format {
	f := output.AsTable
	cmd.Flags().VarP(&f, "output", "o", "how to write the answer: table, json or yaml")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]cobra.Completion{"table", "json", "yaml"}, cobra.ShellCompDirectiveNoFileComp))
	return &f
}

// Args makes a wrong number of arguments an error of usage.
func Args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return &failure.Usage{Err: fmt.Errorf("%w\nusage: %s", err, cmd.UseLine())}
		}
		return nil
	}
}

// Group makes a command that only holds others: without one of them it shows its help, and
// refuses what it does not know.
func Group(use, short string, subs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: Args(cobra.ArbitraryArgs), RunE: func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return failure.Usagef("%s has no command %q; see %s --help", cmd.CommandPath(), args[0], cmd.CommandPath())
		}
		cmd.SetOut(cmd.ErrOrStderr()) // standard output is for data
		return errors.Join(cmd.Help(), &failure.Exit{Code: failure.BadUsage})
	}}
	cmd.AddCommand(subs...)
	return cmd
}
