package account

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/internal/access"
)

// Workspace is one that a user is a member of.
type Workspace struct {
	ID   uuid.UUID
	Name string
	Role Role
}

// Joining is what becomes of accounts that are found to be one person's.
type Joining struct {
	// Keep is the account of the session, which stays; Others are those that go, with the
	// passwords that they were found by.
	Keep   uuid.UUID
	Others []User
	// PasswordHash is Keep's from now on.
	PasswordHash string
	// Hashes are those that the session's token may be stored under, Hash is the one that
	// its new token is stored under.
	Hashes [][]byte
	Hash   []byte
	At     time.Time
}

// workspaceStore is what several workspaces of one user are kept in. Where there is no
// such session, the error is ErrNotFound.
type workspaceStore interface {
	// Workspaces returns those that a user is a member of, the one opened last first.
	Workspaces(ctx context.Context, user uuid.UUID) ([]Workspace, error)
	// MoveSession gives a session another workspace and token, and returns when it ends. It
	// returns access.ErrNotMember when its user is no member of the workspace.
	MoveSession(ctx context.Context, hashes [][]byte, hash []byte, workspace uuid.UUID, now time.Time) (time.Time, error)
	// Join moves all memberships to the account that is kept, sets its password, and ends
	// every session of all but the one that asks. It returns access.ErrWrongCredentials
	// when one of the others has another password by now.
	Join(ctx context.Context, j Joining) (time.Time, error)
}

// Workspaces returns the workspaces of a session's user, the one opened last first, or
// access.ErrUnauthenticated when the token is no session's.
func (a *Accounts) Workspaces(ctx context.Context, token string) ([]Workspace, error) {
	session, err := a.session(ctx, token)
	if err != nil {
		return nil, err
	}
	workspaces, err := a.store.Workspaces(ctx, session.UserID)
	if err != nil {
		return nil, translate(err)
	}
	return workspaces, nil
}

// Switch moves a session to another workspace of its user and returns its new token and
// how long it lasts, which is no longer than before. The token changes because others
// remember for a moment whose the old one is: with it, their answers would be the old
// workspace's. It returns access.ErrNotMember, also for a workspace that there is not.
func (a *Accounts) Switch(ctx context.Context, token string, workspace uuid.UUID) (string, time.Duration, error) {
	if !isSession(token) {
		return "", 0, access.ErrUnauthenticated
	}
	fresh, err := newToken(sessionPrefix)
	if err != nil {
		return "", 0, err
	}
	now := a.now()
	ends, err := a.store.MoveSession(ctx, a.keys.Hashes(token), a.keys.Hash(fresh), workspace, now)
	if err != nil {
		return "", 0, translate(err)
	}
	return fresh, ends.Sub(now), nil
}

// Join makes one account of a session's and of the others with its email that have the
// given password: those that other workspaces made for this person. Whoever made them
// knows that password, and whoever made the session's may know its, so the one account
// gets a new one, and all other sessions end. It returns access.ErrWrongCredentials when
// no other account has the password, and a WrongError for an unfit new one.
func (a *Accounts) Join(ctx context.Context, token, given, fresh string) (string, time.Duration, error) {
	if err := checkPassword(fresh); err != nil {
		return "", 0, WrongError{{Field: "new_password", Code: "invalid", Detail: err.Error()}}
	}
	session, err := a.session(ctx, token)
	if err != nil {
		return "", 0, err
	}
	if given == fresh {
		return "", 0, WrongError{{Field: "new_password", Code: "invalid", Detail: "choose another password than the one that was handed over"}}
	}
	if len(given) > maxPassword {
		return "", 0, access.ErrWrongCredentials
	}
	users, err := a.store.Users(ctx, session.Email)
	if err != nil {
		return "", 0, translate(err)
	}
	others, err := a.fitting(ctx, users, given)
	if err != nil {
		return "", 0, translate(err)
	}
	j := Joining{Keep: session.UserID, Hashes: a.keys.Hashes(token), At: a.now()}
	for _, u := range others {
		if u.ID != session.UserID {
			j.Others = append(j.Others, u)
		}
	}
	if len(j.Others) == 0 {
		return "", 0, access.ErrWrongCredentials
	}
	if j.PasswordHash, err = a.hashFor(ctx, users, fresh); err != nil {
		return "", 0, translate(err)
	}
	next, err := newToken(sessionPrefix)
	if err != nil {
		return "", 0, err
	}
	j.Hash = a.keys.Hash(next)
	ends, err := a.store.Join(ctx, j)
	if err != nil {
		return "", 0, translate(err)
	}
	return next, ends.Sub(j.At), nil
}

func (a *Accounts) session(ctx context.Context, token string) (Session, error) {
	if !isSession(token) {
		return Session{}, access.ErrUnauthenticated
	}
	s, err := a.store.FindSession(ctx, a.keys.Hashes(token), a.now())
	if err != nil {
		return Session{}, translate(err)
	}
	return s, nil
}

func isSession(token string) bool {
	return strings.HasPrefix(token, sessionPrefix) && len(token) <= maxTokenLength
}

// passedOn are errors that callers are told as they are.
func passedOn(err error) bool {
	return errors.Is(err, access.ErrNotMember) || errors.Is(err, access.ErrWrongCredentials)
}
