package domain

import (
	"time"
	"unicode/utf8"

	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kernel/fault"
)

// The bounds of a password, in characters.
const (
	MinPassword = 10
	MaxPassword = 200
)

// Account is a person, or an operator of the platform.
type Account struct {
	ID           string
	Email        string
	Name         string
	PasswordHash string
	Operator     bool
	Disabled     bool
	CreatedAt    time.Time
}

// Membership is a person's place in an org.
type Membership struct {
	Org       string
	Account   string
	Role      actor.Role
	CreatedAt time.Time
}

// CheckPassword refuses a password that may not be set. Any character is welcome.
func CheckPassword(field, password string) error {
	switch n := utf8.RuneCountInString(password); {
	case n < MinPassword:
		return fault.InvalidField(field, "must have at least 10 characters")
	case n > MaxPassword:
		return fault.InvalidField(field, "must have at most 200 characters")
	}
	return nil
}
