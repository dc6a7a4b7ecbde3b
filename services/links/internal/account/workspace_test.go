package account_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/internal/access"
	"github.com/linkstream/linkstream/services/links/internal/account"
)

// owner's email is a member of the first workspace in every world.
const ownersEmail = "owner@x.test"

// workspace bootstraps another workspace and returns its id.
func (w *world) workspace(t *testing.T, name, email string) account.Made {
	t.Helper()
	made, err := account.Bootstrap(t.Context(), w.store, ring(t), cheap(), account.First{Workspace: name, Email: email, Domain: "go.test"})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// add makes a member and returns it with its password.
func (w *world) add(t *testing.T, workspace uuid.UUID, email string, role account.Role) (account.Member, string) {
	t.Helper()
	m, password, err := account.NewMembers(w.store, w.accounts).Add(t.Context(), workspace, uuid.Must(uuid.NewV7()), account.MemberSpec{Email: email, Role: role})
	if err != nil {
		t.Fatal(err)
	}
	return m, password
}

func (w *world) enter(t *testing.T, email, password string) string {
	t.Helper()
	token, err := w.accounts.LogIn(t.Context(), email, password)
	if err != nil {
		t.Fatalf("logging in as %s: %v", email, err)
	}
	return token
}

// opens says which workspace a token opens, with which role's scopes.
func (w *world) opens(t *testing.T, token string, workspace uuid.UUID, role account.Role) {
	t.Helper()
	id, err := w.accounts.Authenticate(t.Context(), token)
	if err != nil || id.WorkspaceID != workspace || !slices.Equal(id.Scopes, role.Scopes()) {
		t.Errorf("the token opens %+v, %v; want %s as %s", id, err, workspace, role)
	}
}

func (w *world) over(t *testing.T, token string) {
	t.Helper()
	if id, err := w.accounts.Authenticate(t.Context(), token); !errors.Is(err, access.ErrUnauthenticated) {
		t.Errorf("the token opens %+v, %v", id, err)
	}
}

func (w *world) text(t *testing.T, query string, args ...any) (text string) {
	t.Helper()
	if err := w.pool.QueryRow(t.Context(), query, args...).Scan(&text); err != nil {
		t.Fatal(err)
	}
	return text
}

// Guards I95.
func TestAddingAnEmailTellsNothingOfOtherWorkspaces(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	second := w.workspace(t, "second", "boss@x.test")
	account1 := `SELECT u::text FROM users u JOIN memberships m ON m.user_id = u.id WHERE u.email = '` + ownersEmail + `' AND m.workspace_id = '` + w.made.WorkspaceID.String() + `'`
	before := w.text(t, account1)

	// One email is known elsewhere, the other is not: the second workspace sees no difference.
	for _, email := range []string{ownersEmail, "nobody@x.test"} {
		m, password := w.add(t, second.WorkspaceID, email, account.Viewer)
		w.opens(t, w.enter(t, email, password), second.WorkspaceID, account.Viewer)
		if at := m.CreatedAt; at.Sub(w.now).Abs() > time.Millisecond {
			t.Errorf("%s was made at %v", email, at)
		}
		_, _, err := account.NewMembers(w.store, w.accounts).Add(t.Context(), second.WorkspaceID, uuid.Must(uuid.NewV7()), account.MemberSpec{Email: email, Role: account.Owner})
		if !errors.Is(err, account.ErrEmailTaken) {
			t.Errorf("%s twice: %v", email, err)
		}
		if _, err := w.accounts.LogIn(t.Context(), email, "guess"); !errors.Is(err, access.ErrUnauthenticated) {
			t.Errorf("%s with a guess: %v", email, err)
		}
	}
	// The account that was there is as it was, and opens what it opened.
	if after := w.text(t, account1); after != before {
		t.Errorf("the account is %s, was %s", after, before)
	}
	first := w.logIn(t)
	w.opens(t, first, w.made.WorkspaceID, account.Owner)
	list, err := w.accounts.Workspaces(t.Context(), first)
	if err != nil || len(list) != 1 || list[0].ID != w.made.WorkspaceID {
		t.Errorf("the owner's workspaces are %+v, %v", list, err)
	}
	// A guess is one computation, however many accounts there are: they share a salt.
	if n := w.text(t, `SELECT concat(count(*), ' ', count(DISTINCT split_part(password_hash, '$', 5))) FROM users WHERE email = $1`, ownersEmail); n != "2 1" {
		t.Errorf("accounts and salts: %s", n)
	}
	// Who has the same password in both is not led into the one that a workspace made.
	m, _, err := account.NewMembers(w.store, w.accounts).Add(t.Context(), w.workspace(t, "third", "third@x.test").WorkspaceID, uuid.Must(uuid.NewV7()),
		account.MemberSpec{Email: ownersEmail, Role: account.Owner, Password: w.made.Password})
	if err != nil {
		t.Fatal(err)
	}
	w.opens(t, w.logIn(t), w.made.WorkspaceID, account.Owner)
	if m.Email != ownersEmail {
		t.Errorf("got %+v", m)
	}
}

func TestBootstrapGivesItsUserASecondWorkspace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	second := w.workspace(t, "second", "Owner@X.test")
	if second.Password != "" || second.APIKey == "" || second.WorkspaceID == w.made.WorkspaceID {
		t.Fatalf("got %+v", second)
	}
	if again := w.workspace(t, "second", ownersEmail); again.WorkspaceID != second.WorkspaceID || again.APIKey != "" {
		t.Errorf("again: %+v", again)
	}
	token := w.logIn(t)
	list, err := w.accounts.Workspaces(t.Context(), token)
	if err != nil || len(list) != 2 || list[0].Name != "w" || list[1].Name != "second" || list[1].Role != account.Owner {
		t.Errorf("got %+v, %v", list, err)
	}
	// Never into an account that a workspace made: whoever made it knows its password.
	_, password := w.add(t, w.made.WorkspaceID, "chef@x.test", account.Editor)
	third := w.workspace(t, "third", "chef@x.test")
	if third.Password == "" {
		t.Fatal("the operator's user has the password that a workspace handed over")
	}
	w.opens(t, w.enter(t, "chef@x.test", password), w.made.WorkspaceID, account.Editor)
	w.opens(t, w.enter(t, "chef@x.test", third.Password), third.WorkspaceID, account.Owner)
}

