package link

import (
	"crypto/rand"
	"fmt"
)

const (
	base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

	// generatedLength gives 62^7 = 3.5e12 slugs: with a million links on a domain
	// one draw in 3.5 million collides.
	generatedLength = 7

	// unbiased is the largest multiple of 62 that fits a byte; larger bytes are
	// thrown away, because folding them would make some characters more likely.
	unbiased = 256 - 256%len(base62)
)

// GenerateSlug draws a slug from the operating system's random source. It never
// returns a reserved word.
func GenerateSlug() (string, error) {
	for {
		slug, err := draw(generatedLength)
		if err != nil {
			return "", err
		}
		if checkSlug(slug) == nil { // "metrics" has seven letters
			return slug, nil
		}
	}
}

func draw(n int) (string, error) {
	out := make([]byte, 0, n)
	var buf [16]byte
	for {
		if _, err := rand.Read(buf[:]); err != nil {
			return "", fmt.Errorf("reading random bytes: %w", err)
		}
		for _, b := range buf {
			if int(b) >= unbiased {
				continue
			}
			out = append(out, base62[int(b)%len(base62)])
			if len(out) == n {
				return string(out), nil
			}
		}
	}
}
