package account_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/linkstream/linkstream/services/internal/access"
	"github.com/linkstream/linkstream/services/internal/pgtest"
	"github.com/linkstream/linkstream/services/internal/testproc"
	"github.com/linkstream/linkstream/services/links/internal/account"
	"github.com/linkstream/linkstream/services/links/internal/keyring"
	"github.com/linkstream/linkstream/services/links/internal/password"
	"github.com/linkstream/linkstream/services/links/internal/postgres"
)

func TestMain(m *testing.M) { os.Exit(testproc.NoLeaks(pgtest.Main(m))) }

// world is a bootstrapped installation with a clock that the test sets.
type world struct {
	pool     *pgxpool.Pool
	store    *postgres.Store
	accounts *account.Accounts
	now      time.Time
	made     account.Made
}

// ring has one secret, and none before it.
func ring(t *testing.T) *keyring.Keyring {
	t.Helper()
	keys, err := keyring.New(strings.Repeat("p", keyring.MinSecret))
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func cheap() password.Params { return password.Params{Time: 1, MemoryKiB: 64, Threads: 1} }

func first() account.First {
	return account.First{Workspace: "w", Email: "Owner@X.test", Domain: "go.test"}
}

func newWorld(t *testing.T) *world {
	t.Helper()
	pool, err := postgres.Open(t.Context(), pgtest.New(t), 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	w := &world{pool: pool, store: postgres.New(pool, "go.test", 0), now: time.Now()}
	if w.made, err = account.Bootstrap(t.Context(), w.store, ring(t), cheap(), first()); err != nil {
		t.Fatal(err)
	}
	w.accounts, err = account.New(t.Context(), w.store, ring(t), cheap(), 2, func() time.Time { return w.now })
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) exec(t *testing.T, statement string, args ...any) {
	t.Helper()
	if _, err := w.pool.Exec(t.Context(), statement, args...); err != nil {
		t.Fatal(err)
	}
}

func (w *world) logIn(t *testing.T) string {
	t.Helper()
	token, err := w.accounts.LogIn(t.Context(), " owner@x.TEST ", w.made.Password)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestBootstrapIsIdempotent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := w.made
	if made.Email != "owner@x.test" || len(made.Password) < 20 || !regexp.MustCompile(`^ls_key_[0-9A-Za-z]{43}$`).MatchString(made.APIKey) {
		t.Fatalf("got %+v", made)
	}
	state := func() (text string) {
		t.Helper()
		err := w.pool.QueryRow(t.Context(), `SELECT concat_ws(' ', (SELECT string_agg(w::text, ',' ORDER BY id) FROM workspaces w), (SELECT string_agg(u::text, ',' ORDER BY id) FROM users u),
			(SELECT string_agg(d::text, ',' ORDER BY id) FROM domains d), (SELECT string_agg(k::text, ',' ORDER BY id) FROM api_keys k), (SELECT string_agg(m::text, ',') FROM memberships m))`).Scan(&text)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	before := state()
	again := func(f account.First, want account.Made) {
		t.Helper()
		got, err := account.Bootstrap(t.Context(), w.store, ring(t), cheap(), f)
		if err != nil || got != want || state() != before {
			t.Errorf("got %+v, %v, want %+v\nstate %s\nwas   %s", got, err, want, state(), before)
		}
	}
	given := first()
	given.Password, given.APIKey = made.Password, made.APIKey
	again(given, made)
	// What exists and was not given cannot be shown.
	again(first(), account.Made{WorkspaceID: made.WorkspaceID, Email: made.Email})

	given.Password, given.APIKey = "another password", "ls_key_"+strings.Repeat("k", 32)
	if _, err := account.Bootstrap(t.Context(), w.store, ring(t), cheap(), given); err != nil {
		t.Fatal(err)
	}
	if _, err := w.accounts.LogIn(t.Context(), made.Email, "another password"); err != nil {
		t.Errorf("the new password: %v", err)
	}
	for _, key := range []string{made.APIKey, given.APIKey} {
		if _, err := w.accounts.Authenticate(t.Context(), key); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
}

func TestBootstrapRefusesBadValues(t *testing.T) {
	t.Parallel()
	bad := account.First{Email: "X <x@y.test>", Password: "short", APIKey: "ls_key_" + strings.Repeat("!", 40)}
	err := bad.Validate()
	for _, part := range []string{"workspace", "email", "domain", "password", "API key"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in %v", part, err)
		}
	}
	w := newWorld(t)
	other := first()
	other.Workspace, other.Email, other.APIKey = "other", "other@x.test", w.made.APIKey
	if _, err := account.Bootstrap(t.Context(), w.store, ring(t), cheap(), other); !errors.Is(err, postgres.ErrKeyUnfit) {
		t.Errorf("another workspace's key: %v", err)
	}
	w.exec(t, `UPDATE domains SET workspace_id = $1`, w.made.WorkspaceID)
	other.APIKey = ""
	if _, err := account.Bootstrap(t.Context(), w.store, ring(t), cheap(), other); !errors.Is(err, postgres.ErrDomainTaken) {
		t.Errorf("another workspace's domain: %v", err)
	}
	var n int
	if err := w.pool.QueryRow(t.Context(), `SELECT count(*) FROM workspaces`).Scan(&n); err != nil || n != 1 {
		t.Errorf("a bootstrap that failed left %d workspaces, %v", n, err)
	}
}

func TestAKeyOpensItsWorkspaceUntilItIsRevoked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id, err := w.accounts.Authenticate(t.Context(), w.made.APIKey)
	if err != nil || id.WorkspaceID != w.made.WorkspaceID || !slices.Equal(id.Scopes, access.Scopes()) || id.Email != "" {
		t.Errorf("got %+v, %v", id, err)
	}
	refused := func(token string) {
		t.Helper()
		if id, err := w.accounts.Authenticate(t.Context(), token); !errors.Is(err, access.ErrUnauthenticated) {
			t.Errorf("%.60q gives %+v, %v", token, id, err)
		}
	}
	refused("")
	refused("ls_key_")
	refused(w.made.APIKey + "x")
	refused(strings.TrimPrefix(w.made.APIKey, "ls_key_"))
	refused("ls_ses_" + strings.TrimPrefix(w.made.APIKey, "ls_key_"))
	refused("ls_key_" + strings.Repeat("x", 1<<16))
	refused("ls_key_\x00")
	w.exec(t, `UPDATE api_keys SET revoked_at = now()`)
	refused(w.made.APIKey)
}

func TestAKeyOfAnEarlierReleaseMovesUnderTheSecret(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stored := func(want []byte, name string) {
		t.Helper()
		var hash []byte
		if err := w.pool.QueryRow(t.Context(), `SELECT key_hash FROM api_keys`).Scan(&hash); err != nil || !bytes.Equal(hash, want) {
			t.Errorf("%s: stored is %x, %v", name, hash, err)
		}
	}
	stored(ring(t).Hash(w.made.APIKey), "a new key")
	plain := sha256.Sum256([]byte(w.made.APIKey))
	w.exec(t, `UPDATE api_keys SET key_hash = $1`, plain[:])
	if made, err := account.Bootstrap(t.Context(), w.store, ring(t), cheap(), account.First{
		Workspace: "w", Email: "owner@x.test", Domain: "go.test", Password: w.made.Password, APIKey: w.made.APIKey,
	}); err != nil || made != w.made {
		t.Errorf("a bootstrap with it: %+v, %v", made, err)
	}
	if _, err := w.accounts.Authenticate(t.Context(), w.made.APIKey); err != nil {
		t.Errorf("a plain hash: %v", err)
	}
	stored(ring(t).Hash(w.made.APIKey), "after its use")

	// The same for a secret that was replaced; without the old one nothing fits.
	next := strings.Repeat("n", keyring.MinSecret)
	for _, c := range []struct {
		previous []string
		want     error
	}{{nil, access.ErrUnauthenticated}, {[]string{strings.Repeat("p", keyring.MinSecret)}, nil}} {
		keys, err := keyring.New(next, c.previous...)
		if err != nil {
			t.Fatal(err)
		}
		accounts, err := account.New(t.Context(), w.store, keys, cheap(), 1, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := accounts.Authenticate(t.Context(), w.made.APIKey); !errors.Is(err, c.want) {
			t.Errorf("with %d previous secrets: %v", len(c.previous), err)
		}
	}
}

// Guards I48.
func TestUsesOfKeysAreWrittenTogether(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	used := func() *time.Time {
		t.Helper()
		var at *time.Time
		if err := w.pool.QueryRow(t.Context(), `SELECT last_used_at FROM api_keys`).Scan(&at); err != nil {
			t.Fatal(err)
		}
		return at
	}
	use := func() {
		t.Helper()
		if _, err := w.accounts.Authenticate(t.Context(), w.made.APIKey); err != nil {
			t.Fatal(err)
		}
	}
	use()
	if at := used(); at != nil {
		t.Errorf("a request wrote %v", at)
	}
	w.now = w.now.Add(time.Minute)
	use()
	w.exec(t, `ALTER TABLE api_keys RENAME COLUMN last_used_at TO away`)
	if err := w.accounts.WriteUses(t.Context()); err == nil {
		t.Error("writing to what is away is no error")
	}
	w.exec(t, `ALTER TABLE api_keys RENAME COLUMN away TO last_used_at`)
	if err := w.accounts.WriteUses(t.Context()); err != nil {
		t.Fatal(err)
	}
	if at := used(); at == nil || at.Sub(w.now).Abs() > time.Millisecond {
		t.Errorf("written is %v, want %v", at, w.now)
	}
	// What another process wrote later stays.
	w.exec(t, `UPDATE api_keys SET last_used_at = '2100-01-01'`)
	use()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.accounts.RecordUses(ctx, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	if at := used(); at == nil || at.Year() != 2100 {
		t.Errorf("written is %v", at)
	}
}

func TestRolesAndScopesOfSessions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	token := w.logIn(t)
	check := func(role string, want ...access.Scope) {
		t.Helper()
		w.exec(t, `UPDATE memberships SET role = $1`, role)
		id, err := w.accounts.Authenticate(t.Context(), token)
		if err != nil || !slices.Equal(id.Scopes, want) || id.Email != "owner@x.test" || id.WorkspaceID != w.made.WorkspaceID {
			t.Errorf("%s: got %+v, %v", role, id, err)
		}
	}
	check("owner", access.LinksRead, access.LinksWrite, access.AnalyticsRead, access.Admin)
	check("editor", access.LinksRead, access.LinksWrite, access.AnalyticsRead)
	check("viewer", access.LinksRead, access.AnalyticsRead)
	w.exec(t, `DELETE FROM memberships`)
	if _, err := w.accounts.Authenticate(t.Context(), token); !errors.Is(err, access.ErrUnauthenticated) {
		t.Errorf("who is no member any more: %v", err)
	}
}

func TestASessionEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	valid := func(token string, want bool) {
		t.Helper()
		if _, err := w.accounts.Authenticate(t.Context(), token); (err == nil) != want {
			t.Errorf("got %v, want valid = %v", err, want)
		}
	}
	one, two := w.logIn(t), w.logIn(t)
	if err := w.accounts.LogOut(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	valid(one, false)
	valid(two, true)
	if err := errors.Join(w.accounts.LogOut(t.Context(), one), w.accounts.LogOut(t.Context(), "nonsense"), w.accounts.LogOut(t.Context(), w.made.APIKey)); err != nil {
		t.Errorf("ending what is no session: %v", err)
	}
	valid(w.made.APIKey, true)
	w.now = w.now.Add(account.SessionLifetime - time.Second)
	valid(two, true)
	w.now = w.now.Add(2 * time.Second)
	valid(two, false)
	w.logIn(t)
	var n int
	if err := w.pool.QueryRow(t.Context(), `SELECT count(*) FROM sessions`).Scan(&n); err != nil || n != 1 {
		t.Errorf("%d sessions are kept, %v", n, err)
	}
}

func TestLogInTellsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	refused := func(email, password string) {
		t.Helper()
		if token, err := w.accounts.LogIn(t.Context(), email, password); !errors.Is(err, access.ErrUnauthenticated) || token != "" {
			t.Errorf("%q: got %q, %v", email, token, err)
		}
	}
	refused("owner@x.test", "wrong password")
	refused("owner@x.test", "")
	refused("nobody@x.test", w.made.Password)
	refused("nobody@x.test", "nobody's password") // the decoy's own
	refused("a\x00b", "x")
	refused("owner@x.test", strings.Repeat("x", 1<<20))
}

func TestNothingThatOpensIsStored(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	token := w.logIn(t)
	var dump string
	err := w.pool.QueryRow(t.Context(), `SELECT concat_ws(' ', (SELECT string_agg(u::text, ',') FROM users u), (SELECT string_agg(k::text, ',') FROM api_keys k), (SELECT string_agg(s::text, ',') FROM sessions s))`).Scan(&dump)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{w.made.Password, w.made.APIKey, strings.TrimPrefix(token, "ls_ses_")} {
		if strings.Contains(dump, secret) {
			t.Errorf("%s is stored", secret)
		}
	}
	if !strings.Contains(dump, "$argon2id$v=19$m=64,t=1,p=1$") {
		t.Errorf("no argon2id in PHC form: %s", dump)
	}
}

func TestADatabaseThatIsAwayIsNotARefusal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.pool.Close()
	_, err1 := w.accounts.Authenticate(t.Context(), w.made.APIKey)
	_, err2 := w.accounts.LogIn(t.Context(), w.made.Email, w.made.Password)
	if !errors.Is(err1, access.ErrUnavailable) || !errors.Is(err2, access.ErrUnavailable) {
		t.Errorf("got %v, %v", err1, err2)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.accounts.LogIn(ctx, w.made.Email, w.made.Password); !errors.Is(err, access.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}
