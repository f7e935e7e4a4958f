package domain

import (
	"context"
	"time"

	"github.com/weirhq/weir/pkg/kernel/actor"
)

// Store opens transactions. There are three kinds; each sees and can do no more than the
// caller it is for. A change of an org or its limits is published to the service's feeds
// by the transaction itself.
type Store interface {
	// InOrg sees the rows of one org and nothing else.
	InOrg(ctx context.Context, org string, fn func(tx OrgTx) error) error
	// AsOperator sees every org, but no account or session.
	AsOperator(ctx context.Context, fn func(tx OperatorTx) error) error
	// AtDoor is for the time before the caller's org is known.
	AtDoor(ctx context.Context, fn func(tx DoorTx) error) error
}

// OnceTx makes a write idempotent inside its own transaction.
type OnceTx interface {
	// Claim comes first. It returns the stored answer as an error when the request is a repetition.
	Claim(ctx context.Context) error
	// Remember stores the answer, without its secrets, for repetitions.
	Remember(ctx context.Context, status int, answer any) error
}

// OrgTx is a transaction on behalf of one org.
type OrgTx interface {
	OnceTx
	Org() (Org, error)
	// LockOrg is Org, held until the transaction ends.
	LockOrg() (Org, error)
	SaveOrg(o Org) error
	Limits() (Limits, error)
	Projects(p Page) ([]Project, error)
	Project(id string) (Project, error)
	Role(account string) (actor.Role, error)
	Keys(f KeyFilter, p Page) ([]APIKey, error)
	Key(id string) (APIKey, error)
	// LockKey is Key, held until the transaction ends.
	LockKey(id string) (APIKey, error)
	AddKey(k APIKey) error
	SaveKey(k APIKey) error
	RevokeKey(id string, at time.Time) error
}

// OperatorTx is a transaction of the platform's operator.
type OperatorTx interface {
	Orgs(p Page) ([]OrgWithLimits, error)
	OrgWithLimits(id string) (OrgWithLimits, error)
	// LockOrgWithLimits is OrgWithLimits, held until the transaction ends.
	LockOrgWithLimits(id string) (OrgWithLimits, error)
	SaveOrg(o Org) error
	SaveLimits(l Limits) error
}

// DoorTx is a transaction of sign-up, login, refresh, authentication and bootstrap.
type DoorTx interface {
	OnceTx
	AccountByEmail(email string) (Account, error)
	Account(id string) (Account, error)
	AddAccount(a Account) error
	// HoldAccount is Account, kept from changing until the transaction ends.
	HoldAccount(id string) (Account, error)
	SetPassword(account, hash string) error
	// AddOrg adds an org with its default project and its limits.
	AddOrg(o Org, p Project, l Limits) error
	AddMembership(m Membership) error
	// Membership is the person's place in an org; NotFound for one who has none.
	Membership(account string) (Membership, error)
	OrgAndDefaultProject(org string) (Org, Project, error)

	AddSession(s Session, t RefreshToken) error
	Session(id string) (LiveSession, error)
	// EndSession ends a session that still lives and reports whether it did.
	EndSession(id, reason string, at time.Time) (bool, error)
	EndSessionsOf(account, reason string, at time.Time) error
	// LockRefreshToken returns the token, held until the transaction ends; busy when
	// another request holds it at this moment.
	LockRefreshToken(hash [32]byte) (t RefreshToken, busy bool, err error)
	Rotate(used RefreshToken, next RefreshToken) error

	KeyByHash(hash [32]byte) (LiveKey, error)
	TouchKey(id string, at time.Time) error
}

// Passwords hashes and checks passwords, a few at a time.
type Passwords interface {
	Hash(ctx context.Context, password string) (string, error)
	Check(ctx context.Context, password, hash string) (bool, error)
	// CheckNothing takes as long as Check, for an account that does not exist.
	CheckNothing(ctx context.Context, password string) error
}

// AccessClaims is what an access token says.
type AccessClaims struct {
	Account   string
	Session   string
	Org       string
	Role      actor.Role
	Operator  bool
	ExpiresAt time.Time
}

// Tokens signs and verifies access tokens.
type Tokens interface {
	Sign(c AccessClaims, issuedAt time.Time) (string, error)
	// Verify answers Unauthenticated for anything that is not a valid token of ours.
	Verify(token string) (AccessClaims, error)
}

// Guesses limits how many passwords may be tried.
type Guesses interface {
	// Take counts one try against the account, the address and all together, or refuses
	// it as RateLimited. refund takes a try back that turned out not to be a guess.
	Take(ctx context.Context, email, address string) (refund func(), err error)
}

// Enforcer is who enforces what this service publishes.
type Enforcer interface {
	// Sync returns once the enforcer has applied the feed up to now.
	Sync(ctx context.Context, feed string) error
}

// The feeds this service publishes.
const (
	FeedOrgs   = "orgs"
	FeedLimits = "limits"
)
