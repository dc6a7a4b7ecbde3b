package access

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"sync"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/internal/rpc/accessv1"
	"github.com/linkstream/linkstream/services/internal/rpc/accessv1/accessv1connect"
)

const (
	// CacheTTL is how long an answer is remembered, and so how long a revoked
	// token may still work.
	CacheTTL = 900 * time.Millisecond

	// cacheEntries bounds the memory. When it is full of live entries the cache
	// starts again from nothing, which costs one question a token.
	cacheEntries = 10_000

	callTimeout = 2 * time.Second
)

// Client asks the links service whose a token is. It is safe for concurrent use.
type Client struct {
	rpc accessv1connect.AccessServiceClient

	mu    sync.Mutex
	cache map[[sha256.Size]byte]cached
}

type cached struct {
	identity *Identity
	until    time.Time
}

// NewClient asks the RPC listener at baseURL, for instance http://127.0.0.1:8011.
func NewClient(baseURL string) *Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil // a private address: no proxy stands between
	httpClient := &http.Client{Transport: transport, Timeout: callTimeout}
	return &Client{
		rpc:   accessv1connect.NewAccessServiceClient(connect.NewClient(connecthttp.NewTransport(httpClient, baseURL))),
		cache: map[[sha256.Size]byte]cached{},
	}
}

// Authenticate returns whose token it is, ErrUnauthenticated, or ErrUnavailable.
func (c *Client) Authenticate(ctx context.Context, token string) (*Identity, error) {
	// Keyed by hash, so that a memory dump of the cache opens nothing.
	key := sha256.Sum256([]byte(token))
	now := time.Now()
	if id, ok := c.lookup(key, now); ok {
		return id, nil
	}
	answer, err := c.rpc.Authenticate(ctx, &accessv1.AuthenticateRequest{Token: token})
	if err != nil {
		return nil, translate(err)
	}
	id, err := identity(answer)
	if err != nil {
		return nil, err
	}
	c.store(key, cached{identity: id, until: now.Add(CacheTTL)}, now)
	return id, nil
}

// LogIn starts a dashboard session and returns its token and how long it lasts.
func (c *Client) LogIn(ctx context.Context, email, password string) (string, time.Duration, error) {
	answer, err := c.rpc.LogIn(ctx, &accessv1.LogInRequest{Email: email, Password: password})
	if err != nil {
		return "", 0, translate(err)
	}
	return answer.GetToken(), time.Duration(answer.GetExpiresInSeconds()) * time.Second, nil
}

// LogOut ends a dashboard session.
func (c *Client) LogOut(ctx context.Context, token string) error {
	c.mu.Lock()
	delete(c.cache, sha256.Sum256([]byte(token)))
	c.mu.Unlock()
	if _, err := c.rpc.LogOut(ctx, &accessv1.LogOutRequest{Token: token}); err != nil {
		return translate(err)
	}
	return nil
}

func translate(err error) error {
	if connect.CodeOf(err) == connect.CodeUnauthenticated {
		return ErrUnauthenticated
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

func identity(answer *accessv1.AuthenticateResponse) (*Identity, error) {
	workspace, err := uuid.FromBytes(answer.GetWorkspaceId())
	if err != nil {
		return nil, fmt.Errorf("reading the workspace id: %w", err)
	}
	subject, err := uuid.FromBytes(answer.GetSubjectId())
	if err != nil {
		return nil, fmt.Errorf("reading the subject id: %w", err)
	}
	id := &Identity{
		WorkspaceID: workspace, Subject: subject, Email: answer.GetEmail(),
		RateCapacity: int(answer.GetRateCapacity()), RateRefillPerSecond: answer.GetRateRefillPerSecond(),
	}
	for _, s := range answer.GetScopes() {
		id.Scopes = append(id.Scopes, Scope(s))
	}
	return id, nil
}

func (c *Client) lookup(key [sha256.Size]byte, now time.Time) (*Identity, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	hit, ok := c.cache[key]
	if !ok || now.After(hit.until) {
		return nil, false
	}
	return hit.identity, true
}

func (c *Client) store(key [sha256.Size]byte, value cached, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.cache) >= cacheEntries {
		for k, v := range c.cache {
			if now.After(v.until) {
				delete(c.cache, k)
			}
		}
		if len(c.cache) >= cacheEntries {
			clear(c.cache)
		}
	}
	c.cache[key] = value
}