// Guards I94.
func TestASessionMovesOnlyToWorkspacesOfItsUser(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	second := w.workspace(t, "second", ownersEmail)
	foreign := w.workspace(t, "foreign", "boss@x.test")
	w.exec(t, `UPDATE memberships SET role = 'viewer' WHERE workspace_id = $1`, second.WorkspaceID)
	old := w.logIn(t)
	w.now = w.now.Add(time.Hour)

	for _, to := range []uuid.UUID{foreign.WorkspaceID, uuid.New(), uuid.Nil} {
		if token, _, err := w.accounts.Switch(t.Context(), old, to); !errors.Is(err, access.ErrNotMember) || token != "" {
			t.Errorf("moving to %s: %q, %v", to, token, err)
		}
	}
	for _, no := range []string{"", w.made.APIKey, second.APIKey, "ls_ses_" + strings.Repeat("x", 43), old + "x"} {
		_, _, err1 := w.accounts.Switch(t.Context(), no, second.WorkspaceID)
		_, err2 := w.accounts.Workspaces(t.Context(), no)
		_, _, err3 := w.accounts.Join(t.Context(), no, "handed over", "long enough")
		if !errors.Is(err1, access.ErrUnauthenticated) || !errors.Is(err2, access.ErrUnauthenticated) || !errors.Is(err3, access.ErrUnauthenticated) {
			t.Errorf("%.20q: %v, %v, %v", no, err1, err2, err3)
		}
	}
	w.opens(t, old, w.made.WorkspaceID, account.Owner)

	moved, left, err := w.accounts.Switch(t.Context(), old, second.WorkspaceID)
	if err != nil || left.Round(time.Second) != account.SessionLifetime-time.Hour {
		t.Fatalf("%v left, %v", left, err)
	}
	// The role is that of the new workspace, at once; and the old token's time is over.
	w.opens(t, moved, second.WorkspaceID, account.Viewer)
	w.over(t, old)
	// The next log-in leads where this one went last.
	w.opens(t, w.logIn(t), second.WorkspaceID, account.Viewer)

	// A role that changes, and a membership that ends, are seen at the next question.
	w.exec(t, `UPDATE memberships SET role = 'editor' WHERE workspace_id = $1`, second.WorkspaceID)
	w.opens(t, moved, second.WorkspaceID, account.Editor)
	w.exec(t, `DELETE FROM memberships WHERE workspace_id = $1`, second.WorkspaceID)
	w.over(t, moved)
	if _, _, err := w.accounts.Switch(t.Context(), moved, second.WorkspaceID); !errors.Is(err, access.ErrNotMember) {
		t.Errorf("back to where there is no membership: %v", err)
	}
	back, _, err := w.accounts.Switch(t.Context(), moved, w.made.WorkspaceID)
	if err != nil {
		t.Fatal(err)
	}
	w.opens(t, back, w.made.WorkspaceID, account.Owner)
	w.now = w.now.Add(account.SessionLifetime)
	w.over(t, back)
	if _, _, err := w.accounts.Switch(t.Context(), back, w.made.WorkspaceID); !errors.Is(err, access.ErrUnauthenticated) {
		t.Errorf("a session that is over moves: %v", err)
	}
}

