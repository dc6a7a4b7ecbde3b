// Package customer is what the canary does as a customer and as a visitor: calls of the
// public API, and requests at edges.
//
// It promises that whatever it returns was answered by the system: a status that is not
// the expected one is an error, and names it. It refuses to follow a redirect, to retry,
// and to put the API key into an error.
package customer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Agent calls itself a robot, so that no visitor is counted who is none.
const Agent = "linkstream-canary/1 (robot)"

// most is how much of an answer is read.
const most = 1 << 20

// ErrStatus says that the system answered, and not as it should.
var ErrStatus = errors.New("unexpected status")

// Link is what the canary knows of one of its links.
type Link struct {
	ID   string `json:"id"`
	Slug string `json:"slug"`
}

// Customer calls the public API with one key.
type Customer struct {
	client *http.Client
	api    string
	key    string
}

// New returns a customer who calls the API at the address api with the key.
func New(client *http.Client, api, key string) *Customer {
	return &Customer{client: client, api: strings.TrimSuffix(api, "/"), key: key}
}

// Create makes a link under a slug that the system chooses.
func (c *Customer) Create(ctx context.Context, domain, destination, tag string) (Link, error) {
	var link Link
	body := map[string]any{"destination": destination, "domain": domain, "tags": []string{tag}, "title": "canary"}
	err := c.call(ctx, http.MethodPost, "/v1/links", body, http.StatusCreated, &link)
	if err == nil && (link.ID == "" || link.Slug == "") {
		err = errors.New("the link that was made has no id or no slug")
	}
	return link, err
}

// Edit leads the link elsewhere.
func (c *Customer) Edit(ctx context.Context, id, destination string) error {
	return c.call(ctx, http.MethodPatch, "/v1/links/"+url.PathEscape(id), map[string]any{"destination": destination}, http.StatusOK, nil)
}

// Delete removes the link; one that is gone already is no error.
func (c *Customer) Delete(ctx context.Context, id string) error {
	err := c.call(ctx, http.MethodDelete, "/v1/links/"+url.PathEscape(id), nil, http.StatusNoContent, nil)
	var status StatusError
	if errors.As(err, &status) && status.Status == http.StatusNotFound {
		return nil
	}
	return err
}

// Leftovers are links with the tag that were made before a time: those of a canary that
// was killed. At most a hundred.
func (c *Customer) Leftovers(ctx context.Context, tag string, before time.Time) ([]Link, error) {
	var page struct {
		Data []Link `json:"data"`
	}
	query := url.Values{"tag": {tag}, "created_before": {before.UTC().Format(time.RFC3339)}, "limit": {"100"}}
	err := c.call(ctx, http.MethodGet, "/v1/links?"+query.Encode(), nil, http.StatusOK, &page)
	return page.Data, err
}

// Clicks says how many clicks of the link, since a time, are counted by now.
func (c *Customer) Clicks(ctx context.Context, id string, since, now time.Time) (int64, error) {
	var counts struct {
		Clicks int64 `json:"clicks"`
	}
	query := url.Values{
		"link_id": {id}, "bots": {"include"},
		"from": {since.UTC().Format(time.RFC3339)}, "to": {now.Add(time.Minute).UTC().Format(time.RFC3339)},
	}
	err := c.call(ctx, http.MethodGet, "/v1/analytics/summary?"+query.Encode(), nil, http.StatusOK, &counts)
	return counts.Clicks, err
}

// StatusError is an answer that was not the expected one. errors.Is(err, ErrStatus) holds.
type StatusError struct {
	Status int
	Code   string // of the problem, if it says one
}

// Error implements error.
func (e StatusError) Error() string {
	if e.Code != "" {
		return fmt.Sprintf("answered %d (%s)", e.Status, e.Code)
	}
	return fmt.Sprintf("answered %d", e.Status)
}

// Is implements errors.Is.
func (StatusError) Is(target error) bool { return target == ErrStatus }

func (c *Customer) call(ctx context.Context, method, path string, in any, want int, out any) error {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("writing the request: %w", err)
		}
		body = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.api+path, body)
	if err != nil {
		return fmt.Errorf("making the request: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+c.key)
	request.Header.Set("User-Agent", Agent)
	if in != nil {
		request.Header.Set("Content-Type", contentType(method))
	}
	response, err := c.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, most))
	if err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if response.StatusCode != want {
		var problem struct {
			Code string `json:"code"`
		}
		_ = json.Unmarshal(text, &problem) // what is no problem document has no code
		return StatusError{Status: response.StatusCode, Code: problem.Code}
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	return nil
}

func contentType(method string) string {
	if method == http.MethodPatch {
		return "application/merge-patch+json"
	}
	return "application/json"
}
