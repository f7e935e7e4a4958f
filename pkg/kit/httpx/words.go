package httpx

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/weirhq/weir/pkg/kernel/fault"
)

// schemaFields checks v against s and says what is wrong in words of our own: the
// library's tell of schemas, and may repeat values. root is the name of v itself.
func schemaFields(root string, s *openapi3.Schema, v any) []fault.Field {
	err := s.VisitJSON(v, openapi3.MultiErrors(), openapi3.VisitAsRequest())
	if err == nil {
		return nil
	}
	var fields []fault.Field
	var walk func(error)
	walk = func(err error) {
		switch e := err.(type) { //nolint:errorlint // the tree itself, not what its leaves wrap
		case openapi3.MultiError:
			for _, part := range e {
				walk(part)
			}
		case *openapi3.SchemaError:
			fields = append(fields, schemaField(root, e))
		default:
			fields = append(fields, fault.Field{Field: orBody(root), Message: "is not valid"})
		}
	}
	walk(err)
	return fields
}

func schemaField(root string, e *openapi3.SchemaError) fault.Field {
	at := root
	for _, part := range e.JSONPointer() {
		if _, err := strconv.Atoi(part); err == nil {
			at += "[" + part + "]"
		} else {
			at = join(at, part)
		}
	}
	if e.SchemaField == "properties" {
		if q := strings.TrimSuffix(strings.TrimPrefix(e.Reason, "property "), " is unsupported"); q != e.Reason {
			if name, err := strconv.Unquote(q); err == nil {
				return fault.Field{Field: join(at, name), Message: "is not a known field"}
			}
		}
	}
	return fault.Field{Field: orBody(at), Message: words(e)}
}

// words says what a schema asks for. A schema may bring its own sentence as x-message.
func words(e *openapi3.SchemaError) string {
	s := e.Schema
	if own, ok := s.Extensions["x-message"].(string); ok && e.SchemaField != "type" && e.SchemaField != "required" {
		return own
	}
	switch e.SchemaField {
	case "required":
		return "is required"
	case "nullable":
		return "must not be null"
	case "type":
		return "must be " + typeWords(s)
	case "enum":
		return "must be one of " + enumWords(s.Enum)
	case "minLength":
		if s.MinLength == 1 {
			return "must not be empty"
		}
		return fmt.Sprintf("must have at least %d characters", s.MinLength)
	case "maxLength":
		return fmt.Sprintf("must have at most %d characters", *s.MaxLength)
	case "pattern":
		return "must match " + s.Pattern
	case "format":
		return "must be " + formatWords(s.Format)
	case "minimum":
		return "must be at least " + number(*s.Min)
	case "maximum":
		return "must be at most " + number(*s.Max)
	case "exclusiveMinimum":
		return "must be more than " + bound(s.Min)
	case "exclusiveMaximum":
		return "must be less than " + bound(s.Max)
	case "multipleOf":
		return "must be a multiple of " + number(*s.MultipleOf)
	case "minItems":
		return fmt.Sprintf("must have at least %d entries", s.MinItems)
	case "maxItems":
		return fmt.Sprintf("must have at most %d entries", *s.MaxItems)
	case "uniqueItems":
		return "must not have an entry twice"
	case "minProperties":
		return fmt.Sprintf("must have at least %d fields", s.MinProps)
	case "maxProperties":
		return fmt.Sprintf("must have at most %d fields", *s.MaxProps)
	case "readOnly":
		return "cannot be set"
	}
	return "does not have one of the described forms"
}

func typeWords(s *openapi3.Schema) string {
	switch {
	case s.Type.Is(openapi3.TypeString):
		return "text"
	case s.Type.Is(openapi3.TypeInteger):
		return "a whole number"
	case s.Type.Is(openapi3.TypeNumber):
		return "a number"
	case s.Type.Is(openapi3.TypeBoolean):
		return "true or false"
	case s.Type.Is(openapi3.TypeArray):
		return "a list"
	}
	return "an object"
}

func formatWords(format string) string {
	switch format {
	case "date-time":
		return "an RFC 3339 time such as 2026-01-31T12:00:00Z"
	case "date":
		return "a date such as 2026-01-31"
	case "int32", "int64":
		return "in range"
	}
	return "a valid " + format
}

func enumWords(values []any) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = fmt.Sprint(v)
	}
	return strings.Join(words, ", ")
}

func bound(f *float64) string {
	if f == nil {
		return "the bound"
	}
	return number(*f)
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// join writes a.b, with made-up names cut short.
func join(path, name string) string {
	name = shorten(name)
	if path == "" {
		return name
	}
	return path + "." + name
}

func orBody(path string) string {
	if path == "" {
		return "body"
	}
	return path
}
