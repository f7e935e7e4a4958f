package domain_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weirhq/weir/pkg/kernel/actor"
	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/services/tenant/internal/domain"
)

var roles = []actor.Role{actor.Owner, actor.Admin, actor.Developer, actor.Billing, actor.Viewer}

func TestRolesFormAnOrder(t *testing.T) {
	t.Parallel()
	for _, a := range roles {
		require.True(t, domain.Covers(a, a))
		require.True(t, domain.Covers(actor.Owner, a))
		require.True(t, domain.Covers(a, actor.Viewer))
		require.False(t, domain.Covers("", a))
		require.False(t, domain.Covers(a, ""))
		for _, b := range roles {
			m := domain.Meet(a, b)
			require.Equal(t, m, domain.Meet(b, a))
			require.True(t, domain.Covers(a, m) && domain.Covers(b, m))
			require.Equal(t, a == b, domain.Covers(a, b) && domain.Covers(b, a))
		}
	}
	require.Equal(t, actor.Viewer, domain.Meet(actor.Developer, actor.Billing))
	require.False(t, domain.Covers(actor.Admin, actor.Owner))
	require.False(t, domain.Covers(actor.Developer, actor.Billing))
}

func TestEmails(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		" Ada@Example.COM ": "ada@example.com", "demo@weir.local": "demo@weir.local", "a+b.c@x": "a+b.c@x", "O'Neil@a-b.co": "o'neil@a-b.co",
	} {
		got, err := domain.NormalizeEmail("email", in)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, in := range []string{
		"", "a", "@", "a@", "@b", "a b@c", "a@b c", "a@@b", "a@b@c", "a..b@c", ".a@c", "a.@c", "a@-b", "a@b-", "a@b..c", "a@.b", "a@b.", `"a"@b`, "a@[1.2.3.4]",
		"ada@exam\u0440le.com", "\u212aim@x.com", "a@b\x00", "a\n@b", "a<b>@c", strings.Repeat("a", 250) + "@b.cd",
	} {
		_, err := domain.NormalizeEmail("email", in)
		require.ErrorIs(t, err, fault.Invalid, in)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"  Ada ": "Ada", "算力云": "算力云", "👩‍💻 team": "👩‍💻 team", "<b>x</b>": "<b>x</b>"} {
		got, err := domain.CleanText("name", in, 100)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, in := range []string{"", "   ", "a\x00b", "a\nb", "a\x1b[31m", "a\u202eb", "a\ufeffb", "a\u2028b", "a\xffb", strings.Repeat("é", 101)} {
		_, err := domain.CleanText("name", in, 100)
		require.ErrorIs(t, err, fault.Invalid, "%q", in)
	}
}

func TestAllFaultsOfASignUpAtOnce(t *testing.T) {
	t.Parallel()
	in := domain.SignUp{Email: "nobody", Password: "short", Name: " ", OrgName: "a\nb"}
	f := fault.From(in.Clean())
	require.Equal(t, fault.Invalid, f.Code)
	var names []string
	for _, field := range f.Fields {
		names = append(names, field.Field)
	}
	require.Equal(t, []string{"email", "password", "name", "org_name"}, names)
}

func TestPasswordsCountCharacters(t *testing.T) {
	t.Parallel()
	require.NoError(t, domain.CheckPassword("password", "密码密码密码密码密码"))
	require.Error(t, domain.CheckPassword("password", "密码密码密码密码密"))
	require.NoError(t, domain.CheckPassword("password", strings.Repeat("é", 200)))
	require.Error(t, domain.CheckPassword("password", strings.Repeat("é", 201)))
}

func TestTimeZones(t *testing.T) {
	t.Parallel()
	for _, z := range []string{"UTC", "Asia/Shanghai", "Pacific/Kiritimati", "America/Argentina/Buenos_Aires"} {
		require.NoError(t, domain.CheckTimeZone("time_zone", z))
	}
	for _, z := range []string{"", "Local", "Mars/Olympus", "../../etc/passwd", "UTC+8", "Asia/Shanghai\x00"} {
		require.ErrorIs(t, domain.CheckTimeZone("time_zone", z), fault.Invalid, z)
	}
}

func TestLimitsPatch(t *testing.T) {
	t.Parallel()
	v := func(n int64) *int64 { return &n }
	l := domain.Limits{GPUeMicro: v(16_000_000), Instances: v(20)}
	same, changed := domain.LimitsPatch{}.Apply(l)
	require.False(t, changed)
	require.Equal(t, l, same)
	_, changed = domain.LimitsPatch{GPUeMicro: domain.LimitChange{Set: true, To: v(16_000_000)}, RAMMiB: domain.LimitChange{Set: true}}.Apply(l)
	require.False(t, changed, "what is so already is no change")
	after, changed := domain.LimitsPatch{GPUeMicro: domain.LimitChange{Set: true}, RAMMiB: domain.LimitChange{Set: true, To: v(0)}}.Apply(l)
	require.True(t, changed)
	require.Nil(t, after.GPUeMicro)
	require.Equal(t, v(0), after.RAMMiB)
	require.Equal(t, v(20), after.Instances)
}

func TestWhoStillStands(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	session := domain.LiveSession{Session: domain.Session{Org: "org_1", ExpiresAt: now.Add(time.Second)}, Role: actor.Viewer}
	require.True(t, session.Usable(now))
	for name, change := range map[string]func(*domain.LiveSession){
		"ended": func(s *domain.LiveSession) { s.Ended = true }, "disabled": func(s *domain.LiveSession) { s.Disabled = true },
		"expired": func(s *domain.LiveSession) { s.ExpiresAt = now }, "no longer a member": func(s *domain.LiveSession) { s.Role = "" },
		"no org": func(s *domain.LiveSession) { s.Org = "" }, "operator no longer": func(s *domain.LiveSession) { s.Org, s.Role = "", "" },
		"operator removed from the org": func(s *domain.LiveSession) { s.Operator, s.Role = true, "" },
	} {
		s := session
		change(&s)
		require.False(t, s.Usable(now), name)
	}
	key := domain.LiveKey{OwnerRole: actor.Viewer}
	require.True(t, key.Usable(now))
	for name, change := range map[string]func(*domain.LiveKey){
		"disabled": func(k *domain.LiveKey) { k.Disabled = true }, "owner disabled": func(k *domain.LiveKey) { k.OwnerDisabled = true },
		"owner removed": func(k *domain.LiveKey) { k.OwnerRole = "" }, "expired": func(k *domain.LiveKey) { k.ExpiresAt = &now },
	} {
		k := key
		change(&k)
		require.False(t, k.Usable(now), name)
	}
}
