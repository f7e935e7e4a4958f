package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/pkg/kernel/id"
	"github.com/weirhq/weir/pkg/kit/clock"
	"github.com/weirhq/weir/pkg/kit/pg"
	"github.com/weirhq/weir/pkg/testkit/pgtest"
	"github.com/weirhq/weir/services/tenant/internal/domain"
	"github.com/weirhq/weir/services/tenant/internal/store"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

type bundle struct {
	*store.Store
	api, work *pg.DB
	published int
}

// setup opens pools of one connection each: whatever one transaction leaves behind on its
// connection, the next one meets.
func setup(t *testing.T) *bundle {
	t.Helper()
	d := pgtest.New(t, "tenant")
	b := &bundle{api: pgtest.Open(t, d, "tenant", pg.API, 1), work: pgtest.Open(t, d, "tenant", pg.Work, 1)}
	b.Store = store.New(b.api, b.work, clock.NewFake(now))
	b.OnPublish(func() { b.published++ })
	return b
}

// tenancy is one org with a person, a key and a project.
type tenancy struct {
	account domain.Account
	org     domain.Org
	project domain.Project
	key     domain.APIKey
	secret  domain.Secret
}

func (b *bundle) found(t *testing.T, name string) tenancy {
	t.Helper()
	n := func(v int64) *int64 { return &v }
	x := tenancy{
		account: domain.Account{ID: id.New(id.User, now), Email: name + "@example.com", Name: name, PasswordHash: "$argon2id$", CreatedAt: now},
		org: domain.Org{
			ID: id.New(id.Org, now), Name: name, Currency: "CNY", TimeZone: "UTC", BillingMode: domain.Postpaid, Standing: domain.Good, Approved: true,
			Version: 1, CreatedAt: now, UpdatedAt: now,
		},
		secret: domain.NewSecret(actor.Developer, false),
	}
	x.project = domain.Project{ID: id.New(id.Project, now), Org: x.org.ID, Name: domain.DefaultProject, CreatedAt: now}
	require.NoError(t, b.AtDoor(t.Context(), func(tx domain.DoorTx) error {
		return errors.Join(
			tx.AddOrg(x.org, x.project, domain.Limits{Org: x.org.ID, GPUeMicro: n(1_500_000), VCPUsMilli: n(2500), Version: 1, UpdatedAt: now}),
			tx.AddAccount(x.account), tx.AddMembership(domain.Membership{Org: x.org.ID, Account: x.account.ID, Role: actor.Owner, CreatedAt: now}),
		)
	}))
	x.key = domain.APIKey{
		ID: id.New(id.APIKey, now), Org: x.org.ID, Project: x.project.ID, Owner: x.account.ID, Name: "k", Role: actor.Developer, Hint: x.secret.Hint(), Hash: x.secret.Hash(),
		Version: 1, CreatedAt: now,
	}
	require.NoError(t, b.InOrg(t.Context(), x.org.ID, func(tx domain.OrgTx) error { return tx.AddKey(x.key) }))
	return x
}

// Alternating orgs on one connection, failures in between included, each sees itself only.
func TestOrgsAlternateOnOneConnection(t *testing.T) {
	t.Parallel()
	b := setup(t)
	all := []tenancy{b.found(t, "a"), b.found(t, "b")}
	errStop := errors.New("stop")
	for i := range 40 {
		mine, theirs := all[i%2], all[(i+1)%2]
		err := b.InOrg(t.Context(), mine.org.ID, func(tx domain.OrgTx) error {
			org, err := tx.Org()
			require.NoError(t, err)
			require.Equal(t, mine.org, org)
			limits, err := tx.Limits()
			require.NoError(t, err)
			require.Equal(t, mine.org.ID, limits.Org)
			require.EqualValues(t, 1_500_000, *limits.GPUeMicro)
			keys, err := tx.Keys(domain.KeyFilter{}, domain.Page{Limit: 10})
			require.NoError(t, err)
			require.Equal(t, []domain.APIKey{mine.key}, keys)
			projects, err := tx.Projects(domain.Page{Limit: 10})
			require.NoError(t, err)
			require.Equal(t, []domain.Project{mine.project}, projects)
			for _, get := range []func() error{
				func() error { _, err := tx.Key(theirs.key.ID); return err }, func() error { _, err := tx.LockKey(theirs.key.ID); return err },
				func() error { _, err := tx.Project(theirs.project.ID); return err }, func() error { _, err := tx.Role(theirs.account.ID); return err },
				func() error { return tx.RevokeKey(theirs.key.ID, now) },
			} {
				require.ErrorIs(t, get(), fault.NotFound)
			}
			require.ErrorIs(t, tx.SaveKey(theirs.key), fault.Stale)
			require.ErrorIs(t, tx.SaveOrg(theirs.org), fault.Stale)
			if i%3 == 0 {
				return errStop
			}
			return nil
		})
		if i%3 == 0 {
			require.ErrorIs(t, err, errStop)
		} else {
			require.NoError(t, err)
		}
	}
}

