// Package account knows who may do what: API keys, users with passwords, and
// their dashboard sessions.
//
// It promises that what the database holds opens nothing: tokens are stored as a
// hash under a secret that is not in the database (see package keyring), passwords as
// argon2id. It refuses to say why a log-in failed, by its words as well as by the
// time it takes, and whether an email has an account in another workspace: an answer
// depends on an account only if the caller may see it as a member or has given its
// password.
package account

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/internal/access"
	"github.com/linkstream/linkstream/services/links/internal/keyring"
	"github.com/linkstream/linkstream/services/links/internal/password"
)

// SessionLifetime is how long a dashboard session lasts.
const SessionLifetime = 14 * 24 * time.Hour

// maxTokenLength bounds what is hashed and looked up at all.
const maxTokenLength = 256

// ErrNotFound says that there is no such key, session or user.
var ErrNotFound = errors.New("no such account")

// Role is what a user is in a workspace.
type Role string

// The closed list of roles, as the database has it.
const (
	Owner  Role = "owner"
	Editor Role = "editor"
	Viewer Role = "viewer"
)

// Scopes are what the role may do.
func (r Role) Scopes() []access.Scope {
	switch r {
	case Owner:
		return access.Scopes()
	case Editor:
		return []access.Scope{access.LinksRead, access.LinksWrite, access.AnalyticsRead}
	case Viewer:
		return []access.Scope{access.LinksRead, access.AnalyticsRead}
	default:
		return nil
	}
}

// Known is who an API key belongs to and what it may do.
type Known struct {
	ID, WorkspaceID uuid.UUID
	Scopes          []access.Scope
	Rate            *Rate
	// Hash is the one of the key's hashes that is stored.
	Hash []byte
}

// Session is a dashboard session as stored, without its token.
type Session struct {
	UserID, WorkspaceID uuid.UUID
	Email               string
	Role                Role
}

// User is who logs in, with the workspace that opens: the one opened last.
type User struct {
	ID, WorkspaceID uuid.UUID
	PasswordHash    string
}

// store is what accounts are kept in. Find methods return ErrNotFound.
type store interface {
	// FindKey returns the key with one of the hashes, if it is not revoked.
	FindKey(ctx context.Context, hashes [][]byte) (Known, error)
	// RehashKey replaces a key's hash.
	RehashKey(ctx context.Context, id uuid.UUID, from, to []byte) error
	// MarkUsed notes when keys were used last; it never moves a time back.
	MarkUsed(ctx context.Context, ids []uuid.UUID, at []time.Time) error
	// FindSession returns a session that is not over, of a user who still is a
	// member of the workspace.
	FindSession(ctx context.Context, hashes [][]byte, now time.Time) (Session, error)
	// Users returns the accounts with the email that are a member of some workspace: each
	// workspace may have made one. The operator's come first, then those whose person chose
	// the password, then the oldest.
	Users(ctx context.Context, email string) ([]User, error)
	// StartSession also forgets sessions that are over. It returns ErrNotFound when the
	// user is gone or has another password by now.
	StartSession(ctx context.Context, hash []byte, u User, now, expires time.Time) error
	EndSession(ctx context.Context, hashes [][]byte) error
	workspaceStore
	passwordStore
}

// Accounts checks tokens and passwords. It is safe for concurrent use.
type Accounts struct {
	store  store
	keys   *keyring.Keyring
	hasher *password.Hasher
	now    func() time.Time
	// decoy is checked when there is no such user, so that both take as long.
	decoy string

	mu sync.Mutex
	// used is when keys were used since it was last written. It has at most one entry
	// for each key that exists.
	used map[uuid.UUID]time.Time
}

// New returns accounts over a store. concurrent bounds how many passwords are
// hashed at the same time.
func New(ctx context.Context, s store, keys *keyring.Keyring, params password.Params, concurrent int, now func() time.Time) (*Accounts, error) {
	a := &Accounts{store: s, keys: keys, hasher: password.New(params, concurrent), now: now, used: map[uuid.UUID]time.Time{}}
	decoy, err := a.hasher.Hash(ctx, "nobody's password")
	if err != nil {
		return nil, err
	}
	a.decoy = decoy
	return a, nil
}

