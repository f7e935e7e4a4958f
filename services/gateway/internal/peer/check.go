package peer

import (
	"fmt"
	"net/http"

	"github.com/weirhq/weir/pkg/kit/problem"
)

// check turns an answer into its fault; one of success must have what was asked for.
func check(status int, body []byte, resp *http.Response, has bool) error {
	var h http.Header
	if resp != nil {
		h = resp.Header
	}
	if err := problem.Check(status, body, h); err != nil {
		return err
	}
	if !has {
		return fmt.Errorf("peer answered %d without the described body", status)
	}
	return nil
}
