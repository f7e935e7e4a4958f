package api

import (
	"context"
	"time"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/httpx"
	"github.com/weirhq/weir/services/metering/internal/api/publicgen"
	"github.com/weirhq/weir/services/metering/internal/domain"
)

// ListPrices is the public price list.
func (h *Public) ListPrices(ctx context.Context, r publicgen.ListPricesRequestObject) (publicgen.ListPricesResponseObject, error) {
	q := domain.PriceQuery{Limit: defaultLimit}
	if r.Params.Limit != nil {
		q.Limit = *r.Params.Limit
	}
	if r.Params.Offering != nil {
		q.Offering = *r.Params.Offering
	}
	if r.Params.Currency != nil {
		q.Currency = *r.Params.Currency
	}
	var err error
	if q.After, err = priceKey(r.Params.Cursor); err != nil {
		return nil, err
	}
	page, more, err := h.app.Prices(ctx, q)
	if err != nil {
		return nil, err
	}
	answer := publicgen.ListPrices200JSONResponse{Items: make([]publicgen.Price, len(page))}
	for i, p := range page {
		answer.Items[i] = publicgen.Price{
			ID: p.ID, Offering: p.Offering, Currency: p.Currency, PerHour: p.PerHour.String(), EffectiveFrom: p.From, EffectiveTo: p.To,
		}
	}
	if more {
		k := page[len(page)-1].Key()
		cursor := httpx.Cursor(k.Offering, k.Currency, k.From.UTC().Format(time.RFC3339Nano))
		answer.NextCursor = &cursor
	}
	return answer, nil
}

func priceKey(cursor *string) (*domain.PriceKey, error) {
	p, err := httpx.ParseCursor(cursor, 3)
	if p == nil || err != nil {
		return nil, err
	}
	at, err := time.Parse(time.RFC3339Nano, p[2])
	if err != nil {
		return nil, fault.InvalidField("cursor", "is not one that we gave out")
	}
	return &domain.PriceKey{Offering: p[0], Currency: p[1], From: at}, nil
}
