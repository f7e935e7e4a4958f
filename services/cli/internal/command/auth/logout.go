package auth

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/services/cli/internal/session"
	"github.com/weirhq/weir/services/cli/internal/shell"
)

// Logout returns `weir logout`.
func Logout(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use:   "logout",
		Short: "End the session and forget it",
		Args:  shell.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			base, err := sh.URL()
			if err != nil {
				return err
			}
			if _, err := sh.Sessions.Get(base); errors.Is(err, session.ErrNone) {
				sh.Sayf("not logged in to %s", base)
				return nil
			} else if err != nil {
				return err
			}
			c, err := sh.SessionClient(base)
			if err != nil {
				return err
			}
			// The tokens are forgotten here whatever the server says: one that cannot be reached
			// lets them run out.
			_, err = c.Tenant.LogOutWithResponse(cmd.Context())
			if err != nil && !errors.Is(err, fault.Unauthenticated) {
				sh.Sayf("weir: the server could not be told, the session there ends by itself: %v", err)
			}
			if err := sh.Sessions.Remove(cmd.Context(), base); err != nil {
				return err
			}
			sh.Sayf("logged out of %s", base)
			return nil
		},
	}
}
