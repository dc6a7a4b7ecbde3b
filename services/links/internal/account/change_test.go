package account_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/internal/access"
	"github.com/linkstream/linkstream/services/links/internal/account"
)

const chosen = "a password of my own"

// Guards I100.
func TestAChangedPasswordEndsEverySessionButTheOneInUse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	second := w.workspace(t, "second", ownersEmail)
	// Another account of the email, and another person, who are not meant.
	elsewhere := w.workspace(t, "elsewhere", "boss@x.test")
	_, handedOver := w.add(t, elsewhere.WorkspaceID, ownersEmail, account.Editor)
	theirs, boss := w.enter(t, ownersEmail, handedOver), w.enter(t, "boss@x.test", elsewhere.Password)
	session, here := w.logIn(t), w.logIn(t)
	there, _, err := w.accounts.Switch(t.Context(), w.logIn(t), second.WorkspaceID)
	if err != nil {
		t.Fatal(err)
	}
	w.now = w.now.Add(time.Hour)

	refused := func(name, given, fresh string, want error) {
		t.Helper()
		var wrong account.WrongError
		token, _, err := w.accounts.ChangePassword(t.Context(), session, given, fresh)
		if want == nil && !errors.As(err, &wrong) || want != nil && !errors.Is(err, want) || token != "" {
			t.Errorf("%s: %q, %v", name, token, err)
		}
	}
	refused("a guess", "guess", chosen, access.ErrWrongCredentials)
	refused("the other account's", handedOver, chosen, access.ErrWrongCredentials)
	refused("a megabyte", strings.Repeat("x", 1<<20), chosen, access.ErrWrongCredentials)
	refused("the same", w.made.Password, w.made.Password, access.ErrSamePassword)
	refused("the same guess", "a long guess", "a long guess", access.ErrSamePassword)
	refused("seven bytes", w.made.Password, "seven b", nil)
	refused("a long one", w.made.Password, strings.Repeat("x", 1025), nil)
	for _, no := range []string{"", w.made.APIKey, "ls_ses_" + strings.Repeat("x", 43), session + "x"} {
		if _, _, err := w.accounts.ChangePassword(t.Context(), no, w.made.Password, chosen); !errors.Is(err, access.ErrUnauthenticated) {
			t.Errorf("%.20q: %v", no, err)
		}
	}
	for _, token := range []string{session, here} {
		w.opens(t, token, w.made.WorkspaceID, account.Owner)
	}

	changed, left, err := w.accounts.ChangePassword(t.Context(), session, w.made.Password, chosen)
	if err != nil || left.Round(time.Second) != account.SessionLifetime-time.Hour {
		t.Fatalf("%v, %v", left, err)
	}
	w.opens(t, changed, w.made.WorkspaceID, account.Owner)
	for _, token := range []string{session, here, there} {
		w.over(t, token)
	}
	w.opens(t, theirs, elsewhere.WorkspaceID, account.Editor)
	w.opens(t, boss, elsewhere.WorkspaceID, account.Owner)
	if _, err := w.accounts.LogIn(t.Context(), ownersEmail, w.made.Password); !errors.Is(err, access.ErrUnauthenticated) {
		t.Errorf("the old password: %v", err)
	}
	w.opens(t, w.enter(t, ownersEmail, chosen), second.WorkspaceID, account.Owner)
	w.opens(t, w.enter(t, ownersEmail, handedOver), elsewhere.WorkspaceID, account.Editor)
	// A guess still is one computation.
	if n := w.text(t, `SELECT concat(count(*), ' ', count(DISTINCT split_part(password_hash, '$', 5))) FROM users WHERE email = $1`, ownersEmail); n != "2 1" {
		t.Errorf("accounts and salts: %s", n)
	}
}

// Whoever made an account cannot set a password that its person has chosen, nor put it in
// front of the operator's by choosing one themselves.
func TestAPasswordThatWasChosenIsItsPersons(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	members := account.NewMembers(w.store, w.accounts)
	id := uuid.Must(uuid.NewV7())
	spec := account.MemberSpec{Email: "ada@x.test", Role: account.Viewer}
	_, handedOver, err := members.Add(t.Context(), w.made.WorkspaceID, id, spec)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.accounts.ChangePassword(t.Context(), w.enter(t, "ada@x.test", handedOver), handedOver, chosen); err != nil {
		t.Fatal(err)
	}
	if _, _, err := members.Add(t.Context(), w.made.WorkspaceID, id, spec); !errors.Is(err, account.ErrEmailTaken) {
		t.Errorf("the request that made the account, again: %v", err)
	}
	w.opens(t, w.enter(t, "ada@x.test", chosen), w.made.WorkspaceID, account.Viewer)

	// The operator's account is younger, and has the same password.
	second, err := account.Bootstrap(t.Context(), w.store, ring(t), cheap(), account.First{Workspace: "second", Email: "ada@x.test", Domain: "go.test", Password: chosen})
	if err != nil {
		t.Fatal(err)
	}
	w.opens(t, w.enter(t, "ada@x.test", chosen), second.WorkspaceID, account.Owner)
}

