package httpx

import (
	"net/http"
	"net/url"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/weirhq/weir/pkg/kernel/fault"
)

// maxFields bounds how many refused fields one problem lists.
const maxFields = 20

// check returns the body of a request that is what its document says.
func (o *operation) check(r *http.Request) ([]byte, error) {
	fields := o.checkQuery(r)
	for _, p := range o.params {
		if p.In == openapi3.ParameterInHeader {
			fields = append(fields, checkHeader(p, r.Header.Values(p.Name))...)
		}
	}
	raw, bodyFields, err := o.checkBody(r)
	if err != nil {
		return nil, err
	}
	if fields = append(fields, bodyFields...); len(fields) == 0 {
		return raw, nil
	}
	return nil, invalid(fields)
}

// invalid is the fault that names the fields, in a stable order.
func invalid(fields []fault.Field) error {
	sort.SliceStable(fields, func(i, j int) bool { return fields[i].Field < fields[j].Field })
	f := fault.InvalidField(fields[0].Field, fields[0].Message)
	if fields[0].Field == "body" || fields[0].Field == "query" {
		f.Public = "The " + f.Public
	}
	f.Public += "."
	if n := len(fields) - 1; n > 0 {
		f.Public += " " + strconv.Itoa(n) + " more in errors."
	}
	f.Fields = fields[:min(len(fields), maxFields)]
	return f
}

func (o *operation) checkQuery(r *http.Request) (fields []fault.Field) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return []fault.Field{{Field: "query", Message: "is not a well-formed query string"}}
	}
	for name := range values {
		if !o.query[name] {
			fields = append(fields, fault.Field{Field: shorten(name), Message: "is not a known query parameter"})
		}
	}
	for _, p := range o.params {
		if p.In != openapi3.ParameterInQuery {
			continue
		}
		given, present := values[p.Name]
		if !present {
			if p.Required {
				fields = append(fields, fault.Field{Field: p.Name, Message: "is required"})
			}
			continue
		}
		fields = append(fields, checkParam(p, given)...)
	}
	return fields
}

// checkHeader is stricter than a body's text: what headers carry ends up in keys and logs.
func checkHeader(p *openapi3.Parameter, given []string) []fault.Field {
	if len(given) == 0 {
		if p.Required {
			return []fault.Field{{Field: p.Name, Message: "is required"}}
		}
		return nil
	}
	for _, b := range []byte(strings.Join(given, "")) {
		if b < ' ' || b > '~' {
			return []fault.Field{{Field: p.Name, Message: "must be printable ASCII"}}
		}
	}
	return checkParam(p, given)
}

func checkParam(p *openapi3.Parameter, given []string) []fault.Field {
	if p.Schema == nil {
		return nil
	}
	s := p.Schema.Value
	if s.Type.Is(openapi3.TypeArray) {
		if p.Explode != nil && !*p.Explode {
			given = strings.Split(strings.Join(given, ","), ",")
		}
		list := make([]any, len(given))
		for i, g := range given {
			v, problem := scalar(s.Items.Value, g)
			if problem != "" {
				return []fault.Field{{Field: p.Name + "[" + strconv.Itoa(i) + "]", Message: problem}}
			}
			list[i] = v
		}
		return schemaFields(p.Name, s, list)
	}
	if len(given) > 1 {
		return []fault.Field{{Field: p.Name, Message: "was given more than once"}}
	}
	v, problem := scalar(s, given[0])
	if problem != "" {
		return []fault.Field{{Field: p.Name, Message: problem}}
	}
	return schemaFields(p.Name, s, v)
}

// scalar reads the text of a parameter as its schema's type.
func scalar(s *openapi3.Schema, text string) (value any, problem string) {
	if !cleanText(text) {
		return nil, "contains characters that are not text"
	}
	switch {
	case s.Type.Is(openapi3.TypeInteger):
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, "must be a whole number"
		}
		return float64(n), ""
	case s.Type.Is(openapi3.TypeNumber):
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || n-n != 0 { // infinities and NaN
			return nil, "must be a number"
		}
		return n, ""
	case s.Type.Is(openapi3.TypeBoolean):
		if text != "true" && text != "false" {
			return nil, "must be true or false"
		}
		return text == "true", ""
	}
	return text, ""
}

// cleanText reports whether s is text that a database takes.
func cleanText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// shorten bounds names that callers made up before they are repeated to them.
func shorten(name string) string {
	name = strings.ToValidUTF8(name, "?")
	if r := []rune(name); len(r) > 64 {
		return string(r[:64]) + "…"
	}
	return name
}
