package api

import (
	"github.com/weirhq/weir/pkg/kit/httpx"
	"github.com/weirhq/weir/services/inventory/internal/domain"
)

// defaultLimit is how many items a page holds unless the caller says.
const defaultLimit = 50

// page reads what a request says of its page; keys is how many the list is sorted by.
func page(limit *int, cursor *string, keys int) (domain.Page, error) {
	after, err := httpx.ParseCursor(cursor, keys)
	p := domain.Page{Limit: defaultLimit, After: after}
	if limit != nil {
		p.Limit = *limit
	}
	return p, err
}

// more asks for one row beyond the page: that there is one says that there is a next page.
func more(p domain.Page) domain.Page {
	p.Limit++
	return p
}

func cursor(keys ...string) *string {
	c := httpx.Cursor(keys...)
	return &c
}

func etag(version int64) *string {
	e := httpx.ETag(version)
	return &e
}
