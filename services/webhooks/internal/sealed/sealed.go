// Package sealed keeps the secrets of endpoints unreadable to whoever has the database
// alone.
//
// It promises that what was sealed opens under the same key and for the same endpoint
// only, and under a previous key while there is one. It refuses keys that could be
// guessed.
package sealed

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/google/uuid"
)

// MinKey is how long a key is at least, in characters.
const MinKey = 32

// ErrShortKey says that a key is shorter than MinKey.
var ErrShortKey = errors.New("the key must have 32 characters at least, for instance from openssl rand -hex 32")

// ErrUnreadable says that no key opens it.
var ErrUnreadable = errors.New("the secret was sealed under another key")

// Box seals and opens.
type Box struct{ aeads []cipher.AEAD }

// New returns a box that seals under key and opens what was sealed under it or one of the
// previous keys.
func New(key string, previous ...string) (*Box, error) {
	b := &Box{}
	for _, k := range append([]string{key}, previous...) {
		if len(k) < MinKey {
			return nil, ErrShortKey
		}
		derived, err := hkdf.Key(sha256.New, []byte(k), nil, "linkstream webhook secrets", 32)
		if err != nil {
			return nil, fmt.Errorf("deriving the key: %w", err)
		}
		block, err := aes.NewCipher(derived)
		if err != nil {
			return nil, fmt.Errorf("making the cipher: %w", err)
		}
		aead, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return nil, fmt.Errorf("making the cipher: %w", err)
		}
		b.aeads = append(b.aeads, aead)
	}
	return b, nil
}

// Seal seals a text for an endpoint.
func (b *Box) Seal(endpoint uuid.UUID, text string) []byte {
	return b.aeads[0].Seal(nil, nil, []byte(text), endpoint[:])
}

// Open returns what was sealed for the endpoint, or ErrUnreadable.
func (b *Box) Open(endpoint uuid.UUID, sealed []byte) (string, error) {
	for _, aead := range b.aeads {
		if text, err := aead.Open(nil, nil, sealed, endpoint[:]); err == nil {
			return string(text), nil
		}
	}
	return "", ErrUnreadable
}
