package httpx

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/weirhq/weir/pkg/kernel/fault"
)

// maxDepth bounds how deep a body nests.
const maxDepth = 64

// checkBody reads the body, checks it, and puts it back for the handler.
func (o *operation) checkBody(r *http.Request) ([]byte, []fault.Field, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, o.missingBody(), nil
	}
	raw, err := io.ReadAll(r.Body)
	var tooBig *http.MaxBytesError
	switch {
	case errors.As(err, &tooBig):
		return nil, nil, tooLarge()
	case err != nil:
		return nil, nil, fault.Wrap(fault.Invalid, "The request body broke off.", err)
	}
	r.Body = io.NopCloser(bytes.NewReader(raw))
	trimmed := bytes.TrimSpace(raw)
	switch {
	case len(trimmed) == 0:
		return raw, o.missingBody(), nil
	case o.body == nil && string(trimmed) == "{}":
		return raw, nil, nil // clients that always send JSON
	case o.body == nil:
		return nil, []fault.Field{{Field: "body", Message: "must be empty: this operation takes none"}}, nil
	}
	if f := jsonHeaders(r.Header); f != nil {
		return nil, f, nil
	}
	value, f := decode(trimmed)
	if f != nil {
		return nil, []fault.Field{*f}, nil
	}
	return raw, schemaFields("", o.body, dropNulls(o.body, value)), nil
}

func (o *operation) missingBody() []fault.Field {
	if o.needsBody {
		return []fault.Field{{Field: "body", Message: "is required"}}
	}
	return nil
}

// jsonHeaders takes JSON, said or unsaid, and nothing else.
func jsonHeaders(h http.Header) []fault.Field {
	if ct := h.Get("Content-Type"); ct != "" {
		if media, _, err := mime.ParseMediaType(ct); err != nil || media != "application/json" {
			return []fault.Field{{Field: "Content-Type", Message: "must be application/json"}}
		}
	}
	if ce := h.Get("Content-Encoding"); ce != "" && ce != "identity" {
		return []fault.Field{{Field: "Content-Encoding", Message: "is not supported: send the body as it is"}}
	}
	return nil
}

// decode reads one JSON value strictly: no duplicate keys, no text after it, valid UTF-8
// without NUL. Numbers stay as they were written.
func decode(raw []byte) (any, *fault.Field) {
	if !utf8.Valid(raw) {
		return nil, &fault.Field{Field: "body", Message: "is not valid UTF-8"}
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	v, err := decodeValue(d, "", 0)
	if err == nil {
		if _, end := d.Token(); !errors.Is(end, io.EOF) {
			err = errors.New("more than one value")
		}
	}
	var f fieldError
	switch {
	case errors.As(err, &f):
		return nil, &fault.Field{Field: f.Field, Message: f.Message}
	case err != nil:
		return nil, &fault.Field{Field: "body", Message: fmt.Sprintf("is not valid JSON (near byte %d)", d.InputOffset())}
	}
	return v, nil
}

type fieldError fault.Field

func (e fieldError) Error() string { return e.Field + " " + e.Message }

func decodeValue(d *json.Decoder, path string, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fieldError{"body", "nests too deep"}
	}
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case string:
		if !cleanText(t) {
			return nil, fieldError{orBody(path), "must not contain the character U+0000"}
		}
		return t, nil
	case json.Delim:
		if t == '{' {
			return decodeObject(d, path, depth)
		}
		list := []any{}
		for d.More() {
			v, err := decodeValue(d, path+"["+strconv.Itoa(len(list))+"]", depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := d.Token()
		return list, err
	}
	return t, nil
}

func decodeObject(d *json.Decoder, path string, depth int) (any, error) {
	object := map[string]any{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		key, _ := t.(string) // the decoder accepts nothing else here
		at := join(path, key)
		if !cleanText(key) {
			return nil, fieldError{orBody(path), "has a name with the character U+0000"}
		}
		if _, twice := object[key]; twice {
			return nil, fieldError{at, "is given twice"}
		}
		if object[key], err = decodeValue(d, at, depth+1); err != nil {
			return nil, err
		}
	}
	_, err := d.Token()
	return object, err
}

// dropNulls removes nulls of optional fields that are not nullable: absent and null say
// the same, except where a document gives null a meaning of its own.
func dropNulls(s *openapi3.Schema, v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, p := range s.Properties {
			value, present := v[name]
			switch {
			case !present:
			case value != nil:
				dropNulls(p.Value, value)
			case !p.Value.Nullable && !contains(s.Required, name):
				delete(v, name)
			}
		}
	case []any:
		if s.Items != nil {
			for _, item := range v {
				dropNulls(s.Items.Value, item)
			}
		}
	}
	return v
}

func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}
