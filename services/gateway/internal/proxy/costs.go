package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/weirhq/weir/pkg/api/commonapi"
)

// Costs says what instances have cost so far.
type Costs interface {
	Costs(ctx context.Context, instances []string) (map[string]commonapi.Money, error)
}

const (
	costsTimeout = time.Second
	maxComposed  = 16 << 20
)

// WithCosts fills cost_so_far into answers that show instances. It is a service of
// another owner than the rest, so an answer without it is better than none.
func WithCosts(costs Costs, log *slog.Logger) func(*http.Response) error {
	return func(resp *http.Response) error {
		if resp.StatusCode >= 300 || !isJSON(resp.Header) {
			return nil
		}
		ctx := resp.Request.Context()
		raw, err := io.ReadAll(io.LimitReader(resp.Body, maxComposed))
		_ = resp.Body.Close() // read to its end
		if err != nil {
			return err
		}
		fresh := resp.StatusCode == http.StatusCreated && resp.Header.Get("Idempotent-Replayed") == ""
		if composed, err := compose(ctx, costs, raw, fresh); err != nil {
			log.WarnContext(ctx, "costs left out", "error", err.Error())
		} else {
			raw = composed
		}
		resp.Body = io.NopCloser(bytes.NewReader(raw))
		resp.ContentLength = int64(len(raw))
		resp.Header.Set("Content-Length", strconv.Itoa(len(raw)))
		return nil
	}
}

func isJSON(h http.Header) bool {
	media, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && media == "application/json"
}

type members = map[string]json.RawMessage

// compose returns the document with costs. fresh says that its instance was made just
// now, so that nothing can have been metered.
func compose(ctx context.Context, costs Costs, raw []byte, fresh bool) ([]byte, error) {
	var doc members
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, err
	}
	instances := []members{doc}
	list, isList := doc["items"]
	if isList {
		if err := json.Unmarshal(list, &instances); err != nil {
			return nil, err
		}
	}
	if err := fill(ctx, costs, instances, fresh); err != nil {
		return nil, err
	}
	if isList {
		var err error
		if doc["items"], err = json.Marshal(instances); err != nil {
			return nil, err
		}
	}
	return json.Marshal(doc)
}

func fill(ctx context.Context, costs Costs, instances []members, fresh bool) error {
	byID := map[string]members{}
	var ids []string
	for _, m := range instances {
		var id string
		if _, has := m["cost_so_far"]; has && json.Unmarshal(m["id"], &id) == nil {
			byID[id] = m
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	if fresh {
		for _, m := range byID {
			if err := setNothing(m); err != nil {
				return err
			}
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, costsTimeout)
	defer cancel()
	known, err := costs.Costs(ctx, ids)
	if err != nil {
		return err
	}
	for id, cost := range known {
		if m := byID[id]; m != nil {
			if m["cost_so_far"], err = json.Marshal(cost); err != nil {
				return err
			}
		}
	}
	return nil
}

// setNothing is the cost of an instance that has not run yet, in its price's currency.
func setNothing(m members) error {
	var price struct{ Currency string }
	if err := json.Unmarshal(m["price"], &price); err != nil || price.Currency == "" {
		return err
	}
	b, err := json.Marshal(commonapi.Money{Amount: "0.000000", Currency: price.Currency})
	m["cost_so_far"] = b
	return err
}
