package id

import (
	"testing"
	"time"
)

func TestNewIsValidAndSorts(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_700_000_000, 0)
	a, b := New(Instance, at), New(Instance, at.Add(time.Millisecond))
	if !Valid(Instance, a) || !Valid(Instance, b) {
		t.Fatalf("minted ids are not valid: %s %s", a, b)
	}
	if a >= b {
		t.Fatalf("a later id must sort later: %s >= %s", a, b)
	}
}

func TestValidRefuses(t *testing.T) {
	t.Parallel()
	good := New(Node, time.Unix(1, 0))
	for _, s := range []string{"", "nod_", good[4:], "gpu_" + good[4:], good + "0", good[:len(good)-1] + "u", "nod_8" + good[5:], good[:10] + "'" + good[11:]} {
		if Valid(Node, s) {
			t.Errorf("%q must not be a node id", s)
		}
	}
}
