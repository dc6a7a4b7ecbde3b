package account

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/internal/access"
)

// Change is a password that is replaced by another.
type Change struct {
	User uuid.UUID
	// From is the hash that the current password was compared with, To the one that
	// replaces it.
	From, To string
	// Hashes are those that the session's token may be stored under, Hash is the one that
	// its new token is stored under.
	Hashes [][]byte
	Hash   []byte
	At     time.Time
}

// passwordStore is what passwords that people choose are kept in.
type passwordStore interface {
	// ChangePassword replaces a user's password and ends all their sessions but the one that
	// asks; it returns when that ends. It returns access.ErrWrongCredentials when the user has
	// another password by now, and ErrNotFound when the session is over.
	ChangePassword(ctx context.Context, c Change) (time.Time, error)
}

// ChangePassword gives a session's user another password for all their workspaces and
// returns the session's new token and how long it lasts, which is no longer than before.
// All their other sessions end: whoever knew the old password may have one. It returns
// access.ErrWrongCredentials when the given password is not the current one,
// access.ErrSamePassword, and a WrongError for an unfit new one.
func (a *Accounts) ChangePassword(ctx context.Context, token, given, fresh string) (string, time.Duration, error) {
	if err := checkPassword(fresh); err != nil {
		return "", 0, WrongError{{Field: "new_password", Code: "invalid", Detail: err.Error()}}
	}
	session, err := a.session(ctx, token)
	if err != nil {
		return "", 0, err
	}
	if given == fresh {
		// Said before anything is compared, so that it tells nothing of the password.
		return "", 0, access.ErrSamePassword
	}
	if len(given) > maxPassword {
		return "", 0, access.ErrWrongCredentials
	}
	users, err := a.store.Users(ctx, session.Email)
	if err != nil {
		return "", 0, translate(err)
	}
	c := Change{User: session.UserID, Hashes: a.keys.Hashes(token), At: a.now()}
	// Not the email's other accounts: who gives their password joins them.
	if c.From, err = a.own(ctx, users, session.UserID, given); err != nil {
		return "", 0, translate(err)
	}
	if c.To, err = a.hashFor(ctx, users, fresh); err != nil {
		return "", 0, translate(err)
	}
	next, err := newToken(sessionPrefix)
	if err != nil {
		return "", 0, err
	}
	c.Hash = a.keys.Hash(next)
	ends, err := a.store.ChangePassword(ctx, c)
	if err != nil {
		return "", 0, translate(err)
	}
	return next, ends.Sub(c.At), nil
}

// own is the hash of the user's password, if it is the given one; else it returns
// access.ErrWrongCredentials.
func (a *Accounts) own(ctx context.Context, users []User, id uuid.UUID, given string) (string, error) {
	for _, u := range users {
		if u.ID != id {
			continue
		}
		same, err := a.hasher.Matches(ctx, given, u.PasswordHash)
		if err != nil {
			return "", err
		}
		if same {
			return u.PasswordHash, nil
		}
		return "", access.ErrWrongCredentials
	}
	return "", ErrNotFound // removed since the session was read
}
