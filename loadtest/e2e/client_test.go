package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/linkstream/linkstream/loadtest/internal/apiclient"
)

// link is what these tests read of the API's answer.
type link struct {
	ID          string `json:"id"`
	Slug        string `json:"slug"`
	ShortURL    string `json:"short_url"`
	Destination string `json:"destination"`
	Version     int    `json:"version"`
}

// problem is an error answer.
type problem struct {
	Status    int    `json:"status"`
	Code      string `json:"code"`
	RequestID string `json:"request_id"`
	Errors    []struct {
		Field string `json:"field"`
	} `json:"errors"`
}

// noFollow is a client that looks at redirects instead of following them.
var noFollow = &http.Client{
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	Timeout:       10 * time.Second,
	// Two idle connections, as by default, would make most visits of a load open one.
	Transport: &http.Transport{MaxIdleConnsPerHost: 64},
}

// call sends a request to the API and decodes the answer into out.
func (s *stack) call(t *testing.T, method, path, body string, out any) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.env["LINKSTREAM_API_URL"]+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+s.env["LINKSTREAM_API_KEY"])
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if method == http.MethodPatch {
		request.Header.Set("Content-Type", "application/merge-patch+json")
	}
	answer, err := noFollow.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if out != nil {
		if err := json.Unmarshal(text, out); err != nil {
			t.Fatalf("%s %s: %d %s: %v", method, path, answer.StatusCode, text, err)
		}
	}
	return answer.StatusCode
}

// api is the client that is generated from the API's document.
func (s *stack) api(t *testing.T) *apiclient.ClientWithResponses {
	t.Helper()
	client, err := apiclient.NewClientWithResponses(s.env["LINKSTREAM_API_URL"], apiclient.WithHTTPClient(noFollow),
		apiclient.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
			r.Header.Set("Authorization", "Bearer "+s.env["LINKSTREAM_API_KEY"])
			return nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// create makes a link, or fails the test.
func (s *stack) create(t *testing.T, slug, destination string) link {
	t.Helper()
	answer, err := s.api(t).CreateLinkWithResponse(t.Context(), nil, apiclient.NewLinkBody{Destination: destination, Slug: &slug})
	if err != nil {
		t.Fatal(err)
	}
	made := answer.JSON201
	if made == nil {
		t.Fatalf("creating %s: status %d", slug, answer.StatusCode())
	}
	return link{ID: made.Id.String(), Slug: made.Slug, ShortURL: made.ShortUrl, Destination: made.Destination, Version: int(made.Version)}
}

// browser is a visitor's: what calls itself an HTTP library counts as a robot.
const browser = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"

// visit asks an edge for a slug and returns status, Location and which cache
// answered.
func visit(ctx context.Context, method, edge, slug string) (status int, location, cache string, err error) {
	request, err := http.NewRequestWithContext(ctx, method, edge+"/"+slug, http.NoBody)
	if err != nil {
		return 0, "", "", err
	}
	request.Header.Set("User-Agent", browser)
	answer, err := noFollow.Do(request)
	if err != nil {
		return 0, "", "", err
	}
	defer func() { _ = answer.Body.Close() }()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return 0, "", "", err
	}
	cache = strings.TrimPrefix(answer.Header.Get("Server-Timing"), "cache;desc=")
	return answer.StatusCode, answer.Header.Get("Location"), cache, nil
}

// everyEdge checks that all edges answer with this status and location.
func (s *stack) everyEdge(ctx context.Context, slug string, status int, location string) error {
	for _, edge := range s.edges() {
		gotStatus, gotLocation, _, err := visit(ctx, http.MethodGet, edge, slug)
		if err != nil || gotStatus != status || gotLocation != location {
			return fmt.Errorf("%s/%s: %d %q %w, want %d %q", edge, slug, gotStatus, gotLocation, err, status, location)
		}
	}
	return nil
}

// clicks asks the analytics API for a link's clicks.
func (s *stack) clicks(t *testing.T, linkID string) int {
	t.Helper()
	var summary struct {
		Clicks *int `json:"clicks"`
	}
	status := s.call(t, http.MethodGet, "/v1/analytics/summary?link_id="+linkID, "", &summary)
	if status != http.StatusOK || summary.Clicks == nil {
		t.Fatalf("summary: status %d, %+v", status, summary)
	}
	return *summary.Clicks
}

func get(ctx context.Context, url string) (status int, body string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, "", err
	}
	answer, err := noFollow.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text), err
}

// metric sums the samples of a metric over some admin ports.
func metric(ctx context.Context, name string, ports ...int) (float64, error) {
	var sum float64
	for _, port := range ports {
		_, body, err := get(ctx, fmt.Sprintf("http://127.0.0.1:%d/metrics", port))
		if err != nil {
			return 0, err
		}
		for line := range strings.Lines(body) {
			if rest, ok := strings.CutPrefix(line, name); ok && (rest[0] == ' ' || rest[0] == '{') {
				var value float64
				if _, err := fmt.Sscan(rest[strings.LastIndexByte(rest, ' ')+1:], &value); err != nil {
					return 0, fmt.Errorf("%s: %w", line, err)
				}
				sum += value
			}
		}
	}
	return sum, nil
}

// redisCommand sends one inline command and returns the first line of the answer,
// or the body of a bulk string.
func redisCommand(ctx context.Context, addr, command string) (string, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return "", err
		}
	}
	if _, err := conn.Write([]byte(command + "\r\nQUIT\r\n")); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		return "", err
	}
	lines := bytes.Split(bytes.TrimSuffix(answer, []byte("+OK\r\n")), []byte("\r\n"))
	if lines[0][0] == '$' && len(lines) > 1 {
		return string(lines[1]), nil
	}
	return string(lines[0]), nil
}
