package scenario

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/linkstream/linkstream/loadtest/internal/apiclient"
)

// pollEvery is how often something awaited is asked for.
const pollEvery = 100 * time.Millisecond

// client speaks the public API.
type client struct {
	url, key string
}

func (c *client) create(ctx context.Context, destination string) (slug, id string, err error) {
	api, err := apiclient.NewClientWithResponses(c.url, apiclient.WithRequestEditorFn(c.authorize))
	if err != nil {
		return "", "", fmt.Errorf("making the API's client: %w", err)
	}
	title := "load test"
	answer, err := api.CreateLinkWithResponse(ctx, nil, apiclient.NewLinkBody{Destination: destination, Title: &title})
	switch {
	case err != nil:
		return "", "", fmt.Errorf("making a link: %w", err)
	case answer.JSON201 == nil:
		return "", "", fmt.Errorf("making a link: status %d: %s", answer.StatusCode(), answer.Body)
	}
	return answer.JSON201.Slug, answer.JSON201.Id.String(), nil
}

func (c *client) authorize(_ context.Context, request *http.Request) error {
	request.Header.Set("Authorization", "Bearer "+c.key)
	return nil
}

// waitForLink asks by HEAD until the address redirects.
func (c *client) waitForLink(ctx context.Context, address string) error {
	noFollow := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodHead, address, http.NoBody)
		if err != nil {
			return fmt.Errorf("building the request: %w", err)
		}
		answer, err := noFollow.Do(request)
		if err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusFound {
				return nil
			}
			err = fmt.Errorf("status %d", answer.StatusCode)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", address, err)
		case <-tick.C:
		}
	}
}

// waitForClicks polls until the links have want clicks together and no more have
// come for as long as a batch may take, or until the limit has passed, and returns
// how many they have: the verdict tells whether some are missing or too many.
func (c *client) waitForClicks(ctx context.Context, ids []string, want int, limit time.Duration) (int, error) {
	const rest = 2 * time.Second
	began, changed, counted := time.Now(), time.Now(), -1
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		sum, err := c.clicks(ctx, ids)
		if err != nil {
			return sum, err
		}
		if sum != counted {
			changed, counted = time.Now(), sum
		}
		if (sum >= want && time.Since(changed) > rest) || time.Since(began) > limit {
			return sum, nil
		}
		select {
		case <-ctx.Done():
			return sum, ctx.Err()
		case <-tick.C:
		}
	}
}

// clicks is how many the links have together.
func (c *client) clicks(ctx context.Context, ids []string) (sum int, err error) {
	for _, id := range ids {
		var summary struct{ Clicks int }
		if err := c.call(ctx, http.MethodGet, "/v1/analytics/summary?link_id="+id, nil, http.StatusOK, &summary); err != nil {
			return sum, err
		}
		sum += summary.Clicks
	}
	return sum, nil
}

func (c *client) call(ctx context.Context, method, path string, body []byte, want int, out any) error {
	request, err := http.NewRequestWithContext(ctx, method, c.url+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("building the request: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+c.key)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if answer.StatusCode != want {
		return fmt.Errorf("%s %s: status %d: %s", method, path, answer.StatusCode, text)
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}

// get reads a page.
func get(ctx context.Context, address string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("building the request: %w", err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", address, err)
	}
	defer func() { _ = answer.Body.Close() }()
	return io.ReadAll(answer.Body)
}
