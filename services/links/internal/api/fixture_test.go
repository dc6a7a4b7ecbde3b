package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/linkstream/linkstream/services/internal/address"
	"github.com/linkstream/linkstream/services/internal/httpapi"
	"github.com/linkstream/linkstream/services/internal/pgtest"
	"github.com/linkstream/linkstream/services/internal/testproc"
	"github.com/linkstream/linkstream/services/links/internal/account"
	"github.com/linkstream/linkstream/services/links/internal/api"
	"github.com/linkstream/linkstream/services/links/internal/idempotency"
	"github.com/linkstream/linkstream/services/links/internal/keyring"
	"github.com/linkstream/linkstream/services/links/internal/link"
	"github.com/linkstream/linkstream/services/links/internal/password"
	"github.com/linkstream/linkstream/services/links/internal/postgres"
	"github.com/linkstream/linkstream/services/links/internal/transfer"
	"github.com/linkstream/linkstream/services/links/internal/unlock"
)

func TestMain(m *testing.M) { os.Exit(testproc.NoLeaks(pgtest.Main(m))) }

// service is the API as the links service serves it, over a database of its own.
type service struct {
	handler  http.Handler
	pool     *pgxpool.Pool
	store    *postgres.Store
	accounts *account.Accounts
	importer *transfer.Importer
	key      string
}

const host = "go.test"

func newService(tb testing.TB) *service {
	tb.Helper()
	pool, err := postgres.Open(tb.Context(), pgtest.New(tb), 16)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(pool.Close)
	log := slog.New(slog.NewTextHandler(tb.Output(), nil))
	s := &service{pool: pool, store: postgres.New(pool, host, time.Hour)}
	s.key = s.workspace(tb, "first")
	accounts, err := account.New(tb.Context(), s.store, ring(tb), cheap(), 1, time.Now)
	if err != nil {
		tb.Fatal(err)
	}
	s.accounts = accounts
	mux := http.NewServeMux()
	document := httpapi.New(mux, api.Title, api.Version, accounts, log)
	idempotency.New(s.store, ring(tb), log).Use(document)
	api.Register(document, s.store, unlock.New(s.store, password.New(cheap(), 2), ring(tb)), &link.Rules{}, address.URLs{Scheme: "https"}, log)
	s.importer = transfer.New(s.store, &link.Rules{}, api.ReadLink(document), host, transfer.Limits{Bytes: 1 << 20, Rows: 2000}, log)
	api.RegisterImports(document, s.importer, log)
	api.RegisterDomains(document, s.store, log)
	api.RegisterKeys(document, account.NewKeys(s.store, accounts), log)
	api.RegisterTags(document, s.store, log)
	api.RegisterTemplates(document, s.store, log)
	api.RegisterUsers(document, account.NewMembers(s.store, accounts), log)
	s.handler = httpapi.Middleware(mux, prometheus.NewRegistry(), log)
	return s
}

// ring has one secret, and none before it.
func ring(tb testing.TB) *keyring.Keyring {
	tb.Helper()
	keys, err := keyring.New(strings.Repeat("p", keyring.MinSecret))
	if err != nil {
		tb.Fatal(err)
	}
	return keys
}

// cheap makes argon2id fast: its cost is not what these tests are about.
func cheap() password.Params { return password.Params{Time: 1, MemoryKiB: 64, Threads: 1} }

// workspace makes a workspace and returns a key with all scopes.
func (s *service) workspace(tb testing.TB, name string) string {
	tb.Helper()
	made, err := account.Bootstrap(tb.Context(), s.store, ring(tb), cheap(), account.First{
		Workspace: name, Email: name + "@x.test", Domain: host,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return made.APIKey
}

// sessionIn logs the first workspace's owner in and moves the session to another one,
// which is made for it.
func (s *service) sessionIn(t *testing.T, name string) string {
	t.Helper()
	made, err := account.Bootstrap(t.Context(), s.store, ring(t), cheap(), account.First{
		Workspace: name, Email: "first@x.test", Domain: host, Password: "first's password",
	})
	if err != nil {
		t.Fatal(err)
	}
	token, err := s.accounts.LogIn(t.Context(), "first@x.test", "first's password")
	if err != nil {
		t.Fatal(err)
	}
	token, _, err = s.accounts.Switch(t.Context(), token, made.WorkspaceID)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func (s *service) exec(t *testing.T, statement string, args ...any) {
	t.Helper()
	if _, err := s.pool.Exec(t.Context(), statement, args...); err != nil {
		t.Fatal(err)
	}
}

// count returns the number that the query gives.
func (s *service) count(t *testing.T, query string) (n int) {
	t.Helper()
	if err := s.pool.QueryRow(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// answer is what came back, decoded.
type answer struct {
	status int
	header http.Header
	raw    string

	ID, Domain, Slug, Destination, Title, Notes string

	ShortURL    string `json:"short_url"`
	Tags        []string
	StatusCode  int     `json:"status_code"`
	StartsAt    *string `json:"starts_at"`
	ExpiresAt   *string `json:"expires_at"`
	FallbackURL *string `json:"fallback_url"`
	Archived    bool
	Version     int
	CreatedAt   string `json:"created_at"`
	UpdatedAt   string `json:"updated_at"`

	Host          string
	UnicodeHost   string  `json:"unicode_host"`
	HomeURL       *string `json:"home_url"`
	CaseSensitive bool    `json:"case_sensitive"`
	PreviewPages  bool    `json:"preview_pages"`
	Shared        bool

	Data       []struct{ ID, Slug, Name, Email, Host string }
	Complete   bool
	UTM        map[string]string
	NextCursor *string `json:"next_cursor"`

	Name, Prefix, Key, Email, Role, Password string

	Scopes    []string
	RateLimit *struct {
		Capacity        int
		RefillPerSecond float64 `json:"refill_per_second"`
	} `json:"rate_limit"`
	LastUsedAt *string `json:"last_used_at"`

	Results []struct {
		Index, Status int
		Link          *struct {
			ID, Slug string
		}
		Error *httpapi.Problem
	}

	Type, Code, Detail string
	Status             int
	RequestID          string `json:"request_id"`
	Errors             []httpapi.FieldError
}

// wrong lists field:code of a validation problem.
func (a answer) wrong() string {
	out := make([]string, len(a.Errors))
	for i, e := range a.Errors {
		out[i] = e.Field + ":" + e.Code
	}
	return strings.Join(out, " ")
}

// send makes one request with the first workspace's key; headers are "Name: value".
func (s *service) send(t *testing.T, method, path, body string, headers ...string) answer {
	t.Helper()
	a, err := s.try(t.Context(), method, path, body, headers...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (s *service) try(ctx context.Context, method, path, body string, headers ...string) (answer, error) {
	r := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+s.key)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	a := answer{status: w.Code, header: w.Header(), raw: w.Body.String()}
	if w.Body.Len() == 0 {
		return a, nil
	}
	err := json.NewDecoder(bytes.NewReader(w.Body.Bytes())).Decode(&a)
	return a, err
}

// decode reads a JSON answer of another shape.
func (s *service) decode(t *testing.T, path string, into any) {
	t.Helper()
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
	if err := json.Unmarshal(w.Body.Bytes(), into); err != nil {
		t.Fatal(err)
	}
}

// into sends a request with the first workspace's key and decodes its answer.
func (s *service) into(t *testing.T, r *http.Request, into any) {
	t.Helper()
	r.Header.Set("Authorization", "Bearer "+s.key)
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	if err := json.Unmarshal(w.Body.Bytes(), into); err != nil {
		t.Fatalf("%v: %s", err, w.Body)
	}
}
