package output

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// Page is one or more tables, with an empty line between them.
type Page struct{ tables []*Table }

// Table begins a table; without a header it is a list of names and values.
func (p *Page) Table(header ...string) *Table {
	t := &Table{}
	if len(header) > 0 {
		t.rows = append(t.rows, header)
	}
	p.tables = append(p.tables, t)
	return t
}

func (p *Page) write(w io.Writer) error {
	for i, t := range p.tables {
		if i > 0 {
			if _, err := io.WriteString(w, "\n"); err != nil {
				return err
			}
		}
		if err := t.write(w); err != nil {
			return err
		}
	}
	return nil
}

// Table is rows of cells.
type Table struct{ rows [][]string }

// Row adds a row; cells are written with %v.
func (t *Table) Row(cells ...any) {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = clean(fmt.Sprint(c))
	}
	t.rows = append(t.rows, row)
}

func (t *Table) write(w io.Writer) error {
	var widths []int
	for _, row := range t.rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], cells(c))
		}
	}
	var b strings.Builder
	for _, row := range t.rows {
		var line strings.Builder
		for i, c := range row {
			line.WriteString(c)
			line.WriteString(strings.Repeat(" ", widths[i]-cells(c)+2))
		}
		b.WriteString(strings.TrimRight(line.String(), " "))
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// cells is how many columns of a terminal s takes: a Chinese character takes two.
func cells(s string) int {
	n := 0
	for _, r := range s {
		n++
		if k := width.LookupRune(r).Kind(); k == width.EastAsianWide || k == width.EastAsianFullwidth {
			n++
		}
	}
	return n
}

// clean takes out what could move the cursor or fake lines: names come from others.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return '·'
		}
		return r
	}, s)
}