// What belongs to another org cannot be written either, whatever the code says.
func TestWritesIntoAnotherOrgAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	mine, theirs := b.found(t, "a"), b.found(t, "b")
	for name, change := range map[string]func(*domain.APIKey){
		"a key of another org":    func(k *domain.APIKey) { k.Org, k.Project = theirs.org.ID, "" },
		"a key of no org":         func(k *domain.APIKey) { k.Org, k.Project = "", "" },
		"a key for their project": func(k *domain.APIKey) { k.Project = theirs.project.ID },
	} {
		k := mine.key
		secret := domain.NewSecret(actor.Viewer, false)
		k.ID, k.Hash = id.New(id.APIKey, now), secret.Hash()
		change(&k)
		require.Error(t, b.InOrg(t.Context(), mine.org.ID, func(tx domain.OrgTx) error { return tx.AddKey(k) }), name)
	}
	require.ErrorIs(t, b.InOrg(t.Context(), "", func(domain.OrgTx) error { return nil }), fault.Forbidden)
}

// Without an org the api role sees nothing, not even rows that have none; of people and
// refresh tokens it sees nothing at all.
func TestTheAPIRoleSeesNothingByItself(t *testing.T) {
	t.Parallel()
	b := setup(t)
	x := b.found(t, "a")
	operators := domain.Session{ID: id.New(id.Session, now), Account: x.account.ID, CreatedAt: now, ExpiresAt: now.Add(time.Hour)} // has no org
	require.NoError(t, b.AtDoor(t.Context(), func(tx domain.DoorTx) error {
		return tx.AddSession(operators, domain.RefreshToken{Hash: [32]byte{1}, Session: operators.ID, IssuedAt: now, ExpiresAt: now})
	}))
	count := func(scope pg.Scope, table string) (n int, err error) {
		err = b.api.InTx(t.Context(), scope, func(tx *pg.Tx) error { return tx.Raw(`SELECT count(*) FROM ` + table).Scan(&n).Error })
		return n, err
	}
	for _, table := range []string{"org", "project", "org_limits", "membership", "session", "api_key", "outbox", "idempotency"} {
		for _, scope := range []pg.Scope{{}, {Org: ""}, {Org: "org_01ARZ3NDEKTSV4RRFFQ69G5FAV"}} {
			n, err := count(scope, table)
			require.NoError(t, err, table)
			require.Zero(t, n, table)
		}
	}
	for _, table := range []string{"account", "refresh_token"} {
		for _, scope := range []pg.Scope{{Org: x.org.ID}, {Operator: true}} {
			_, err := count(scope, table)
			require.ErrorContains(t, err, "permission denied", table)
		}
	}
	for _, statement := range []string{
		`DELETE FROM org`, `INSERT INTO membership (org, account, role, created_at) SELECT org, account, 'owner', now() FROM membership`,
		`UPDATE session SET ended_at = NULL`, `DELETE FROM api_key`, `UPDATE outbox SET data = '{}'`, `DELETE FROM outbox`,
	} {
		err := b.api.InTx(t.Context(), pg.Scope{Org: x.org.ID}, func(tx *pg.Tx) error { return tx.Exec(statement).Error })
		require.ErrorContains(t, err, "permission denied", statement)
	}
}

func TestAStaleVersionIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	x := b.found(t, "a")
	before := b.published
	save := func(o domain.Org) error {
		return b.AsOperator(t.Context(), func(tx domain.OperatorTx) error { return tx.SaveOrg(o) })
	}
	require.NoError(t, save(x.org))
	require.Equal(t, before+1, b.published)
	require.ErrorIs(t, save(x.org), fault.Stale)
	require.Equal(t, before+1, b.published, "what did not happen is not published")
}