// Authenticate returns whose token it is, access.ErrUnauthenticated, or
// access.ErrUnavailable when the store cannot be asked.
func (a *Accounts) Authenticate(ctx context.Context, token string) (*access.Identity, error) {
	if len(token) > maxTokenLength {
		return nil, access.ErrUnauthenticated
	}
	switch {
	case strings.HasPrefix(token, KeyPrefix):
		return a.authenticateKey(ctx, token)
	case strings.HasPrefix(token, sessionPrefix):
		s, err := a.store.FindSession(ctx, a.keys.Hashes(token), a.now())
		if err != nil {
			return nil, translate(err)
		}
		return &access.Identity{WorkspaceID: s.WorkspaceID, Subject: s.UserID, Scopes: s.Role.Scopes(), Email: s.Email}, nil
	default:
		return nil, access.ErrUnauthenticated
	}
}

func (a *Accounts) authenticateKey(ctx context.Context, token string) (*access.Identity, error) {
	k, err := a.store.FindKey(ctx, a.keys.Hashes(token))
	if err != nil {
		return nil, translate(err)
	}
	if current := a.keys.Hash(token); !bytes.Equal(k.Hash, current) {
		// Stored under an older secret, or under none. Whoever comes first moves it.
		if err := a.store.RehashKey(ctx, k.ID, k.Hash, current); err != nil {
			return nil, translate(err)
		}
	}
	a.noteUse(k.ID)
	id := &access.Identity{WorkspaceID: k.WorkspaceID, Subject: k.ID, Scopes: k.Scopes}
	if k.Rate != nil {
		id.RateCapacity, id.RateRefillPerSecond = k.Rate.Capacity, k.Rate.RefillPerSecond
	}
	return id, nil
}

// LogIn starts a session and returns its token, access.ErrUnauthenticated, or
// access.ErrUnavailable.
func (a *Accounts) LogIn(ctx context.Context, email, given string) (string, error) {
	if len(given) > maxPassword || strings.ContainsRune(email, 0) {
		return "", access.ErrUnauthenticated
	}
	users, err := a.store.Users(ctx, normalEmail(email))
	if err != nil {
		return "", translate(err)
	}
	fitting, err := a.fitting(ctx, users, given)
	if err != nil {
		return "", translate(err)
	}
	if len(fitting) == 0 {
		return "", access.ErrUnauthenticated
	}
	token, err := newToken(sessionPrefix)
	if err != nil {
		return "", err
	}
	now := a.now()
	// With the same password in two accounts the first one opens: whoever makes an account
	// for somebody else's email leads nobody into it.
	if err := a.store.StartSession(ctx, a.keys.Hash(token), fitting[0], now, now.Add(SessionLifetime)); err != nil {
		return "", translate(err)
	}
	return token, nil
}

// fitting are those of the users who have the password. It takes as long for none as for
// some: accounts with one email share a salt (see hashFor), and nobody has the decoy's.
func (a *Accounts) fitting(ctx context.Context, users []User, given string) ([]User, error) {
	stored := make([]string, 0, len(users)+1)
	for _, u := range users {
		stored = append(stored, u.PasswordHash)
	}
	if len(stored) == 0 {
		stored = append(stored, a.decoy)
	}
	matches, err := a.hasher.Which(ctx, given, stored)
	if err != nil {
		return nil, err
	}
	var out []User
	for i, u := range users {
		if matches[i] {
			out = append(out, u)
		}
	}
	return out, nil
}

// hashFor is the hash of a password for another account beside the users, who have one
// email. It has their salt: were it another, guesses at the email's passwords would take
// as much longer as there are accounts, and tell of them.
func (a *Accounts) hashFor(ctx context.Context, users []User, given string) (string, error) {
	for _, u := range users {
		if phc, err := a.hasher.HashLike(ctx, given, u.PasswordHash); !errors.Is(err, password.ErrBadHash) {
			return phc, err
		}
	}
	return a.hasher.Hash(ctx, given)
}

// LogOut ends a session; ending an unknown one is no error.
func (a *Accounts) LogOut(ctx context.Context, token string) error {
	if !isSession(token) {
		return nil
	}
	if err := a.store.EndSession(ctx, a.keys.Hashes(token)); err != nil {
		return translate(err)
	}
	return nil
}

func translate(err error) error {
	if errors.Is(err, ErrNotFound) {
		return access.ErrUnauthenticated
	}
	if passedOn(err) {
		return err
	}
	return fmt.Errorf("%w: %w", access.ErrUnavailable, err)
}

// normalEmail is the form emails are stored in.
func normalEmail(email string) string { return strings.ToLower(strings.TrimSpace(email)) }
