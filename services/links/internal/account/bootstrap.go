package account

import (
	"context"
	"errors"
	"fmt"
	"net/mail"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/links/internal/keyring"
	"github.com/linkstream/linkstream/services/links/internal/password"
)

// First is what an empty installation needs before anybody can use it.
type First struct {
	Workspace string
	Email     string
	// Domain is the host of the default domain, in normal form.
	Domain string
	// Password and APIKey are made up when they are empty and none exist yet.
	Password, APIKey string
}

// Validate returns all mistakes, joined.
func (f *First) Validate() error {
	var errs []error
	if n := utf8.RuneCountInString(f.Workspace); n < 1 || n > 200 {
		errs = append(errs, errors.New("the workspace's name has 1 to 200 characters"))
	}
	if addr, err := mail.ParseAddress(f.Email); err != nil || addr.Address != f.Email {
		errs = append(errs, errors.New("the email must be one plain address"))
	}
	if f.Domain == "" {
		errs = append(errs, errors.New("the domain must be a host name, for instance go.example.com"))
	}
	if f.Password != "" {
		errs = append(errs, checkPassword(f.Password))
	}
	if f.APIKey != "" {
		errs = append(errs, checkKey(f.APIKey))
	}
	return errors.Join(errs...)
}

// Made is the outcome of a bootstrap. Password and APIKey are empty when they
// existed before and were not given: nobody can read them back.
type Made struct {
	WorkspaceID uuid.UUID `json:"workspace_id"`
	Email       string    `json:"email"`
	Password    string    `json:"password"`
	APIKey      string    `json:"api_key"`
}

// Bootstrapped is what the store's bootstrap transaction has to see to.
type Bootstrapped struct {
	Workspace, Email, Domain string
	// PasswordHash returns the hash to store, given the one that is stored ("" for a
	// new user); it returns the stored one to leave it as it is. like is the hash of
	// another account with the email, or "".
	PasswordHash func(ctx context.Context, stored, like string) (string, error)
	// Key returns hashes and shown prefix of the key to have, or nil for none, given
	// whether the workspace has a bootstrap key already. A key that is stored under one
	// of the hashes is that key; a new one is stored under the first.
	Key func(exists bool) (hashes [][]byte, prefix string, err error)
}

// bootstrapStore does it in one transaction, and none of it when it fails.
type bootstrapStore interface {
	Bootstrap(ctx context.Context, b Bootstrapped) (workspace uuid.UUID, err error)
}

// Bootstrap makes a workspace, its owner, the default domain and an API key with all
// scopes. Run again it adds what is missing and leaves the rest; a password that is
// given and differs replaces the old one. With another workspace and the same email the
// owner gets both. An account with the email that a workspace made is never added to:
// whoever made it may know its password.
func Bootstrap(ctx context.Context, s bootstrapStore, keys *keyring.Keyring, params password.Params, f First) (Made, error) {
	if err := f.Validate(); err != nil {
		return Made{}, err
	}
	made := Made{Email: normalEmail(f.Email), Password: f.Password, APIKey: f.APIKey}
	h := password.New(params, 1)
	workspace, err := s.Bootstrap(ctx, Bootstrapped{
		Workspace: f.Workspace,
		Email:     made.Email,
		Domain:    f.Domain,
		PasswordHash: func(ctx context.Context, stored, like string) (string, error) {
			if stored != "" && made.Password == "" {
				return stored, nil
			}
			if made.Password == "" {
				fresh, err := newToken("")
				if err != nil {
					return "", err
				}
				made.Password = fresh
			}
			if stored != "" {
				if same, err := h.Matches(ctx, made.Password, stored); err == nil && same {
					return stored, nil
				}
			}
			if stored != "" {
				like = stored
			}
			if like != "" {
				return h.HashLike(ctx, made.Password, like)
			}
			return h.Hash(ctx, made.Password)
		},
		Key: func(exists bool) ([][]byte, string, error) {
			if made.APIKey == "" && exists {
				return nil, "", nil
			}
			if made.APIKey == "" {
				key, err := newToken(KeyPrefix)
				if err != nil {
					return nil, "", err
				}
				made.APIKey = key
			}
			return keys.Hashes(made.APIKey), made.APIKey[:shownPrefix], nil
		},
	})
	if err != nil {
		return Made{}, fmt.Errorf("making the first workspace: %w", err)
	}
	made.WorkspaceID = workspace
	return made, nil
}