func TestAZeroIsStoredAsZeroAndNothingAsUnlimited(t *testing.T) {
	t.Parallel()
	b := setup(t)
	x := b.found(t, "a")
	zero := int64(0)
	require.NoError(t, b.AsOperator(t.Context(), func(tx domain.OperatorTx) error {
		return tx.SaveLimits(domain.Limits{Org: x.org.ID, Instances: &zero, Version: 1, UpdatedAt: now})
	}))
	require.NoError(t, b.InOrg(t.Context(), x.org.ID, func(tx domain.OrgTx) error {
		l, err := tx.Limits()
		require.Equal(t, domain.Limits{Org: x.org.ID, Instances: &zero, Version: 2, UpdatedAt: now}, l)
		return err
	}))
}

func TestARefreshTokenInUseIsBusy(t *testing.T) {
	t.Parallel()
	d := pgtest.New(t, "tenant")
	work := pgtest.Open(t, d, "tenant", pg.Work, 4)
	s := store.New(pgtest.Open(t, d, "tenant", pg.API, 1), work, clock.NewFake(now))
	b := &bundle{Store: s}
	x := b.found(t, "a")
	session := domain.Session{ID: id.New(id.Session, now), Account: x.account.ID, Org: x.org.ID, CreatedAt: now, ExpiresAt: now.Add(time.Hour)}
	token := domain.RefreshToken{Hash: [32]byte{7}, Session: session.ID, IssuedAt: now, ExpiresAt: now.Add(time.Hour)}
	look := func(ctx context.Context, hash [32]byte) (got domain.RefreshToken, busy bool, err error) {
		err = s.AtDoor(ctx, func(tx domain.DoorTx) (err error) {
			got, busy, err = tx.LockRefreshToken(hash)
			return err
		})
		return got, busy, err
	}
	require.NoError(t, s.AtDoor(t.Context(), func(tx domain.DoorTx) error { return tx.AddSession(session, token) }))
	require.NoError(t, s.AtDoor(t.Context(), func(tx domain.DoorTx) error {
		_, busy, err := tx.LockRefreshToken(token.Hash)
		require.NoError(t, err)
		require.False(t, busy)
		_, busy, err = look(t.Context(), token.Hash)
		require.NoError(t, err)
		require.True(t, busy)
		used := token
		used.UsedAt = &now
		return tx.Rotate(used, domain.RefreshToken{Hash: [32]byte{8}, Session: session.ID, IssuedAt: now, ExpiresAt: now.Add(time.Hour)})
	}))
	got, busy, err := look(t.Context(), token.Hash)
	require.NoError(t, err)
	require.False(t, busy)
	require.Equal(t, now, *got.UsedAt)
	_, _, err = look(t.Context(), [32]byte{9})
	require.ErrorIs(t, err, fault.NotFound)
}

func TestSweepKeepsWhatCounts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	x := b.found(t, "a")
	add := func(n byte, sessionEnds, tokenEnds time.Duration) string {
		s := domain.Session{ID: id.New(id.Session, now), Account: x.account.ID, Org: x.org.ID, CreatedAt: now.Add(-100 * time.Hour), ExpiresAt: now.Add(sessionEnds)}
		require.NoError(t, b.AtDoor(t.Context(), func(tx domain.DoorTx) error {
			return tx.AddSession(s, domain.RefreshToken{Hash: [32]byte{n}, Session: s.ID, IssuedAt: now, ExpiresAt: now.Add(tokenEnds)})
		}))
		return s.ID
	}
	add(1, time.Hour, time.Hour)          // both live
	add(2, time.Hour, -time.Minute)       // the token is over
	add(3, -time.Minute, -time.Minute)    // both over, the session still on record
	add(4, -3*time.Hour, -3*time.Hour)    // both over and forgotten
	ended := add(5, time.Hour, time.Hour) // ended long ago, not expired
	require.NoError(t, b.AtDoor(t.Context(), func(tx domain.DoorTx) error {
		done, err := tx.EndSession(ended, domain.EndLogout, now.Add(-3*time.Hour))
		require.True(t, done)
		return err
	}))
	require.NoError(t, b.Sweep(t.Context(), now, now.Add(-time.Hour)))
	var sessions, tokens int
	require.NoError(t, b.work.InTx(t.Context(), pg.Scope{}, func(tx *pg.Tx) error {
		return errors.Join(tx.Raw(`SELECT count(*) FROM session`).Scan(&sessions).Error, tx.Raw(`SELECT count(*) FROM refresh_token`).Scan(&tokens).Error)
	}))
	require.Equal(t, 3, sessions)
	require.Equal(t, 1, tokens)
}
