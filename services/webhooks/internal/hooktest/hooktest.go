// Package hooktest is the other side of a webhook, for tests: a store with a workspace,
// and a receiver that verifies what it gets and misbehaves on request.
package hooktest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	webhook "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/linkstream/linkstream/services/internal/pgtest"
	"github.com/linkstream/linkstream/services/webhooks/internal/endpoint"
	"github.com/linkstream/linkstream/services/webhooks/internal/event"
	"github.com/linkstream/linkstream/services/webhooks/internal/postgres"
	"github.com/linkstream/linkstream/services/webhooks/internal/sealed"
)

// Key seals secrets in tests.
const Key = "a key of tests, of thirty-two characters"

// Store is a store on a database of its own, with one workspace.
type Store struct {
	*postgres.Store
	URL       string
	Pool      *pgxpool.Pool
	Workspace uuid.UUID
}

// NewStore returns one that ends with the test.
func NewStore(tb testing.TB) *Store {
	tb.Helper()
	s := &Store{URL: pgtest.New(tb)}
	var err error
	if s.Pool, err = postgres.Open(tb.Context(), s.URL, 20); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Pool.Close)
	box, err := sealed.New(Key)
	if err != nil {
		tb.Fatal(err)
	}
	s.Store = postgres.New(s.Pool, box)
	s.Workspace = s.NewWorkspace(tb)
	return s
}

// NewWorkspace makes another workspace.
func (s *Store) NewWorkspace(tb testing.TB) uuid.UUID {
	tb.Helper()
	id := uuid.Must(uuid.NewV7())
	if _, err := s.Pool.Exec(tb.Context(), `INSERT INTO workspaces (id, name) VALUES ($1, 'test')`, id); err != nil {
		tb.Fatal(err)
	}
	return id
}

// Endpoint makes an endpoint that wants everything, changed by change, and returns it
// with its secret.
func (s *Store) Endpoint(tb testing.TB, url string, change func(*endpoint.Endpoint)) (*endpoint.Endpoint, string) {
	tb.Helper()
	e := &endpoint.Endpoint{
		ID: uuid.Must(uuid.NewV7()), WorkspaceID: s.Workspace, URL: url, Enabled: true, SummaryEvery: time.Minute,
		Filter: endpoint.Filter{Types: event.Types()}, Thresholds: endpoint.DefaultThresholds(),
	}
	if change != nil {
		change(e)
	}
	secret := endpoint.NewSecret()
	made, err := s.Make(tb.Context(), e, secret)
	if err != nil {
		tb.Fatal(err)
	}
	return made, secret
}

// Event is some event of a link, told apart by n.
func (s *Store) Event(link uuid.UUID, n int) *event.Event {
	return &event.Event{
		ID: fmt.Sprintf("evt_%s_%d", link, n), Type: event.LinkUpdated, Workspace: s.Workspace, At: time.Now(), Link: link, Order: link,
		Data: map[string]int{"n": n},
	}
}

// Got is a request that a receiver got.
type Got struct {
	ID, Body string
	At       time.Time
}

// Receiver is an endpoint's server. Every request's signature is verified with the
// reference library, whatever the answer.
type Receiver struct {
	*httptest.Server
	tb testing.TB

	mu      sync.Mutex
	secrets []string
	answer  http.HandlerFunc
	got     []Got
	taken   []Got
}

// NewReceiver starts one that takes everything.
func NewReceiver(tb testing.TB) *Receiver {
	tb.Helper()
	r := &Receiver{tb: tb}
	r.Server = httptest.NewServer(http.HandlerFunc(r.serve))
	tb.Cleanup(r.Close)
	return r
}

// Trust says whose signatures are good: those of any of the secrets.
func (r *Receiver) Trust(secrets ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.secrets = secrets
}

// Answer replaces what it answers; nil takes everything.
func (r *Receiver) Answer(with http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = with
}

// Got are the requests that came, and Taken those of them that were answered with 2xx.
func (r *Receiver) Got() []Got {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

// Taken are the requests that were answered with 2xx.
func (r *Receiver) Taken() []Got {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.taken)
}

func (r *Receiver) serve(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return // it broke off
	}
	got := Got{ID: request.Header.Get("webhook-id"), Body: string(body), At: time.Now()}
	r.mu.Lock()
	secrets, answer := r.secrets, r.answer
	r.got = append(r.got, got)
	r.mu.Unlock()
	if request.Method != http.MethodPost || request.Header.Get("Content-Type") != "application/json" || request.Header.Get("Cookie") != "" {
		r.tb.Errorf("got %s with %v", request.Method, request.Header)
	}
	if len(secrets) > 0 {
		r.verify(secrets, body, request.Header)
	}
	rec := &recorder{ResponseWriter: w}
	if answer != nil {
		answer(rec, request)
	}
	if rec.status == 0 || rec.status/100 == 2 {
		r.mu.Lock()
		r.taken = append(r.taken, got)
		r.mu.Unlock()
	}
}

// verify wants each of the secrets to have signed.
func (r *Receiver) verify(secrets []string, body []byte, header http.Header) {
	if n := len(strings.Fields(header.Get("webhook-signature"))); n != len(secrets) {
		r.tb.Errorf("%d signatures, want %d", n, len(secrets))
	}
	for _, secret := range secrets {
		w, err := webhook.NewWebhook(secret)
		if err == nil {
			err = w.Verify(body, header)
		}
		if err != nil {
			r.tb.Errorf("the signature of %s is not good: %v", header.Get("webhook-id"), err)
		}
	}
}

type recorder struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController reach Flush.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