// Guards I100.
func TestOfTwoChangesAtTheSameTimeOneWins(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 10 {
		// Two of one session, as two tabs have it, and two of others.
		shared := w.logIn(t)
		sessions := []string{shared, shared, w.logIn(t), w.logIn(t)}
		type outcome struct {
			token, password string
			err             error
		}
		outcomes := make([]outcome, len(sessions))
		var wait sync.WaitGroup
		for i, token := range sessions {
			wait.Go(func() {
				o := &outcomes[i]
				o.password = uuid.NewString()
				o.token, _, o.err = w.accounts.ChangePassword(t.Context(), token, w.made.Password, o.password)
			})
		}
		wait.Wait()
		won := -1
		for i, o := range outcomes {
			switch {
			case o.err == nil && won < 0:
				won = i
			case !errors.Is(o.err, access.ErrWrongCredentials) && !errors.Is(o.err, access.ErrUnauthenticated):
				t.Errorf("%d: %v beside %d", i, o.err, won)
			}
		}
		if won < 0 {
			t.Fatalf("nobody changed it: %v", outcomes)
		}
		for i, o := range outcomes {
			if _, err := w.accounts.LogIn(t.Context(), ownersEmail, o.password); (err == nil) != (i == won) {
				t.Errorf("%d with %d's password: %v", won, i, err)
			}
		}
		for _, token := range sessions {
			w.over(t, token)
		}
		w.opens(t, outcomes[won].token, w.made.WorkspaceID, account.Owner)
		w.made.Password = outcomes[won].password
	}
}

// A change that was compared before another one, and is stored after it, changes nothing.
//
// Guards I100.
func TestAChangeOfAPasswordThatWasChangedMeanwhile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	users, err := w.store.Users(t.Context(), ownersEmail)
	if err != nil || len(users) != 1 {
		t.Fatalf("%+v, %v", users, err)
	}
	first, second := w.logIn(t), w.logIn(t)
	hashes := ring(t).Hashes
	c := account.Change{User: users[0].ID, From: users[0].PasswordHash, To: "mine", Hashes: hashes(second), Hash: []byte("next"), At: w.now}
	// A session that is over changes nothing either.
	gone := c
	gone.Hashes = hashes(second + "x")
	if _, err := w.store.ChangePassword(t.Context(), gone); !errors.Is(err, account.ErrNotFound) {
		t.Errorf("without a session: %v", err)
	}
	w.opens(t, second, w.made.WorkspaceID, account.Owner)
	changed, _, err := w.accounts.ChangePassword(t.Context(), first, w.made.Password, chosen)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.store.ChangePassword(t.Context(), c); !errors.Is(err, access.ErrWrongCredentials) {
		t.Errorf("got %v", err)
	}
	w.opens(t, changed, w.made.WorkspaceID, account.Owner)
	w.enter(t, ownersEmail, chosen)
}

// Nobody waits in a circle, and no session that the old password opened is left.
//
// Guards I100.
func TestChangesLogInsAndMovesAtTheSameTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	members := account.NewMembers(w.store, w.accounts)
	for range 10 {
		second := w.workspace(t, uuid.NewString(), ownersEmail)
		w.add(t, second.WorkspaceID, "boss@x.test", account.Owner)
		id := uuid.MustParse(w.text(t, `SELECT id::text FROM memberships WHERE workspace_id = $1 AND email = $2`, second.WorkspaceID, ownersEmail))
		session, moving, old, fresh := w.logIn(t), w.logIn(t), w.made.Password, uuid.NewString()
		var entered, moved, changed string
		errs := make([]error, 4)
		var wait sync.WaitGroup
		for i, do := range []func() error{
			func() (err error) {
				changed, _, err = w.accounts.ChangePassword(t.Context(), session, old, fresh)
				return err
			},
			func() (err error) { entered, err = w.accounts.LogIn(t.Context(), ownersEmail, old); return err },
			func() (err error) {
				moved, _, err = w.accounts.Switch(t.Context(), moving, second.WorkspaceID)
				return err
			},
			func() error { return members.Remove(t.Context(), second.WorkspaceID, id) },
		} {
			wait.Go(func() { errs[i] = do() })
		}
		wait.Wait()
		if errs[0] != nil || errs[3] != nil {
			t.Fatalf("changing and removing: %v", errs)
		}
		for _, err := range errs[1:3] {
			if err != nil && !errors.Is(err, access.ErrUnauthenticated) && !errors.Is(err, access.ErrNotMember) {
				t.Errorf("got %v", errs)
			}
		}
		for _, token := range []string{entered, moved, moving, session} {
			w.over(t, token)
		}
		w.opens(t, changed, w.made.WorkspaceID, account.Owner)
		w.made.Password = fresh
	}
}

// Whoever is removed at that moment is removed, and neither waits for the other for good.
func TestAChangeWhileItsPersonIsRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	members := account.NewMembers(w.store, w.accounts)
	for range 20 {
		m, handedOver := w.add(t, w.made.WorkspaceID, uuid.NewString()+"@x.test", account.Viewer)
		session, other := w.enter(t, m.Email, handedOver), w.enter(t, m.Email, handedOver)
		var token string
		var changing, removing error
		var wait sync.WaitGroup
		wait.Go(func() { token, _, changing = w.accounts.ChangePassword(t.Context(), session, handedOver, chosen) })
		wait.Go(func() { removing = members.Remove(t.Context(), w.made.WorkspaceID, m.ID) })
		wait.Wait()
		if removing != nil || changing != nil && !errors.Is(changing, access.ErrUnauthenticated) {
			t.Errorf("changing: %v, removing: %v", changing, removing)
		}
		for _, token := range []string{token, session, other} {
			w.over(t, token)
		}
	}
	if n := w.text(t, `SELECT concat(count(*), ' ', (SELECT count(*) FROM sessions)) FROM users`); n != "1 0" {
		t.Errorf("users and sessions: %s", n)
	}
}
