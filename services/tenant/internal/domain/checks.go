package domain

import (
	"strconv"

	"github.com/weirhq/weir/pkg/kernel/fault"
)

// checks gathers every refused field of one input, so that its sender learns all at once.
type checks struct{ fields []fault.Field }

func (c *checks) add(err error) {
	if err != nil {
		c.fields = append(c.fields, fault.From(err).Fields...)
	}
}

// text cleans *s in place.
func (c *checks) text(field string, s *string, maxRunes int) {
	clean, err := CleanText(field, *s, maxRunes)
	*s = clean
	c.add(err)
}

// email normalises *s in place.
func (c *checks) email(field string, s *string) {
	clean, err := NormalizeEmail(field, *s)
	*s = clean
	c.add(err)
}

func (c *checks) err() error {
	if len(c.fields) == 0 {
		return nil
	}
	f := fault.InvalidField(c.fields[0].Field, c.fields[0].Message)
	f.Public += "."
	if n := len(c.fields) - 1; n > 0 {
		f.Public += " " + strconv.Itoa(n) + " more in errors."
	}
	f.Fields = c.fields
	return f
}
