package domain

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kernel/id"
	"github.com/weirhq/weir/pkg/kernel/money"
)

// CreateInput is what somebody asks for. Absent numbers mean the offering's own.
type CreateInput struct {
	Org, Project, Name string
	Offerings          []string // any of them, the earlier the better
	List               bool     // they came as a list
	Count              int      // cards, all on one node
	VCPUsMilli         *int64
	RAMMiB             *int64
	Image              string
	Command            []string
	Env                map[string]string
	EnvSealed          []byte
	Labels             map[string]string
	MaxPerHour         *money.Micro // of the whole instance
	MaxCurrency        string       // "" is the org's
	By                 Actor
}

var (
	envName  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,254}$`)
	labelKey = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._/-]{0,61}[A-Za-z0-9])?$`)
)

// maxEnv bounds the environment and the command together, well below what a kernel takes.
const maxEnv = 256 << 10

// Validate names every field that cannot be served as it was asked.
func (in CreateInput) Validate() error {
	var fields []fault.Field
	refuse := func(field, message string) { fields = append(fields, fault.Field{Field: field, Message: message}) }
	if strings.TrimSpace(in.Name) == "" || strings.ContainsFunc(in.Name, unicode.IsControl) {
		refuse("name", "must not be blank or contain control characters")
	}
	in.validateOfferings(refuse)
	if in.Image != "" {
		if err := checkImage(in.Image); err != nil {
			refuse("image", err.Error())
		}
	}
	size := 0
	for i, c := range in.Command {
		if size += len(c); strings.ContainsRune(c, 0) {
			refuse(fmt.Sprintf("command[%d]", i), "must not contain a NUL")
		}
	}
	for k, v := range in.Env {
		size += len(k) + len(v)
		switch {
		case !envName.MatchString(k):
			refuse("env", fmt.Sprintf("%q cannot be the name of a variable", shorten(k)))
		case k == "CUDA_VISIBLE_DEVICES" || k == "NVIDIA_VISIBLE_DEVICES" || strings.HasPrefix(k, "WEIR_"):
			refuse("env."+k, "is set by the platform")
		case strings.ContainsRune(v, 0):
			refuse("env."+k, "must not contain a NUL")
		}
	}
	if size > maxEnv {
		refuse("env", "is too large together with the command")
	}
	for k := range in.Labels {
		if !labelKey.MatchString(k) {
			refuse("labels", fmt.Sprintf("%q cannot be a key", shorten(k)))
		}
	}
	return Invalid(fields)
}

func (in CreateInput) validateOfferings(refuse func(field, message string)) {
	if len(in.Offerings) == 0 {
		refuse("offering", "is required, or offerings")
	}
	seen := map[string]bool{}
	for i, o := range in.Offerings {
		if seen[o] {
			refuse(in.field(i), "is named twice")
		}
		seen[o] = true
	}
}

// field is where the i-th offering was named.
func (in CreateInput) field(i int) string {
	if in.List {
		return fmt.Sprintf("offerings[%d]", i)
	}
	return "offering"
}

// Invalid joins refused fields into one fault; nil when there are none.
func Invalid(fields []fault.Field) error {
	if len(fields) == 0 {
		return nil
	}
	f := fault.InvalidField(fields[0].Field, fields[0].Message)
	f.Fields = fields
	if n := len(fields) - 1; n > 0 {
		f.Public += fmt.Sprintf(", and %d more in errors", n)
	}
	f.Public += "."
	return f
}

func shorten(s string) string {
	if r := []rune(s); len(r) > 64 {
		return string(r[:64]) + "…"
	}
	return s
}

// ResolveProject fills in the org's default project, and refuses one that is not the org's.
// Until an org has more than that one, it is the only one there is.
func (in *CreateInput) ResolveProject(o Org) error {
	switch {
	case in.Project == "":
		in.Project = o.Project
	case o.Project != "" && in.Project != o.Project, !id.Valid(id.Project, in.Project):
		return fault.InvalidField("project", "is not a project of your org")
	}
	return nil
}
