package access

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"
)

const (
	// CacheTTL is how long an answer is remembered, and so how long a revoked
	// token may still work.
	CacheTTL = 900 * time.Millisecond

	// cacheEntries bounds the memory. When it is full of live entries the cache
	// starts again from nothing, which costs one question a token.
	cacheEntries = 10_000
)

// cache remembers whose a token is. The zero value is ready to use.
type cache struct {
	mu sync.Mutex
	// Keyed by hash, so that a memory dump of the cache opens nothing.
	known map[[sha256.Size]byte]cached
}

type cached struct {
	identity *Identity
	until    time.Time
}

// authenticate returns what is remembered, or what ask says. A refusal is not
// remembered: a key that was just made works at once.
func (c *cache) authenticate(token string, ask func() (*Identity, error)) (*Identity, error) {
	key, now := sha256.Sum256([]byte(token)), time.Now()
	if id, ok := c.lookup(key, now); ok {
		return id, nil
	}
	id, err := ask()
	if err == nil {
		c.store(key, cached{identity: id, until: now.Add(CacheTTL)}, now)
	}
	return id, err
}

func (c *cache) forget(token string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.known, sha256.Sum256([]byte(token)))
}

func (c *cache) lookup(key [sha256.Size]byte, now time.Time) (*Identity, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	hit, ok := c.known[key]
	if !ok || now.After(hit.until) {
		return nil, false
	}
	return hit.identity, true
}

func (c *cache) store(key [sha256.Size]byte, value cached, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= cacheEntries {
		for k, v := range c.known {
			if now.After(v.until) {
				delete(c.known, k)
			}
		}
		if len(c.known) >= cacheEntries {
			clear(c.known)
		}
	}
	if c.known == nil {
		c.known = map[[sha256.Size]byte]cached{}
	}
	c.known[key] = value
}

// Authenticator says whose a token is.
type Authenticator interface {
	Authenticate(ctx context.Context, token string) (*Identity, error)
}

// Remembering is an Authenticator that remembers answers for CacheTTL. It is for the
// process that owns the tokens; all others use Client, which remembers too.
type Remembering struct {
	auth  Authenticator
	which func(token string) bool
	cache cache
}

// Remember wraps auth. Tokens that which says no to are asked for every time.
func Remember(auth Authenticator, which func(token string) bool) *Remembering {
	return &Remembering{auth: auth, which: which}
}

// Authenticate returns whose token it is, ErrUnauthenticated, or ErrUnavailable.
func (r *Remembering) Authenticate(ctx context.Context, token string) (*Identity, error) {
	if !r.which(token) {
		return r.auth.Authenticate(ctx, token)
	}
	return r.cache.authenticate(token, func() (*Identity, error) { return r.auth.Authenticate(ctx, token) })
}
