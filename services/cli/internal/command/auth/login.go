package auth

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/pkg/api/tenantapi"
	"github.com/weirhq/weir/services/cli/internal/call"
	"github.com/weirhq/weir/services/cli/internal/failure"
	"github.com/weirhq/weir/services/cli/internal/session"
	"github.com/weirhq/weir/services/cli/internal/shell"
)

// Login returns `weir login`.
func Login(sh *shell.Shell) *cobra.Command {
	var email string
	var passwordStdin bool
	cmd := &cobra.Command{
		Use:   "login [--email EMAIL] [--password-stdin]",
		Short: "Log in to a deployment and remember it",
		Long: "Log in with e-mail and password. The tokens are saved in a private file and renewed when needed; the\n" +
			"password is not kept. Scripts use an API key in WEIR_TOKEN instead.",
		Example: "  weir login --url https://weir.example.com --email ada@example.com\n  weir login --email ada@example.com --password-stdin < password.txt",
		Args:    shell.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return login(cmd.Context(), sh, email, passwordStdin)
		},
	}
	cmd.Flags().StringVar(&email, "email", "", "your e-mail")
	cmd.Flags().BoolVar(&passwordStdin, "password-stdin", false, "read the password from standard input")
	return cmd
}

func login(ctx context.Context, sh *shell.Shell, email string, passwordStdin bool) error {
	base, err := sh.URL()
	if err != nil {
		return err
	}
	if email == "" && passwordStdin {
		return failure.Usagef("--password-stdin needs --email")
	}
	if email == "" {
		if email, err = ask(ctx, sh, "E-mail: ", false); err != nil {
			return err
		}
	}
	password, err := secret(ctx, sh, passwordStdin)
	if err != nil {
		return err
	}
	bare, err := sh.Bare(base)
	if err != nil {
		return err
	}
	r, err := bare.Tenant.LogInWithResponse(ctx, &tenantapi.LogInParams{}, tenantapi.LogInJSONRequestBody{Email: email, Password: password})
	if err != nil {
		var refusal *failure.Refusal
		if errors.As(err, &refusal) {
			refusal.LoggingIn = true
		}
		return err
	}
	l, err := call.Body(r.JSON200, nil)
	if err != nil {
		return err
	}
	saved := session.Session{
		Email: l.User.Email, AccessToken: l.AccessToken, RefreshToken: l.RefreshToken,
		ExpiresAt: sh.Clock.Now().Add(time.Duration(l.ExpiresIn) * time.Second),
	}
	as := "operator"
	if l.Org != nil {
		saved.Org, as = l.Org.ID, l.Org.Name
	}
	if err := sh.Sessions.Put(ctx, base, saved); err != nil {
		return err
	}
	sh.Sayf("logged in to %s as %s (%s)", base, l.User.Email, as)
	return nil
}

func secret(ctx context.Context, sh *shell.Shell, stdin bool) (string, error) {
	if stdin {
		return line(sh.In)
	}
	return ask(ctx, sh, "Password: ", true)
}
