package store

import (
	"context"
	"errors"

	"github.com/weirhq/weir/pkg/kit/idem"
)

var errNoKey = errors.New("store: the operation takes no idempotency key")

func (t *tx) Claim(ctx context.Context) error {
	k, err := key(ctx)
	if err != nil {
		return err
	}
	return idem.Claim(t.Tx, k)
}

func (t *tx) Remember(ctx context.Context, status int, answer any) error {
	k, err := key(ctx)
	if err != nil {
		return err
	}
	return idem.Save(t.Tx, k, status, answer)
}

// key is the request's key. An operator acts in no org: its own id stands for one.
func key(ctx context.Context) (idem.Key, error) {
	k, ok := idem.From(ctx)
	if !ok {
		return k, errNoKey
	}
	if k.Org == "" {
		k.Org = k.Principal
	}
	return k, nil
}
