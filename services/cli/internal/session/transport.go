package session

import (
	"context"
	"errors"
	"io"
	"net/http"
)

// Transport sends requests with the credential of a deployment.
type Transport struct {
	Next  http.RoundTripper
	Store *Store
	URL   string
	// Token, unless empty, is used as it is instead of a saved login.
	Token string
	// Renew exchanges a refresh token for new ones, by a client without this transport.
	Renew func(ctx context.Context, refreshToken string) (Tokens, error)
}

// RoundTrip adds the access token, renewed if its time has come. A token that was refused
// is renewed once and the request sent again: the server may have ended it early. Without a
// login the request goes as it is, for what needs none.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.Token != "" {
		return t.send(r, t.Token)
	}
	now, err := t.Store.Fresh(r.Context(), t.URL, "", t.Renew)
	if errors.Is(err, ErrNone) {
		return t.Next.RoundTrip(r)
	}
	if err != nil {
		return nil, err
	}
	resp, err := t.send(r, now.AccessToken)
	if err != nil || resp.StatusCode != http.StatusUnauthorized || r.Body != nil && r.GetBody == nil {
		return resp, err
	}
	again, err := t.Store.Fresh(r.Context(), t.URL, now.AccessToken, t.Renew)
	if err != nil {
		resp.Body.Close()
		return nil, err
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<16)) // so that the connection is used again
	resp.Body.Close()
	if r.GetBody != nil {
		r = r.Clone(r.Context())
		if r.Body, err = r.GetBody(); err != nil {
			return nil, err
		}
	}
	return t.send(r, again.AccessToken)
}

func (t *Transport) send(r *http.Request, token string) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+token)
	return t.Next.RoundTrip(r)
}
