package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/internal/access"
)

// Bounds of what may be said about a key.
const (
	maxName = 200

	// MaxRateCapacity and MaxRateRefill bound a key's own limit: more is none.
	MaxRateCapacity = 1_000_000
	MaxRateRefill   = 1_000_000
	// MinRateRefill is one request in eleven days.
	MinRateRefill = 1e-6
)

// Rate is a key's own limit: a bucket of Capacity requests that fills up again.
type Rate struct {
	Capacity        int
	RefillPerSecond float64
}

// KeySpec is what a caller says about a key.
type KeySpec struct {
	Name   string
	Scopes []access.Scope
	// Rate is nil for the installation's default.
	Rate *Rate
}

// Key is an API key as its owners see it later: without the key itself.
type Key struct {
	ID uuid.UUID
	KeySpec
	// Prefix is the beginning of the key, to recognise it by.
	Prefix    string
	CreatedAt time.Time
	// LastUsedAt is late by up to UseInterval; nil means never.
	LastUsedAt *time.Time
}

// KeyEdit is what changes of a key; what is not set stays.
type KeyEdit struct {
	Name   *string
	Scopes []access.Scope
	// SetRate says whether Rate (nil: the default) is meant.
	SetRate bool
	Rate    *Rate
}

// NewKey is a key to be stored.
type NewKey struct {
	Key
	WorkspaceID uuid.UUID
	Hash        []byte
}

// Position is a place in a list of keys or users, which is ordered by creation,
// newest first, and then by id.
type Position struct {
	CreatedAt time.Time
	ID        uuid.UUID
}

// keyStore is what keys are kept in. A key that is not the workspace's, or is
// revoked, is ErrNotFound.
type keyStore interface {
	// PutKey stores a key. One with the same id gets the new hash: nobody has seen
	// the key that it was made with.
	PutKey(ctx context.Context, k NewKey) (Key, error)
	Key(ctx context.Context, workspace, id uuid.UUID) (Key, error)
	Keys(ctx context.Context, workspace uuid.UUID, after *Position, limit int) ([]Key, error)
	EditKey(ctx context.Context, workspace, id uuid.UUID, e KeyEdit) (Key, error)
	RevokeKey(ctx context.Context, workspace, id uuid.UUID, now time.Time) error
}

// Wrong is what is wrong with one field of a request.
type Wrong struct{ Field, Code, Detail string }

// WrongError is a request with wrong fields.
type WrongError []Wrong

// Error implements error.
func (w WrongError) Error() string { return fmt.Sprintf("%d wrong fields: %v", len(w), []Wrong(w)) }

func (w *WrongError) add(field, code, detail string) {
	*w = append(*w, Wrong{Field: field, Code: code, Detail: detail})
}

func (w WrongError) err() error {
	if len(w) == 0 {
		return nil
	}
	return w
}

// Check returns what is wrong with the spec as a WrongError.
func (s *KeySpec) Check() error {
	var wrong WrongError
	checkName(s.Name, &wrong)
	s.Scopes = checkScopes(s.Scopes, &wrong)
	checkRate(s.Rate, &wrong)
	return wrong.err()
}

// Check returns what is wrong with the edit as a WrongError.
func (e *KeyEdit) Check() error {
	var wrong WrongError
	if e.Name != nil {
		checkName(*e.Name, &wrong)
	}
	if e.Scopes != nil {
		e.Scopes = checkScopes(e.Scopes, &wrong)
	}
	checkRate(e.Rate, &wrong)
	return wrong.err()
}

// checkScopes orders the scopes as access.Scopes does, each once.
func checkScopes(given []access.Scope, wrong *WrongError) []access.Scope {
	has := map[access.Scope]bool{}
	for _, scope := range given {
		has[scope] = true
	}
	var out []access.Scope
	for _, scope := range access.Scopes() {
		if has[scope] {
			out = append(out, scope)
			delete(has, scope)
		}
	}
	switch {
	case len(has) > 0:
		wrong.add("scopes", "invalid", "the scopes are links:read, links:write, analytics:read and admin")
	case len(out) == 0:
		wrong.add("scopes", "required", "a key without a scope could do nothing")
	}
	return out
}

func checkRate(r *Rate, wrong *WrongError) {
	if r == nil {
		return
	}
	if r.Capacity < 1 || r.Capacity > MaxRateCapacity {
		wrong.add("rate_limit.capacity", "invalid", "the capacity is a whole number from 1 to 1,000,000")
	}
	if !(r.RefillPerSecond >= MinRateRefill && r.RefillPerSecond <= MaxRateRefill) {
		wrong.add("rate_limit.refill_per_second", "invalid", "the refill is a number from 0.000001 to 1,000,000")
	}
}

// Keys makes, shows and revokes API keys.
type Keys struct {
	store    keyStore
	accounts *Accounts
}

// NewKeys returns the keys of a store.
func NewKeys(store keyStore, accounts *Accounts) *Keys {
	return &Keys{store: store, accounts: accounts}
}

// Make stores a new key and returns it with the key itself, which is not shown
// again. id is the key's id; making the same id again gives it another key.
func (k *Keys) Make(ctx context.Context, workspace, id uuid.UUID, spec KeySpec) (Key, string, error) {
	if err := spec.Check(); err != nil {
		return Key{}, "", err
	}
	token, err := newToken(KeyPrefix)
	if err != nil {
		return Key{}, "", err
	}
	made, err := k.store.PutKey(ctx, NewKey{
		Key:         Key{ID: id, KeySpec: spec, Prefix: token[:shownPrefix], CreatedAt: k.accounts.now()},
		WorkspaceID: workspace, Hash: k.accounts.keys.Hash(token),
	})
	return made, token, storeError(err)
}

// Get returns a key of the workspace.
func (k *Keys) Get(ctx context.Context, workspace, id uuid.UUID) (Key, error) {
	found, err := k.store.Key(ctx, workspace, id)
	return found, storeError(err)
}

// List returns at most limit keys of the workspace, newest first.
func (k *Keys) List(ctx context.Context, workspace uuid.UUID, after *Position, limit int) ([]Key, error) {
	keys, err := k.store.Keys(ctx, workspace, after, limit)
	return keys, storeError(err)
}

// Edit changes a key.
func (k *Keys) Edit(ctx context.Context, workspace, id uuid.UUID, e KeyEdit) (Key, error) {
	if err := e.Check(); err != nil {
		return Key{}, err
	}
	edited, err := k.store.EditKey(ctx, workspace, id, e)
	return edited, storeError(err)
}

// Revoke ends a key for good.
func (k *Keys) Revoke(ctx context.Context, workspace, id uuid.UUID) error {
	return storeError(k.store.RevokeKey(ctx, workspace, id, k.accounts.now()))
}

// storeError lets through what callers tell apart; all else means that the store
// cannot be asked.
func storeError(err error) error {
	if err == nil || errors.Is(err, ErrNotFound) || errors.Is(err, ErrEmailTaken) || errors.Is(err, ErrLastOwner) {
		return err
	}
	return fmt.Errorf("%w: %w", access.ErrUnavailable, err)
}
