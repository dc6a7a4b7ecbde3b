package account_test

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/internal/access"
	"github.com/linkstream/linkstream/services/internal/rpc/accessv1/accessv1connect"
	"github.com/linkstream/linkstream/services/links/internal/account"
)

// client asks the accounts over RPC, as another service does.
func (w *world) client(t *testing.T) *access.Client {
	t.Helper()
	rpc := connect.NewServer()
	accessv1connect.RegisterAccessServiceHandler(rpc, account.NewService(w.accounts, slog.New(slog.DiscardHandler)))
	mux := http.NewServeMux()
	connecthttp.Mount(mux, rpc)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return access.NewClient(server.URL)
}

// Guards I94.
func TestNobodyRemembersTheOldWorkspaceOfASessionThatMoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	second := w.workspace(t, "second", ownersEmail)
	dashboard, analytics := w.client(t), w.client(t)

	token, _, err := dashboard.LogIn(t.Context(), ownersEmail, w.made.Password)
	if err != nil {
		t.Fatal(err)
	}
	at := func(c *access.Client, token string, want uuid.UUID) {
		t.Helper()
		if id, err := c.Authenticate(t.Context(), token); err != nil || id.WorkspaceID != want {
			t.Errorf("got %+v, %v, want %s", id, err, want)
		}
	}
	at(dashboard, token, w.made.WorkspaceID)
	at(analytics, token, w.made.WorkspaceID)
	list, err := dashboard.Workspaces(t.Context(), token)
	if err != nil || len(list) != 2 || list[1] != (access.Workspace{ID: second.WorkspaceID, Name: "second", Role: "owner"}) {
		t.Errorf("got %+v, %v", list, err)
	}
	// Both have an answer for the old token in their memory, and need none for the new one.
	moved, left, err := dashboard.Switch(t.Context(), token, second.WorkspaceID)
	if err != nil || left <= 0 || left > account.SessionLifetime {
		t.Fatalf("%v, %v", left, err)
	}
	at(dashboard, moved, second.WorkspaceID)
	at(analytics, moved, second.WorkspaceID)
	if _, err := dashboard.Authenticate(t.Context(), token); !errors.Is(err, access.ErrUnauthenticated) {
		t.Errorf("the old token: %v", err)
	}

	_, _, err1 := dashboard.Switch(t.Context(), moved, uuid.New())
	_, _, err2 := dashboard.Join(t.Context(), moved, "guess", "long enough")
	_, _, err3 := dashboard.Join(t.Context(), moved, "guess", "short")
	_, _, err4 := dashboard.Join(t.Context(), token, "guess", "long enough")
	if !errors.Is(err1, access.ErrNotMember) || !errors.Is(err2, access.ErrWrongCredentials) || !errors.Is(err3, access.ErrUnfitPassword) || !errors.Is(err4, access.ErrUnauthenticated) {
		t.Errorf("got %v, %v, %v, %v", err1, err2, err3, err4)
	}
	foreign := w.workspace(t, "foreign", "boss@x.test")
	_, handedOver := w.add(t, foreign.WorkspaceID, ownersEmail, account.Viewer)
	joined, _, err := dashboard.Join(t.Context(), moved, handedOver, "a password of my own")
	if err != nil {
		t.Fatal(err)
	}
	at(analytics, joined, foreign.WorkspaceID)
}

// Guards I100.
func TestAChangeOfAPasswordOverRPC(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dashboard, analytics := w.client(t), w.client(t)
	token, _, err := dashboard.LogIn(t.Context(), ownersEmail, w.made.Password)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []*access.Client{dashboard, analytics} {
		if _, err := c.Authenticate(t.Context(), token); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(given, fresh string, want error) {
		t.Helper()
		if next, _, err := dashboard.ChangePassword(t.Context(), token, given, fresh); !errors.Is(err, want) || next != "" {
			t.Errorf("%q, %v, want %v", next, err, want)
		}
	}
	refused("guess", chosen, access.ErrWrongCredentials)
	refused(w.made.Password, "short", access.ErrUnfitPassword)
	refused(w.made.Password, w.made.Password, access.ErrSamePassword)
	next, left, err := dashboard.ChangePassword(t.Context(), token, w.made.Password, chosen)
	if err != nil || left <= 0 || left > account.SessionLifetime {
		t.Fatalf("%v, %v", left, err)
	}
	refused(chosen, "and another one", access.ErrUnauthenticated) // the old token is over
	if id, err := analytics.Authenticate(t.Context(), next); err != nil || id.WorkspaceID != w.made.WorkspaceID {
		t.Errorf("got %+v, %v", id, err)
	}
}
