package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/linkstream/linkstream/loadtest/internal/wire"
)

const (
	pollEvery = 200 * time.Millisecond
	// countLimit is how long all clicks may take to be in the summary.
	countLimit = time.Minute
	// rest is how long no more clicks may have come for all to be there: longer than
	// a batch of the ingester takes.
	rest = 2 * time.Second
	// bulk is how many links one call makes at most.
	bulk = 1000
	// BlockSize is how many slugs a run has for itself; there are so many blocks.
	BlockSize, blocks = 100_000, 20_000
)

// API speaks the public API.
type API struct {
	URL, Key string
	client   *http.Client
}

// NewAPI returns a caller with a key.
func NewAPI(url, key string) *API {
	return &API{URL: url, Key: key, client: &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
}

// Link is one that was made.
type Link struct {
	Number int32 // of its slug
	ID     string
}

// StatusError says that the API answered with another status than was wanted.
type StatusError struct {
	Status     int
	RetryAfter string
	Body       string
}

func (e *StatusError) Error() string { return fmt.Sprintf("status %d: %.300s", e.Status, e.Body) }

// Call sends a request and decodes the answer into out unless that is nil. Another
// status than want is a *StatusError.
func (a *API) Call(ctx context.Context, method, path string, body any, want int, out any) error {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return fmt.Errorf("encoding the request: %w", err)
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, a.URL+path, bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("building the request: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+a.Key)
	switch {
	case method == http.MethodPatch:
		request.Header.Set("Content-Type", "application/merge-patch+json")
	case body != nil:
		request.Header.Set("Content-Type", "application/json")
	}
	answer, err := a.client.Do(request)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	defer func() { _ = answer.Body.Close() }()
	if text, err = io.ReadAll(answer.Body); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if answer.StatusCode != want {
		return fmt.Errorf("%s %s: %w", method, path, &StatusError{Status: answer.StatusCode, RetryAfter: answer.Header.Get("Retry-After"), Body: string(text)})
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}

// MakeDomain makes a domain unless it is there.
func (a *API) MakeDomain(ctx context.Context, host string) error {
	err := a.Call(ctx, http.MethodPost, "/v1/domains", map[string]string{"host": host}, http.StatusCreated, nil)
	if status := new(StatusError); errors.As(err, &status) && status.Status == http.StatusConflict {
		return nil
	}
	return err
}

type newLink struct {
	Slug        string `json:"slug"`
	Domain      string `json:"domain"`
	Destination string `json:"destination"`
	Title       string `json:"title"`
}

// MakeLinks makes n links whose slugs nobody has used, with consecutive numbers. Each
// leads to wire.Target of its slug.
func (a *API) MakeLinks(ctx context.Context, n int) ([]Link, error) {
	if n > BlockSize {
		return nil, fmt.Errorf("%d links are more than a run can have", n)
	}
	const tries = 5
	for range tries {
		first := Block()
		links, err := a.makeFrom(ctx, first, n)
		if !errors.Is(err, ErrTaken) {
			return links, err
		}
	}
	return nil, errors.New("no free slugs")
}

// ErrTaken says that somebody has used a slug.
var ErrTaken = errors.New("a slug is taken")

// Block is the number of the first slug of a block, drawn by chance.
func Block() int { return rand.IntN(blocks) * BlockSize }

func (a *API) makeFrom(ctx context.Context, first, n int) ([]Link, error) {
	links := make([]Link, 0, n)
	for len(links) < n {
		made, err := a.MakeBulk(ctx, first+len(links), min(bulk, n-len(links)))
		if err != nil {
			return links, err
		}
		links = append(links, made...)
	}
	return links, nil
}

// MakeBulk makes n links, at most 1,000, with one call, with the slugs from number
// first on.
func (a *API) MakeBulk(ctx context.Context, first, n int) ([]Link, error) {
	body := struct {
		Links []newLink `json:"links"`
	}{make([]newLink, n)}
	for i := range body.Links {
		slug := wire.Slug(first + i)
		body.Links[i] = newLink{Slug: slug, Domain: Domain, Destination: wire.Target(slug), Title: "load test"}
	}
	var answer struct {
		Results []struct {
			Status int
			Link   struct{ ID string }
			Error  json.RawMessage
		}
	}
	if err := a.Call(ctx, http.MethodPost, "/v1/links/bulk", body, http.StatusOK, &answer); err != nil {
		return nil, err
	}
	links := make([]Link, 0, n)
	for i, r := range answer.Results {
		switch r.Status {
		case http.StatusCreated:
			links = append(links, Link{Number: int32(first + i), ID: r.Link.ID})
		case http.StatusConflict:
			return links, ErrTaken
		default:
			return links, fmt.Errorf("making a link: status %d: %.300s", r.Status, r.Error)
		}
	}
	if len(links) != n {
		return links, fmt.Errorf("%d links were made of %d", len(links), n)
	}
	return links, nil
}

// Edit changes where a link leads.
func (a *API) Edit(ctx context.Context, id, destination string) error {
	return a.Call(ctx, http.MethodPatch, "/v1/links/"+id, map[string]string{"destination": destination}, http.StatusOK, nil)
}

// Clicks are those of a domain.
type Clicks struct{ All, Bots int }

// Clicks asks for the summary of the last days.
func (a *API) Clicks(ctx context.Context, domain string) (Clicks, error) {
	var summary struct {
		Clicks int
		Bots   int `json:"bot_clicks"`
	}
	err := a.Call(ctx, http.MethodGet, "/v1/analytics/summary?bots=include&domain="+domain, nil, http.StatusOK, &summary)
	return Clicks{All: summary.Clicks, Bots: summary.Bots}, err
}

// AwaitClicks polls until the domain has want more clicks than before and no more
// come, or until the limit has passed, and says when the last came: the verdict tells
// whether some are missing or too many.
func (a *API) AwaitClicks(ctx context.Context, domain string, before Clicks, want int) (now Clicks, last time.Time, err error) {
	began := time.Now()
	last = began
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		got, err := a.Clicks(ctx, domain)
		if err == nil && got != now {
			now, last = got, time.Now()
		}
		switch {
		case time.Since(began) > countLimit:
			return now, last, err
		case err == nil && now.All-before.All >= want && time.Since(last) > rest:
			return now, last, nil
		}
		select {
		case <-ctx.Done():
			return now, last, ctx.Err()
		case <-tick.C:
		}
	}
}

// Numbers of links.
func Numbers(links []Link) []int32 {
	numbers := make([]int32, len(links))
	for i, l := range links {
		numbers[i] = l.Number
	}
	return numbers
}

// MakeKey makes a key with all scopes a link tool needs and a limit of its own.
func (a *API) MakeKey(ctx context.Context, capacity int, refill float64) (key *API, id string, err error) {
	body := map[string]any{
		"name": "load test", "scopes": []string{"links:read", "links:write", "analytics:read"},
		"rate_limit": map[string]any{"capacity": capacity, "refill_per_second": refill},
	}
	var answer struct{ ID, Key string }
	if err := a.Call(ctx, http.MethodPost, "/v1/keys", body, http.StatusCreated, &answer); err != nil {
		return nil, "", err
	}
	return NewAPI(a.URL, answer.Key), answer.ID, nil
}

// DropKey ends a key.
func (a *API) DropKey(ctx context.Context, id string) error {
	return a.Call(ctx, http.MethodDelete, "/v1/keys/"+id, nil, http.StatusNoContent, nil)
}
