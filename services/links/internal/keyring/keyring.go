// Package keyring holds the service's own secret, which is not in the database, and
// what is done with it: tokens are hashed under it, and stored answers are sealed.
//
// It promises that whoever has the database alone can neither check a guessed token
// nor read a sealed answer, and that secrets can be rotated: the first one is used
// for what is new, the others still check and open what is old. It refuses secrets
// that could be guessed.
package keyring

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
)

// MinSecret is the shortest secret in bytes: as many as the hash has.
const MinSecret = 32

// ErrShortSecret says that a secret could be guessed.
var ErrShortSecret = fmt.Errorf("it has %d characters at least, for instance from: openssl rand -hex 32", MinSecret)

// ErrSealed says that none of the secrets opens it, or that it was tampered with.
var ErrSealed = errors.New("no secret of the service opens it")

// Keyring is the current secret and those before it. It is safe for concurrent use.
type Keyring struct{ secrets [][]byte }

// New returns a keyring. Things are hashed and sealed under current; previous are
// accepted too. A secret shorter than MinSecret is ErrShortSecret.
func New(current string, previous ...string) (*Keyring, error) {
	k := &Keyring{}
	for _, secret := range append([]string{current}, previous...) {
		if len(secret) < MinSecret {
			return nil, ErrShortSecret
		}
		k.secrets = append(k.secrets, []byte(secret))
	}
	return k, nil
}

// Hash is what is stored of a token: its HMAC-SHA-256 under the current secret.
// Tokens have 256 random bits, so a slow hash would only slow us down.
func (k *Keyring) Hash(token string) []byte { return keyed(k.secrets[0], token) }

// Hashes are all that may be stored of a token, Hash first: then those under the
// previous secrets, and the plain SHA-256 that releases without a secret stored.
func (k *Keyring) Hashes(token string) [][]byte {
	out := make([][]byte, 0, len(k.secrets)+1)
	for _, secret := range k.secrets {
		out = append(out, keyed(secret, token))
	}
	plain := sha256.Sum256([]byte(token))
	return append(out, plain[:])
}

func keyed(secret []byte, token string) []byte {
	mac := hmac.New(sha256.New, secret)
	_, _ = mac.Write([]byte(token))
	return mac.Sum(nil)
}

// Seal encrypts text so that opening it takes the secret and the label. about is
// not encrypted, but has to be the same when it is opened.
func (k *Keyring) Seal(label string, about, text []byte) ([]byte, error) {
	gcm, err := sealer(k.secrets[0], label)
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, gcm.NonceSize(), gcm.NonceSize()+len(text)+gcm.Overhead())
	if _, err := rand.Read(nonce); err != nil {
		return nil, fmt.Errorf("reading random bytes: %w", err)
	}
	return gcm.Seal(nonce, nonce, text, about), nil
}

// Open returns the text that Seal was given, or ErrSealed.
func (k *Keyring) Open(label string, about, sealed []byte) ([]byte, error) {
	for _, secret := range k.secrets {
		gcm, err := sealer(secret, label)
		if err != nil {
			return nil, err
		}
		if len(sealed) < gcm.NonceSize() {
			break
		}
		nonce, rest := sealed[:gcm.NonceSize()], sealed[gcm.NonceSize():]
		if text, err := gcm.Open(nil, nonce, rest, about); err == nil {
			return text, nil
		}
	}
	return nil, ErrSealed
}

func sealer(secret []byte, label string) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, secret, nil, "linkstream seal\x00"+label, 32)
	if err != nil {
		return nil, fmt.Errorf("deriving a key: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("making the cipher: %w", err)
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fmt.Errorf("making the cipher: %w", err)
	}
	return gcm, nil
}
