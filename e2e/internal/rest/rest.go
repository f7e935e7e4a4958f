// Package rest is a deliberately plain HTTP client for the end-to-end tests: it knows the
// contract's words and nothing of the generated code, so that it sees what a stranger sees.
package rest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Client speaks for one credential. The zero Token is an anonymous caller.
type Client struct {
	Base  string
	Token string
	HTTP  *http.Client
}

// Response is what came back, with the body decoded where it is a JSON object.
type Response struct {
	Status int
	Header http.Header
	Raw    []byte
	JSON   map[string]any
}

// New returns a client with its own connection pool.
func New(base string) *Client {
	return &Client{Base: base, HTTP: &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
}

// As returns the same client with another credential.
func (c *Client) As(token string) *Client { return &Client{Base: c.Base, Token: token, HTTP: c.HTTP} }

// Key returns a fresh idempotency key.
func Key() string { return rand.Text() }

// Do sends body (nil, []byte as it is, or anything as JSON) with the given extra headers as name, value pairs.
func (c *Client) Do(ctx context.Context, method, path string, body any, headers ...string) (*Response, error) {
	var r io.Reader
	switch b := body.(type) {
	case nil:
	case []byte:
		r = bytes.NewReader(b)
	default:
		j, err := json.Marshal(b)
		if err != nil {
			return nil, err
		}
		r = bytes.NewReader(j)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.Base+path, r)
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	out := &Response{Status: resp.StatusCode, Header: resp.Header, Raw: raw}
	_ = json.Unmarshal(raw, &out.JSON) // a body that is no object stays nil: the caller checks Status and Raw
	return out, nil
}

// Post creates something under a fresh idempotency key.
func (c *Client) Post(ctx context.Context, path string, body any) (*Response, error) {
	return c.Do(ctx, http.MethodPost, path, body, "Idempotency-Key", Key())
}

// Get reads something.
func (c *Client) Get(ctx context.Context, path string) (*Response, error) {
	return c.Do(ctx, http.MethodGet, path, nil)
}

// Login returns the client as that person.
func (c *Client) Login(ctx context.Context, email, password string) (*Client, error) {
	r, err := c.Do(ctx, http.MethodPost, "/v1/auth/login", map[string]any{"email": email, "password": password})
	if err != nil {
		return nil, err
	}
	token := r.Str("access_token")
	if r.Status != http.StatusOK || token == "" {
		return nil, fmt.Errorf("login as %s: %d %s", email, r.Status, r.Raw)
	}
	return c.As(token), nil
}

// Signup makes an org and returns the client as its owner, with the org's id.
func (c *Client) Signup(ctx context.Context, email, password, org string) (*Client, string, error) {
	r, err := c.Do(ctx, http.MethodPost, "/v1/auth/signup", map[string]any{"email": email, "password": password, "name": "E2E", "org_name": org})
	if err != nil {
		return nil, "", err
	}
	if r.Status != http.StatusCreated {
		return nil, "", fmt.Errorf("sign up %s: %d %s", email, r.Status, r.Raw)
	}
	return c.As(r.Str("access_token")), r.Str("org", "id"), nil
}

// All reads every page of a list.
func (c *Client) All(ctx context.Context, path string) ([]map[string]any, error) {
	sep, cursor := "?", ""
	for i := range path {
		if path[i] == '?' {
			sep = "&"
		}
	}
	var all []map[string]any
	for {
		p := path + sep + "limit=200"
		if cursor != "" {
			p += "&cursor=" + cursor
		}
		r, err := c.Get(ctx, p)
		if err != nil {
			return nil, err
		}
		if r.Status != http.StatusOK {
			return nil, fmt.Errorf("GET %s: %d %s", p, r.Status, r.Raw)
		}
		var page struct {
			Items []map[string]any `json:"items"`
			Next  *string          `json:"next_cursor"`
		}
		if err := json.Unmarshal(r.Raw, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		if page.Next == nil || *page.Next == "" {
			return all, nil
		}
		if *page.Next == cursor {
			return nil, errors.New("a cursor that does not move: " + cursor)
		}
		cursor = *page.Next
	}
}

// Str digs a string out of nested objects; "" where it is absent.
func (r *Response) Str(path ...string) string { return Str(r.JSON, path...) }

// Str digs a string out of nested objects; "" where it is absent.
func Str(m map[string]any, path ...string) string {
	var v any = m
	for _, p := range path {
		o, ok := v.(map[string]any)
		if !ok {
			return ""
		}
		v = o[p]
	}
	s, _ := v.(string)
	return s
}
