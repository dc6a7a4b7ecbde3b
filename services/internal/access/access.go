// Package access tells a service who is calling: it asks the links service,
// which owns keys and sessions, and remembers the answer for a moment.
//
// It promises that a revoked token stops working within CacheTTL everywhere. It
// refuses to guess: when the links service cannot be asked, the caller gets
// ErrUnavailable, never access.
package access

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
)

// Scope is one thing that a token may do.
type Scope string

// The closed list of scopes. ScopeAdmin includes all others.
const (
	LinksRead     Scope = "links:read"
	LinksWrite    Scope = "links:write"
	AnalyticsRead Scope = "analytics:read"
	Admin         Scope = "admin"
)

// Scopes lists them all.
func Scopes() []Scope { return []Scope{LinksRead, LinksWrite, AnalyticsRead, Admin} }

// What can go wrong with a token.
var (
	ErrUnauthenticated = errors.New("the token is unknown, revoked or expired")
	ErrUnavailable     = errors.New("tokens cannot be checked right now")
	// ErrNotMember: there is no such workspace, or the session's user is no member of it.
	ErrNotMember = errors.New("no such workspace of this user")
	// ErrWrongCredentials: no other account of the session's email has the password or,
	// where it is changed, the session's own has another.
	ErrWrongCredentials = errors.New("no such account has this password")
	// ErrUnfitPassword: the new password is too short, too long, or one that others know.
	ErrUnfitPassword = errors.New("the new password cannot be one")
	// ErrSamePassword: the new password is the one that it should replace.
	ErrSamePassword = errors.New("the new password is the current one")
)

// Identity is who a token belongs to.
type Identity struct {
	WorkspaceID uuid.UUID
	// Subject is the id of the API key or of the user.
	Subject uuid.UUID
	Scopes  []Scope
	// Email is set for a dashboard session only.
	Email string
	// RateCapacity (requests) and RateRefillPerSecond are the API key's own limit; zero
	// when it has none, and for sessions.
	RateCapacity        int
	RateRefillPerSecond float64
}

// May says whether the identity has a scope.
func (i *Identity) May(s Scope) bool {
	return slices.Contains(i.Scopes, s) || slices.Contains(i.Scopes, Admin)
}

type contextKey struct{}

// WithIdentity returns a context that carries the identity of a request.
func WithIdentity(ctx context.Context, id *Identity) context.Context {
	return context.WithValue(ctx, contextKey{}, id)
}

// FromContext returns the identity of an authenticated request. Asking outside
// one is a mistake of the program and an error.
func FromContext(ctx context.Context) (*Identity, error) {
	id, ok := ctx.Value(contextKey{}).(*Identity)
	if !ok {
		return nil, fmt.Errorf("no identity in the context: %w", ErrUnauthenticated)
	}
	return id, nil
}
