// Package call owns how commands call the deployment: its generated clients, reading every
// page of a list, and turning answers that are problems into errors.
package call

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"github.com/weirhq/weir/pkg/api/allocatorapi"
	"github.com/weirhq/weir/pkg/api/gatewayapi"
	"github.com/weirhq/weir/pkg/api/inventoryapi"
	"github.com/weirhq/weir/pkg/api/meteringapi"
	"github.com/weirhq/weir/pkg/api/tenantapi"
	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kit/problem"
	"github.com/weirhq/weir/services/cli/internal/failure"
)

// patience is how long an answer may take. Streams are not bound by it.
const patience = time.Minute

// Client is the deployment's API as one credential sees it.
type Client struct {
	URL       string
	Tenant    *tenantapi.ClientWithResponses
	Allocator *allocatorapi.ClientWithResponses
	Inventory *inventoryapi.ClientWithResponses
	Metering  *meteringapi.ClientWithResponses
	Gateway   *gatewayapi.ClientWithResponses
	// Stream is for answers that go on: it has no time limit.
	Stream *gatewayapi.Client
}

// New returns the clients of the deployment at base.
func New(base string, transport http.RoundTripper) (*Client, error) {
	bounded, endless := doer{&http.Client{Transport: transport, Timeout: patience}}, doer{&http.Client{Transport: transport}}
	c := &Client{URL: base}
	var errs [6]error
	c.Tenant, errs[0] = tenantapi.NewClientWithResponses(base, tenantapi.WithHTTPClient(bounded))
	c.Allocator, errs[1] = allocatorapi.NewClientWithResponses(base, allocatorapi.WithHTTPClient(bounded))
	c.Inventory, errs[2] = inventoryapi.NewClientWithResponses(base, inventoryapi.WithHTTPClient(bounded))
	c.Metering, errs[3] = meteringapi.NewClientWithResponses(base, meteringapi.WithHTTPClient(bounded))
	c.Gateway, errs[4] = gatewayapi.NewClientWithResponses(base, gatewayapi.WithHTTPClient(bounded))
	c.Stream, errs[5] = gatewayapi.NewClient(base, gatewayapi.WithHTTPClient(endless))
	return c, errors.Join(errs[:]...)
}

// doer makes every answer that is a problem an error, so that no command can forget to look.
type doer struct{ client *http.Client }

// Do sends a request.
func (d doer) Do(r *http.Request) (*http.Response, error) {
	resp, err := d.client.Do(r)
	if err != nil {
		return nil, unreachable(err)
	}
	err = problem.Read(resp)
	if err == nil {
		return resp, nil
	}
	resp.Body.Close()
	var f *fault.Error
	if errors.As(err, &f) {
		if f.Code == fault.Internal && resp.StatusCode < http.StatusInternalServerError {
			return nil, errNoAPI // no problem of ours
		}
		return nil, &failure.Refusal{Fault: f, RequestID: resp.Header.Get("X-Request-Id")}
	}
	return nil, err
}

var errNoAPI = errors.New("the answer is not that of a Weir API: is the URL right?")

// Body is the decoded body of an answer; an answer without it is no API's.
func Body[T any](body *T, err error) (*T, error) {
	if err == nil && body == nil {
		err = errNoAPI
	}
	return body, err
}

// unreachable says in words why there was no answer.
func unreachable(err error) error {
	var f *fault.Error
	if errors.As(err, &f) || errors.Is(err, context.Canceled) {
		return err
	}
	var u *url.Error
	if !errors.As(err, &u) {
		return err
	}
	base := u.URL
	if parsed, perr := url.Parse(u.URL); perr == nil {
		base = parsed.Scheme + "://" + parsed.Host
	}
	why := u.Err
	var op *net.OpError
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return fault.Wrap(fault.Unavailable, fmt.Sprintf("Nothing answers at %s. Is it running? Another address: WEIR_URL or --url.", base), err)
	case u.Timeout():
		return fault.Wrap(fault.Unavailable, fmt.Sprintf("%s did not answer in time.", base), err)
	case errors.As(err, &op):
		why = op
	}
	return fault.Wrap(fault.Unavailable, fmt.Sprintf("Cannot reach %s: %v.", base, why), err)
}

// All reads every page of a list.
func All[T any](page func(cursor *string) (items []T, next *string, err error)) ([]T, error) {
	all := []T{}
	var cursor *string
	for {
		items, next, err := page(cursor)
		if err != nil {
			return nil, err
		}
		all = append(all, items...)
		if next == nil || *next == "" {
			return all, nil
		}
		if cursor != nil && *cursor == *next {
			return nil, errors.New("the server gave the same page twice")
		}
		cursor = next
	}
}

// PageSize is how many items a page holds.
var PageSize = 200
