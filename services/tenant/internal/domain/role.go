package domain

import (
	"github.com/weirhq/weir/pkg/kernel/actor"
)

// covered lists what each role may hand on. billing and developer stand side by side.
var covered = map[actor.Role][]actor.Role{
	actor.Owner:     {actor.Owner, actor.Admin, actor.Developer, actor.Billing, actor.Viewer},
	actor.Admin:     {actor.Admin, actor.Developer, actor.Billing, actor.Viewer},
	actor.Developer: {actor.Developer, actor.Viewer},
	actor.Billing:   {actor.Billing, actor.Viewer},
	actor.Viewer:    {actor.Viewer},
}

// Covers reports whether a holder of role a may do everything role b may.
func Covers(a, b actor.Role) bool {
	for _, r := range covered[a] {
		if r == b {
			return true
		}
	}
	return false
}

// Meet is the most that both roles allow: what a key can do whose creator was demoted.
func Meet(a, b actor.Role) actor.Role {
	switch {
	case Covers(a, b):
		return b
	case Covers(b, a):
		return a
	}
	return actor.Viewer
}
