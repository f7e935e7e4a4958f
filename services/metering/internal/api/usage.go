package api

import (
	"context"
	"encoding/json"
	"time"

	"github.com/weirhq/weir/pkg/api/commonserver"
	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kernel/money"
	"github.com/weirhq/weir/pkg/kit/httpx"
	"github.com/weirhq/weir/services/metering/internal/api/publicgen"
	"github.com/weirhq/weir/services/metering/internal/app"
	"github.com/weirhq/weir/services/metering/internal/rate"
)

// defaultLimit is how many items a page holds when nobody says.
const defaultLimit = 50

// ListUsage reports what the caller's org used.
func (h *Public) ListUsage(ctx context.Context, r publicgen.ListUsageRequestObject) (publicgen.ListUsageResponseObject, error) {
	in := app.UsageInput{From: r.Params.From, To: r.Params.To, Step: rate.Day, Limit: defaultLimit}
	if r.Params.Granularity != nil {
		in.Step = rate.Step(*r.Params.Granularity)
	}
	if r.Params.Limit != nil {
		in.Limit = *r.Params.Limit
	}
	if r.Params.GroupBy != nil {
		in.By = grouping(*r.Params.GroupBy)
	}
	var err error
	if in.After, err = usageKey(r.Params.Cursor); err != nil {
		return nil, err
	}
	rows, more, err := h.app.Usage(ctx, in)
	if err != nil {
		return nil, err
	}
	answer := publicgen.ListUsage200JSONResponse{Items: make([]publicgen.UsageRow, len(rows))}
	for i, row := range rows {
		answer.Items[i] = usageRow(row, in.By)
	}
	if more {
		k := rows[len(rows)-1].Key
		cursor := httpx.Cursor(k.Start.UTC().Format(time.RFC3339Nano), k.Currency, k.Project, k.Offering, k.Instance)
		answer.NextCursor = &cursor
	}
	return answer, nil
}

func grouping(names []publicgen.ListUsageParamsGroupBy) (by rate.Grouping) {
	for _, n := range names {
		switch n {
		case publicgen.Project:
			by.Project = true
		case publicgen.Offering:
			by.Offering = true
		case publicgen.Instance:
			by.Instance = true
		}
	}
	return by
}

func usageKey(cursor *string) (*rate.Key, error) {
	p, err := httpx.ParseCursor(cursor, 5)
	if p == nil || err != nil {
		return nil, err
	}
	at, err := time.Parse(time.RFC3339Nano, p[0])
	if err != nil {
		return nil, fault.InvalidField("cursor", "is not one that we gave out")
	}
	return &rate.Key{Start: at, Currency: p[1], Group: rate.Group{Project: p[2], Offering: p[3], Instance: p[4]}}, nil
}

func usageRow(r app.UsageRow, by rate.Grouping) publicgen.UsageRow {
	return publicgen.UsageRow{
		Start: r.Start.UTC(), End: r.End.UTC(),
		Project: shown(by.Project, r.Project), Offering: shown(by.Offering, r.Offering), Instance: shown(by.Instance, r.Instance),
		Seconds: json.Number(rate.Seconds(r.Ms)), CardSeconds: json.Number(rate.Seconds(r.CardMs)), GpueSeconds: json.Number(rate.GPUeSeconds(r.GPUe)),
		Cost: amount(r.Cost, r.Currency), CostMsMicro: r.Cost.String(), Provisional: r.Provisional,
	}
}

func amount(cost money.MsMicro, currency string) commonserver.Money {
	return commonserver.Money{Amount: cost.Micro().String(), Currency: currency}
}

// shown is a group's value where rows tell it apart and it has one.
func shown(grouped bool, value string) *string {
	if !grouped || value == "" {
		return nil
	}
	return &value
}
