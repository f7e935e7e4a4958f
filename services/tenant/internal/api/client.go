package api

import (
	"context"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/weirhq/weir/pkg/kit/mesh"
)

type addressKey struct{}

// clientAddress keeps the address of the person behind a request: the last hop that the
// gateway saw. Anybody else's word about it is not taken.
func clientAddress(c *gin.Context) {
	ctx := c.Request.Context()
	if mesh.Peer(ctx) != "gateway" {
		return
	}
	hops := strings.Join(c.Request.Header.Values("X-Forwarded-For"), ",")
	last := strings.TrimSpace(hops[strings.LastIndexByte(hops, ',')+1:])
	c.Request = c.Request.WithContext(context.WithValue(ctx, addressKey{}, last))
}

func addressFrom(ctx context.Context) string {
	s, _ := ctx.Value(addressKey{}).(string)
	return s
}