func TestRemovingAMemberEndsTheSessionsOfThatWorkspaceAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	second := w.workspace(t, "second", ownersEmail)
	w.add(t, second.WorkspaceID, "boss@x.test", account.Owner) // so that there is one left
	here := w.logIn(t)
	there, _, err := w.accounts.Switch(t.Context(), w.logIn(t), second.WorkspaceID)
	if err != nil {
		t.Fatal(err)
	}
	members := account.NewMembers(w.store, w.accounts)
	id := uuid.MustParse(w.text(t, `SELECT id::text FROM memberships WHERE workspace_id = $1 AND email = $2`, second.WorkspaceID, ownersEmail))
	// The id is that of the membership: another workspace's is not found.
	if err := members.Remove(t.Context(), w.workspace(t, "foreign", "f@x.test").WorkspaceID, id); !errors.Is(err, account.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	if err := members.Remove(t.Context(), second.WorkspaceID, id); err != nil {
		t.Fatal(err)
	}
	w.over(t, there)
	w.opens(t, here, w.made.WorkspaceID, account.Owner)
	if n := w.text(t, `SELECT count(*)::text FROM sessions`); n != "1" {
		t.Errorf("%s sessions are left", n)
	}
	if _, _, err := w.accounts.Switch(t.Context(), here, second.WorkspaceID); !errors.Is(err, access.ErrNotMember) {
		t.Errorf("moving to where one was removed: %v", err)
	}
}

