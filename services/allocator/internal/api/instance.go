package api

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/httpx"
	"github.com/weirhq/weir/services/allocator/internal/api/publicgen"
	"github.com/weirhq/weir/services/allocator/internal/app"
	"github.com/weirhq/weir/services/allocator/internal/domain"
)

const defaultPage = 50

// ListInstances is a page of the org's instances.
func (h public) ListInstances(ctx context.Context, r publicgen.ListInstancesRequestObject) (publicgen.ListInstancesResponseObject, error) {
	who := actor.From(ctx)
	f, err := filter(r.Params.Limit, r.Params.Cursor, r.Params.State, r.Params.Name, r.Params.Label, r.Params.Deleted)
	if err != nil {
		return nil, err
	}
	f.Project = who.Project
	list, err := h.app.List(ctx, who.Org, f)
	if err != nil {
		return nil, err
	}
	list, next := cut(list, f.Limit-1)
	out := publicgen.ListInstances200JSONResponse{Items: []publicgen.Instance{}, NextCursor: next}
	for _, i := range list {
		out.Items = append(out.Items, wireInstance(i))
	}
	return out, nil
}

// AdminListInstances is a page of all orgs' instances.
func (h public) AdminListInstances(ctx context.Context, r publicgen.AdminListInstancesRequestObject) (publicgen.AdminListInstancesResponseObject, error) {
	f, err := filter(r.Params.Limit, r.Params.Cursor, r.Params.State, r.Params.Name, r.Params.Label, r.Params.Deleted)
	if err != nil {
		return nil, err
	}
	f.Org, f.Node = value(r.Params.Org), value(r.Params.Node)
	list, err := h.app.List(ctx, "", f)
	if err != nil {
		return nil, err
	}
	list, next := cut(list, f.Limit-1)
	out := publicgen.AdminListInstances200JSONResponse{Items: []publicgen.AdminInstance{}, NextCursor: next}
	for _, i := range list {
		out.Items = append(out.Items, wireAdmin(i))
	}
	return out, nil
}

// filter reads the parameters of both lists. It asks for one item more than the page, to
// know whether there is another one.
func filter(limit *int, cursor *string, states *[]publicgen.InstanceState, name *string, labels *[]string, deleted *bool) (domain.InstanceFilter, error) {
	f := domain.InstanceFilter{Name: value(name), Deleted: value(deleted), Limit: defaultPage + 1}
	if limit != nil {
		f.Limit = *limit + 1
	}
	for _, s := range value(states) {
		f.States = append(f.States, string(s))
	}
	for _, l := range value(labels) {
		k, v, _ := strings.Cut(l, "=")
		if f.Labels == nil {
			f.Labels = map[string]string{}
		}
		if have, twice := f.Labels[k]; twice && have != v {
			return f, fault.InvalidField("label", "asks for two values of one key")
		}
		f.Labels[k] = v
	}
	parts, err := httpx.ParseCursor(cursor, 2)
	if err != nil || parts == nil {
		return f, err
	}
	at, err := time.Parse(time.RFC3339Nano, parts[0])
	if err != nil {
		return f, fault.InvalidField("cursor", "is not one that we gave out")
	}
	f.Before, f.BeforeID = &at, parts[1]
	return f, nil
}

func cut(list []*domain.Instance, page int) ([]*domain.Instance, *string) {
	if len(list) <= page {
		return list, nil
	}
	last := list[page-1]
	next := httpx.Cursor(last.CreatedAt.Format(time.RFC3339Nano), last.ID)
	return list[:page], &next
}

// GetInstance is one of the org's.
func (h public) GetInstance(ctx context.Context, r publicgen.GetInstanceRequestObject) (publicgen.GetInstanceResponseObject, error) {
	who := actor.From(ctx)
	i, err := h.app.Get(ctx, who.Org, who.Project, r.ID)
	if err != nil {
		return nil, err
	}
	return publicgen.GetInstance200JSONResponse(wireInstance(i)), nil
}

func target(ctx context.Context, id string) app.Target {
	who := actor.From(ctx)
	return app.Target{Org: who.Org, Project: who.Project, ID: id, By: by(who)}
}

// StopInstance stops one of the org's.
func (h public) StopInstance(ctx context.Context, r publicgen.StopInstanceRequestObject) (publicgen.StopInstanceResponseObject, error) {
	i, err := h.app.Stop(ctx, target(ctx, r.ID), false)
	if err != nil {
		return nil, err
	}
	return publicgen.StopInstance202JSONResponse(wireInstance(i)), nil
}

// DeleteInstance stops one of the org's and marks it deleted.
func (h public) DeleteInstance(ctx context.Context, r publicgen.DeleteInstanceRequestObject) (publicgen.DeleteInstanceResponseObject, error) {
	i, err := h.app.Stop(ctx, target(ctx, r.ID), true)
	if err != nil {
		return nil, err
	}
	return publicgen.DeleteInstance202JSONResponse(wireInstance(i)), nil
}

// operatorTarget is any org's instance, whatever org the operator is in.
func operatorTarget(ctx context.Context, id, reason string) app.Target {
	return app.Target{ID: id, By: by(actor.From(ctx)), Reason: reason}
}

// AdminStopInstance stops any.
func (h public) AdminStopInstance(ctx context.Context, r publicgen.AdminStopInstanceRequestObject) (publicgen.AdminStopInstanceResponseObject, error) {
	i, err := h.app.Stop(ctx, operatorTarget(ctx, r.ID, r.Body.Reason), false)
	if err != nil {
		return nil, err
	}
	return publicgen.AdminStopInstance202JSONResponse(wireAdmin(i)), nil
}

// AdminFenceInstance gives up what silent nodes hold of one.
func (h public) AdminFenceInstance(ctx context.Context, r publicgen.AdminFenceInstanceRequestObject) (publicgen.AdminFenceInstanceResponseObject, error) {
	key, err := keyOf(ctx)
	if err != nil {
		return nil, err
	}
	i, err := h.app.Fence(ctx, operatorTarget(ctx, r.ID, r.Body.Reason), key, func(i *domain.Instance) (int, []byte, error) {
		body, err := json.Marshal(wireAdmin(i))
		return http.StatusOK, body, err
	})
	if err != nil {
		return nil, replayed(err)
	}
	return publicgen.AdminFenceInstance200JSONResponse(wireAdmin(i)), nil
}

// ListInstanceEvents is a page of history.
func (h public) ListInstanceEvents(ctx context.Context, r publicgen.ListInstanceEventsRequestObject) (publicgen.ListInstanceEventsResponseObject, error) {
	who, page, after := actor.From(ctx), defaultPage, int64(0)
	if r.Params.Limit != nil {
		page = *r.Params.Limit
	}
	parts, err := httpx.ParseCursor(r.Params.Cursor, 1)
	if err != nil {
		return nil, err
	}
	if parts != nil {
		if after, err = strconv.ParseInt(parts[0], 10, 64); err != nil {
			return nil, fault.InvalidField("cursor", "is not one that we gave out")
		}
	}
	events, err := h.app.Events(ctx, who.Org, who.Project, r.ID, after, page+1)
	if err != nil {
		return nil, err
	}
	out := publicgen.ListInstanceEvents200JSONResponse{Items: []publicgen.InstanceEvent{}}
	if len(events) > page {
		events = events[:page]
		next := httpx.Cursor(strconv.FormatInt(events[page-1].Seq, 10))
		out.NextCursor = &next
	}
	for _, e := range events {
		out.Items = append(out.Items, wireEvent(e))
	}
	return out, nil
}
