package unlock_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/internal/pgtest"
	"github.com/linkstream/linkstream/services/internal/rpc/originv1"
	"github.com/linkstream/linkstream/services/internal/testproc"
	"github.com/linkstream/linkstream/services/links/internal/keyring"
	"github.com/linkstream/linkstream/services/links/internal/link"
	"github.com/linkstream/linkstream/services/links/internal/origin"
	"github.com/linkstream/linkstream/services/links/internal/password"
	"github.com/linkstream/linkstream/services/links/internal/postgres"
	"github.com/linkstream/linkstream/services/links/internal/unlock"
)

func TestMain(m *testing.M) { os.Exit(testproc.NoLeaks(pgtest.Main(m))) }

// world is a store with one workspace and one domain.
type world struct {
	store     *postgres.Store
	workspace uuid.UUID
	keys      *keyring.Keyring
	locks     *unlock.Locks
}

func newWorld(t *testing.T) *world {
	t.Helper()
	pool, err := postgres.Open(t.Context(), pgtest.New(t), 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	w := &world{store: postgres.New(pool, "go.test", time.Hour), workspace: uuid.New()}
	for _, statement := range []string{
		`INSERT INTO workspaces (id, name) VALUES ('` + w.workspace.String() + `', 'w')`,
		`INSERT INTO domains (id, host) VALUES (gen_random_uuid(), 'go.test')`,
	} {
		if _, err := pool.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if w.keys, err = keyring.New(strings.Repeat("p", keyring.MinSecret)); err != nil {
		t.Fatal(err)
	}
	w.locks = unlock.New(w.store, password.New(password.Params{Time: 1, MemoryKiB: 64, Threads: 1}, 1), w.keys)
	return w
}

// make stores a link with a password; nil for none.
func (w *world) make(t *testing.T, given *string) *link.Link {
	t.Helper()
	rules := link.Rules{}
	c, err := rules.CheckNew(link.Change{Destination: link.Some("https://e.test"), Password: link.Optional[*string]{Set: given != nil, Value: given}})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.locks.Lock(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	l, err := w.store.Create(t.Context(), w.workspace, c)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestTheOriginComparesPasswords(t *testing.T) {
	w := newWorld(t)
	text := "caf\u00e9 noir"
	locked, open := w.make(t, &text), w.make(t, nil)
	var logged bytes.Buffer
	service := origin.New(w.store, w.locks, slog.New(slog.NewTextHandler(&logged, nil)))
	check := func(id uuid.UUID, guess string, correct bool, code connect.Code) {
		t.Helper()
		answer, err := service.VerifyPassword(t.Context(), &originv1.VerifyPasswordRequest{LinkId: id[:], Password: guess})
		if code != 0 {
			if connect.CodeOf(err) != code {
				t.Errorf("%q gives %v, %v, want %v", guess, answer, err, code)
			}
			return
		}
		if err != nil || answer.GetCorrect() != correct || (len(answer.GetUnlockKey()) == 32) != correct || correct && !bytes.Equal(answer.GetUnlockKey(), locked.Password.UnlockKey) {
			t.Errorf("%q gives %v, %v, want %t", guess, answer, err, correct)
		}
	}
	check(locked.ID.UUID, text, true, 0)
	check(locked.ID.UUID, "cafe\u0301 noir", true, 0) // as another keyboard types it
	for _, wrong := range []string{"", "Caf\u00e9 noir", "caf\u00e9 noir ", strings.Repeat("x", 100_000), "\xff"} {
		check(locked.ID.UUID, wrong, false, 0)
	}
	check(open.ID.UUID, text, false, connect.CodeNotFound)
	check(uuid.New(), text, false, connect.CodeNotFound)
	if _, err := service.VerifyPassword(t.Context(), &originv1.VerifyPasswordRequest{LinkId: []byte("short"), Password: text}); connect.CodeOf(err) != connect.CodeInvalidArgument {
		t.Errorf("an id that is none gives %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := service.VerifyPassword(ended, &originv1.VerifyPasswordRequest{LinkId: locked.ID.UUID[:], Password: text}); connect.CodeOf(err) != connect.CodeUnavailable {
		t.Errorf("a caller who has gone gives %v", err)
	}
	if logged.Len() > 0 {
		t.Errorf("the log has %s", logged.String())
	}
}

// gate is a store whose answers wait.
type gate struct {
	*postgres.Store
	entered chan struct{}
	open    chan struct{}
}

func (g *gate) PasswordOf(ctx context.Context, id link.ID) (link.Password, error) {
	g.entered <- struct{}{}
	<-g.open
	return g.Store.PasswordOf(ctx, id)
}

// Guards I68.
func TestGuessesCostNoMoreThanTheirBound(t *testing.T) {
	w := newWorld(t)
	text := "open sesame"
	l := w.make(t, &text)
	g := &gate{Store: w.store, entered: make(chan struct{}, 200), open: make(chan struct{})}
	locks := unlock.New(g, password.New(password.Params{Time: 1, MemoryKiB: 64, Threads: 1}, 1), w.keys)
	const callers = 150
	outcomes := make(chan error, callers)
	for range callers {
		go func() {
			_, err := locks.Verify(t.Context(), l.ID, text)
			outcomes <- err
		}()
	}
	busy := 0
	for range callers - 64 { // those that found no place answer at once
		if err := <-outcomes; !errors.Is(err, unlock.ErrBusy) {
			t.Fatalf("got %v", err)
		}
		busy++
	}
	close(g.open)
	for range 64 {
		if err := <-outcomes; err != nil {
			t.Errorf("one that had a place got %v", err)
		}
	}
	if n := len(g.entered); n != 64 || busy != callers-64 {
		t.Errorf("%d guesses reached the database, %d were refused", n, busy)
	}
	if _, err := locks.Verify(t.Context(), l.ID, text); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
