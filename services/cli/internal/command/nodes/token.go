package nodes

import (
	"crypto/rand"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/pkg/api/inventoryapi"
	"github.com/weirhq/weir/services/cli/internal/call"
	"github.com/weirhq/weir/services/cli/internal/failure"
	"github.com/weirhq/weir/services/cli/internal/output"
	"github.com/weirhq/weir/services/cli/internal/shell"
)

func token(sh *shell.Shell) *cobra.Command {
	var pool, name string
	var ttl time.Duration
	cmd := &cobra.Command{
		Use:   "token [--pool POOL] [--name NODE] [--ttl 1h]",
		Short: "Print the line that makes one machine join",
		Args:  shell.Args(cobra.NoArgs),
	}
	cmd.Flags().StringVar(&pool, "pool", "", "the pool to join (default the pool called default)")
	cmd.Flags().StringVar(&name, "name", "", "bind the token to this node's name")
	cmd.Flags().DurationVar(&ttl, "ttl", time.Hour, "how long it may be used, an hour at most")
	format := shell.Output(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		seconds := int(ttl / time.Second)
		if seconds < 1 || ttl > time.Hour {
			return failure.Usagef("--ttl must be between 1s and 1h")
		}
		body := inventoryapi.CreateJoinTokenJSONRequestBody{TTLSeconds: &seconds}
		if pool != "" {
			body.Pool = &pool
		}
		if name != "" {
			body.NodeName = &name
		}
		c, err := sh.Client()
		if err != nil {
			return err
		}
		r, err := c.Inventory.CreateJoinTokenWithResponse(cmd.Context(), &inventoryapi.CreateJoinTokenParams{IdempotencyKey: rand.Text()}, body)
		if err != nil {
			return err
		}
		t, err := call.Body(r.JSON201, nil)
		if err != nil {
			return err
		}
		if t.JoinCommand == nil {
			return errors.New("the answer has no join command")
		}
		sh.Sayf("good for one machine until %s", output.Time(t.ExpiresAt))
		return format.Write(sh.Out, t, func(p *output.Page) { p.Table().Row(*t.JoinCommand) })
	}
	return cmd
}
