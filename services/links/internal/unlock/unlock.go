// Package unlock keeps the passwords of links: it hashes those that owners set, and
// compares what visitors type.
//
// It promises that a password is stored as argon2id only; that a link whose password was
// set anew, were it to the same, has another unlock key, which ends every visitor's cookie;
// and that there is a bound to what guesses cost: so many are compared at a time, so many
// wait, and the next one is refused. It refuses to count guesses: edges do, before they
// ask.
package unlock

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"golang.org/x/text/unicode/norm"

	"github.com/linkstream/linkstream/services/links/internal/keyring"
	"github.com/linkstream/linkstream/services/links/internal/link"
	"github.com/linkstream/linkstream/services/links/internal/password"
)

// ErrBusy says that too many guesses are being compared already.
var ErrBusy = errors.New("too many passwords are being compared")

const (
	// unlockKeyBytes is as much as the hash of the cookie's signature has.
	unlockKeyBytes = 32

	// maxWaiting bounds the guesses that wait or are compared. At 0.03 s each, on one
	// core, the last of them has its answer in two seconds: as long as an edge waits.
	maxWaiting = 64

	// maxGuess bounds what is compared, in bytes: 128 characters have fewer, however they
	// are spelled.
	maxGuess = 4096

	// saltBytes is what package password takes for its own salts.
	saltBytes = 16
)

type store interface {
	// PasswordOf returns the password of a link, whichever workspace it belongs to:
	// link.ErrNotFound when there is no such link.
	PasswordOf(ctx context.Context, id link.ID) (link.Password, error)
	// PasswordsLike returns the passwords of the oldest links that fit a new one except
	// for the password: some of them, in order.
	PasswordsLike(ctx context.Context, n *link.New) ([]link.Password, error)
}

// Locks hashes and compares passwords of links. It is safe for concurrent use.
type Locks struct {
	store  store
	hasher *password.Hasher
	keys   *keyring.Keyring
	// waiting has a place for each guess.
	waiting chan struct{}
}

// New returns locks over a store.
func New(s store, hasher *password.Hasher, keys *keyring.Keyring) *Locks {
	return &Locks{store: s, hasher: hasher, keys: keys, waiting: make(chan struct{}, maxWaiting)}
}

// Lock hashes the password that a change sets, if it sets one. It fails with
// link.ErrUnavailable when ctx ends first.
func (l *Locks) Lock(ctx context.Context, c *link.Checked) error {
	given, ok := c.GivenPassword()
	if !ok {
		return nil
	}
	hash, err := l.hasher.Hash(ctx, typed(given))
	if err != nil {
		return fmt.Errorf("%w: %w", link.ErrUnavailable, err)
	}
	return setPassword(c, hash)
}

// LockNew is Lock for a link that shall be made. One that may be found instead has to
// have the same password, which no query can compare: what was hashed before is tried
// here, and taken over if it is the same. Two who look for the same link at the same time
// hash under the same salt, so that the second finds what the first has made.
func (l *Locks) LockNew(ctx context.Context, n *link.New) error {
	given, ok := n.Checked.GivenPassword()
	if !ok || !n.FindFirst {
		return l.Lock(ctx, n.Checked)
	}
	salt := l.keys.Hash("link password\x00" + n.WorkspaceID.String() + "\x00" + n.Checked.Given().Destination.Value)[:saltBytes]
	hash, err := l.hasher.HashSalted(ctx, typed(given), salt)
	if err != nil {
		return fmt.Errorf("%w: %w", link.ErrUnavailable, err)
	}
	stored, err := l.store.PasswordsLike(ctx, n)
	if err != nil {
		return err
	}
	for _, p := range stored {
		same := p.Hash == hash
		if !same {
			if same, err = l.hasher.Matches(ctx, typed(given), p.Hash); err != nil {
				return fmt.Errorf("%w: %w", link.ErrUnavailable, err)
			}
		}
		if same {
			hash = p.Hash
			break
		}
	}
	return setPassword(n.Checked, hash)
}

func setPassword(c *link.Checked, hash string) error {
	p := link.Password{Hash: hash, UnlockKey: make([]byte, unlockKeyBytes)}
	if _, err := rand.Read(p.UnlockKey); err != nil {
		return fmt.Errorf("reading random bytes: %w", err)
	}
	c.SetPassword(p)
	return nil
}

// Verify compares what a visitor typed. When it is the link's password, it returns the
// link's unlock key, else nil. It fails with link.ErrNotFound (also for a link without
// password), ErrBusy or link.ErrUnavailable.
func (l *Locks) Verify(ctx context.Context, id link.ID, guess string) ([]byte, error) {
	select {
	case l.waiting <- struct{}{}:
		defer func() { <-l.waiting }()
	default:
		return nil, ErrBusy
	}
	p, err := l.store.PasswordOf(ctx, id)
	switch {
	case err != nil:
		return nil, err
	case !p.IsSet():
		return nil, link.ErrNotFound
	case len(guess) > maxGuess:
		return nil, nil
	}
	correct, err := l.hasher.Matches(ctx, typed(guess), p.Hash)
	switch {
	case errors.Is(err, password.ErrBadHash):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%w: %w", link.ErrUnavailable, err)
	case !correct:
		return nil, nil
	}
	return p.UnlockKey, nil
}

// typed is a password as it is hashed: two keyboards may spell one letter differently.
func typed(given string) string { return norm.NFC.String(given) }
