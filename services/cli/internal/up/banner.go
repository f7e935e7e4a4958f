package up

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// banner tells a newcomer where everything is. Passwords given by the environment are not
// repeated.
func banner(out io.Writer, c *config, dir *dataDir, a accounts, nodes int) {
	fmt.Fprintf(out, "\nWeir is up: http://%s\n\n", c.addr)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, line := range []struct {
		who string
		account
	}{{"operator", a.admin}, {"tenant", a.demo}} {
		password := line.password
		if line.given {
			password = "(as given by the environment)"
		}
		fmt.Fprintf(w, "  %s\t%s\tpassword %s\n", line.who, line.email, password)
	}
	_ = w.Flush() // out's errors show where it is used
	at := ""      // where the CLI looks by itself
	if c.addr != defaultAddr {
		at = " --url http://" + c.addr
	}
	offering := "h100-80gb.1g.10gb"
	if c.simNodes != defaultNodes || c.simFleet != "" {
		offering = "OFFERING"
	}
	if len(c.weak) > 0 {
		fmt.Fprintf(out, "\n  Tenants' processes are walled in weakly here: this machine does not allow %s.\n", strings.Join(c.weak, ", "))
	}
	fmt.Fprintf(out, `
  simulated nodes: %d, data in %s

  weir login%s --email %s
  weir offerings
  weir run --offering %s -- sh -c 'echo hello; sleep 30'

Ctrl-C stops everything.
`, nodes, dir.path, at, a.demo.email, offering)
}