// Guards I95.
func TestJoiningTakesBothPasswordsAndLeavesNeither(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	second := w.workspace(t, "second", "boss@x.test")
	members := account.NewMembers(w.store, w.accounts)
	id := uuid.Must(uuid.NewV7())
	spec := account.MemberSpec{Email: ownersEmail, Role: account.Editor}
	member, handedOver, err := members.Add(t.Context(), second.WorkspaceID, id, spec)
	if err != nil {
		t.Fatal(err)
	}
	_, others := w.add(t, second.WorkspaceID, "other@x.test", account.Owner)
	session, elsewhere, inviters := w.logIn(t), w.logIn(t), w.enter(t, ownersEmail, handedOver)
	seen := func() string {
		t.Helper()
		list, err := members.List(t.Context(), second.WorkspaceID, nil, 10)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(list)
	}
	before := seen()

	const fresh = "a password of my own"
	refused := func(name, given, fresh string, want error) {
		t.Helper()
		var wrong account.WrongError
		token, _, err := w.accounts.Join(t.Context(), session, given, fresh)
		if want == nil && !errors.As(err, &wrong) || want != nil && !errors.Is(err, want) || token != "" {
			t.Errorf("%s: %q, %v", name, token, err)
		}
	}
	refused("a guess", "guess", fresh, access.ErrWrongCredentials)
	refused("the own password", w.made.Password, fresh, access.ErrWrongCredentials)
	refused("another person's", others, fresh, access.ErrWrongCredentials)
	refused("a megabyte", strings.Repeat("x", 1<<20), fresh, access.ErrWrongCredentials)
	refused("the inviter would know it", handedOver, handedOver, nil)
	refused("a weak one", handedOver, "weak", nil)
	w.opens(t, session, w.made.WorkspaceID, account.Owner)

	joined, left, err := w.accounts.Join(t.Context(), session, handedOver, fresh)
	if err != nil || left.Round(time.Second) != account.SessionLifetime {
		t.Fatalf("%v, %v", left, err)
	}
	w.opens(t, joined, second.WorkspaceID, account.Editor)
	if list, err := w.accounts.Workspaces(t.Context(), joined); err != nil || len(list) != 2 || list[0].Name != "second" || list[1].Role != account.Owner {
		t.Errorf("got %+v, %v", list, err)
	}
	// Neither of the old passwords, and no session that one of them opened, is worth
	// anything: whoever knew one workspace's does not get into the other.
	for _, token := range []string{session, elsewhere, inviters} {
		w.over(t, token)
	}
	for _, password := range []string{handedOver, w.made.Password} {
		if _, err := w.accounts.LogIn(t.Context(), ownersEmail, password); !errors.Is(err, access.ErrUnauthenticated) {
			t.Errorf("an old password: %v", err)
		}
	}
	w.opens(t, w.enter(t, ownersEmail, fresh), second.WorkspaceID, account.Editor)
	// The workspace that was joined sees what it saw.
	if after := seen(); after != before {
		t.Errorf("the members are %s, were %s", after, before)
	}
	// The request that made the member, made again as if its end had not been seen, does
	// not set the password of what is another's account now.
	if _, _, err := members.Add(t.Context(), second.WorkspaceID, id, spec); !errors.Is(err, account.ErrEmailTaken) {
		t.Errorf("the same request again: %v", err)
	}
	w.enter(t, ownersEmail, fresh)
	// The operator's next workspace for the email comes to the one account.
	third := w.workspace(t, "third", ownersEmail)
	if list, err := w.accounts.Workspaces(t.Context(), joined); err != nil || len(list) != 3 || third.Password != "" {
		t.Errorf("got %+v, %v", list, err)
	}
	if err := members.Remove(t.Context(), second.WorkspaceID, member.ID); err != nil {
		t.Fatal(err)
	}
	w.over(t, joined)
	w.opens(t, w.enter(t, ownersEmail, fresh), w.made.WorkspaceID, account.Owner)
}

// The account that is left may be the one that a workspace made: what the operator does
// and what the workspace repeats is the same then.
func TestJoiningFromTheSideOfTheInvited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	second := w.workspace(t, "second", "boss@x.test")
	members := account.NewMembers(w.store, w.accounts)
	id := uuid.Must(uuid.NewV7())
	spec := account.MemberSpec{Email: ownersEmail, Role: account.Editor}
	if _, _, err := members.Add(t.Context(), second.WorkspaceID, id, spec); err != nil {
		t.Fatal(err)
	}
	// Until its person takes it, the request may be made again.
	_, handedOver, err := members.Add(t.Context(), second.WorkspaceID, id, spec)
	if err != nil {
		t.Fatal(err)
	}
	joined, _, err := w.accounts.Join(t.Context(), w.enter(t, ownersEmail, handedOver), w.made.Password, "a password of my own")
	if err != nil {
		t.Fatal(err)
	}
	w.opens(t, joined, w.made.WorkspaceID, account.Owner)
	if _, _, err := members.Add(t.Context(), second.WorkspaceID, id, spec); !errors.Is(err, account.ErrEmailTaken) {
		t.Errorf("the same request again: %v", err)
	}
	w.enter(t, ownersEmail, "a password of my own")
	if third := w.workspace(t, "third", ownersEmail); third.Password != "" {
		t.Errorf("the operator made another account: %+v", third)
	}
}

func TestALogInWithAPasswordThatWasChangedMeanwhile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	users, err := w.store.Users(t.Context(), ownersEmail)
	if err != nil || len(users) != 1 {
		t.Fatalf("%+v, %v", users, err)
	}
	w.exec(t, `UPDATE users SET password_hash = $1`, strings.Replace(users[0].PasswordHash, "t=1", "t=2", 1))
	if err := w.store.StartSession(t.Context(), []byte("hash"), users[0], w.now, w.now.Add(time.Hour)); !errors.Is(err, account.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	if n := w.text(t, `SELECT count(*)::text FROM sessions`); n != "0" {
		t.Errorf("%s sessions", n)
	}
}
