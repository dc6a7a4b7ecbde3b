// Package account knows who may do what: API keys, users with passwords, and
// their dashboard sessions.
//
// It promises that what the database holds opens nothing: tokens are stored as a
// hash under a secret that is not in the database (see package keyring), passwords as
// argon2id. It refuses to say why a log-in failed, by its words as well as by the
// time it takes.
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

// User is who logs in, with the workspace that opens.
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
	// FindUser returns a user who is a member of some workspace.
	FindUser(ctx context.Context, email string) (User, error)
	// StartSession also forgets sessions that are over.
	StartSession(ctx context.Context, hash []byte, u User, now, expires time.Time) error
	EndSession(ctx context.Context, hashes [][]byte) error
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
	user, err := a.store.FindUser(ctx, normalEmail(email))
	unknown := errors.Is(err, ErrNotFound)
	if err != nil && !unknown {
		return "", translate(err)
	}
	stored := user.PasswordHash
	if unknown {
		stored = a.decoy
	}
	matches, err := a.hasher.Matches(ctx, given, stored)
	if err != nil {
		return "", translate(err)
	}
	if unknown || !matches {
		return "", access.ErrUnauthenticated
	}
	token, err := newToken(sessionPrefix)
	if err != nil {
		return "", err
	}
	now := a.now()
	if err := a.store.StartSession(ctx, a.keys.Hash(token), user, now, now.Add(SessionLifetime)); err != nil {
		return "", translate(err)
	}
	return token, nil
}

// LogOut ends a session; ending an unknown one is no error.
func (a *Accounts) LogOut(ctx context.Context, token string) error {
	if !strings.HasPrefix(token, sessionPrefix) || len(token) > maxTokenLength {
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
	return fmt.Errorf("%w: %w", access.ErrUnavailable, err)
}

// normalEmail is the form emails are stored in.
func normalEmail(email string) string { return strings.ToLower(strings.TrimSpace(email)) }
