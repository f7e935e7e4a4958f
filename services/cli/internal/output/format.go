package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"gopkg.in/yaml.v3"
)

// Format is how data is written. It is a flag's value.
type Format string

// The formats.
const (
	AsTable Format = "table"
	AsJSON  Format = "json"
	AsYAML  Format = "yaml"
)

// String is the flag's value.
func (f *Format) String() string { return string(*f) }

// Set refuses what is no format.
func (f *Format) Set(s string) error {
	switch Format(s) {
	case AsTable, AsJSON, AsYAML:
		*f = Format(s)
		return nil
	}
	return fmt.Errorf("must be table, json or yaml")
}

// Type names the value in help.
func (f *Format) Type() string { return "format" }

// Write writes v; table says how it looks as tables.
func (f Format) Write(w io.Writer, v any, table func(p *Page)) error {
	switch f {
	case AsJSON:
		b, err := marshal(v)
		if err != nil {
			return err
		}
		_, err = w.Write(b)
		return err
	case AsYAML:
		return writeYAML(w, v)
	}
	p := &Page{}
	table(p)
	return p.write(w)
}

func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("write JSON: %w", err)
	}
	return b.Bytes(), nil
}

// writeYAML goes through JSON, so that names and order are those of the API.
func writeYAML(w io.Writer, v any) error {
	b, err := marshal(v)
	if err != nil {
		return err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(b, &doc); err != nil {
		return fmt.Errorf("write YAML: %w", err)
	}
	block(&doc)
	var text bytes.Buffer // the encoder hides the errors of its writer
	e := yaml.NewEncoder(&text)
	e.SetIndent(2)
	if err := e.Encode(&doc); err != nil {
		return fmt.Errorf("write YAML: %w", err)
	}
	if err := e.Close(); err != nil {
		return fmt.Errorf("write YAML: %w", err)
	}
	_, err = w.Write(text.Bytes())
	return err
}

// oldTruth is text that YAML 1.1 takes for a truth value.
var oldTruth = map[string]bool{"y": true, "n": true, "yes": true, "no": true, "on": true, "off": true}

// block takes JSON's brackets and quotes off; quotes come back where YAML needs them, and
// stay where older readers of YAML do.
func block(n *yaml.Node) {
	if len(n.Content) > 0 || n.Kind == yaml.ScalarNode && !oldTruth[strings.ToLower(n.Value)] {
		n.Style = 0
	}
	for _, c := range n.Content {
		block(c)
	}
}
