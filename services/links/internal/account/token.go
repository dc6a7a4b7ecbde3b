package account

import (
	"crypto/rand"
	"fmt"
	"strings"
)

// What a token is shows in its first characters, so that a leaked one is
// recognised by people and by secret scanners.
const (
	KeyPrefix     = "ls_key_"
	sessionPrefix = "ls_ses_"
)

const (
	// tokenAlphabet has no character that ends a word, so a double click selects a
	// whole token.
	tokenAlphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

	// tokenLength gives 43 * log2(62) = 256 bits.
	tokenLength = 43

	// shownPrefix is how much of a key is stored readable, to tell keys apart.
	shownPrefix = len(KeyPrefix) + 6

	// The bounds of a key that an operator brings along.
	minKeyLength, maxKeyLength = len(KeyPrefix) + 32, 200
)

// newToken draws a token from the operating system's random source.
func newToken(prefix string) (string, error) {
	const unbiased = 256 - 256%len(tokenAlphabet)
	out := []byte(prefix)
	var buf [64]byte
	for {
		if _, err := rand.Read(buf[:]); err != nil {
			return "", fmt.Errorf("reading random bytes: %w", err)
		}
		for _, b := range buf {
			if int(b) >= unbiased {
				continue // folding it would make some characters more likely
			}
			out = append(out, tokenAlphabet[int(b)%len(tokenAlphabet)])
			if len(out) == len(prefix)+tokenLength {
				return string(out), nil
			}
		}
	}
}

// checkKey says whether an operator's own key is fit to be one.
func checkKey(key string) error {
	rest, ok := strings.CutPrefix(key, KeyPrefix)
	if !ok || len(key) < minKeyLength || len(key) > maxKeyLength {
		return fmt.Errorf("an API key is %s and then %d to %d characters", KeyPrefix, minKeyLength-len(KeyPrefix), maxKeyLength-len(KeyPrefix))
	}
	for _, c := range []byte(rest) {
		if !strings.ContainsRune(tokenAlphabet+"-_", rune(c)) {
			return fmt.Errorf("an API key has letters, digits, - and _ only after %s", KeyPrefix)
		}
	}
	return nil
}
