package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	phoneAgent   = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1"
	previewAgent = "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)"
)

// TestLinkOptions asks the running system for what marketing teams use links for.
//
// Guards I61, I62, I63, I64, I65.
func TestLinkOptions(t *testing.T) {
	s := newStack(t)
	t.Run("a schedule is checked at the request", s.scheduled)
	t.Run("a limit gives exactly so many redirects over all edges", s.limited)
	t.Run("a limit is not spent by previews and HEAD", s.limitedForPeople)
	t.Run("a limit without its Redis gives nothing", s.limitedWithoutRedis)
	t.Run("a password opens a link, on a domain of its own too", s.passworded)
	t.Run("guesses are held back", s.guessed)
	t.Run("rules choose by language, device, query and time", s.ruled)
	t.Run("nothing that a visitor sends changes the target", s.spoofed)
	t.Run("a split keeps its weights and its visitors", s.split)
	t.Run("paths and campaigns are merged into the target", s.merged)
	t.Run("a disabled link is gone, and back", s.disabled)
	t.Run("a card is for preview bots", s.card)
	t.Run("what chose the target is in the statistics", s.counted)
	t.Run("well-known paths and methods", s.wellKnown)
}

// makes creates a link from JSON fields.
func (s *stack) makes(t *testing.T, slug, destination, fields string) link {
	t.Helper()
	body := fmt.Sprintf(`{"slug":%q,"destination":%q`, slug, destination)
	if fields != "" {
		body += "," + fields
	}
	var made link
	if status := s.call(t, http.MethodPost, "/v1/links", body+"}", &made); status != http.StatusCreated {
		t.Fatalf("creating %s with %s: status %d", slug, fields, status)
	}
	return made
}

// page is an edge's answer.
type page struct {
	status int
	header http.Header
	body   string
}

func (p page) location() string { return p.header.Get("Location") }

// ask sends one request to an edge. Headers come as name and value.
func (s *stack) ask(ctx context.Context, method, url string, headers ...string) (page, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, http.NoBody)
	if err != nil {
		return page{}, err
	}
	return s.do(request, headers...)
}

func (s *stack) do(request *http.Request, headers ...string) (page, error) {
	request.Header.Set("User-Agent", browser)
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			request.Host = headers[i+1]
		} else {
			request.Header.Set(headers[i], headers[i+1])
		}
	}
	answer, err := noFollow.Do(request)
	if err != nil {
		return page{}, err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	return page{status: answer.StatusCode, header: answer.Header, body: string(body)}, err
}

func (s *stack) mustAsk(t *testing.T, method, url string, headers ...string) page {
	t.Helper()
	got, err := s.ask(t.Context(), method, url, headers...)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// send posts a form to an edge.
func (s *stack) send(t *testing.T, url, form string, headers ...string) page {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(form))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	got, err := s.do(request, headers...)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// there waits until all edges know of a link, whatever they answer: by HEAD.
func (s *stack) there(t *testing.T, slug string, not int) {
	t.Helper()
	s.eventually(t, freshness, slug+" is on all edges", func(ctx context.Context) error {
		for _, edge := range s.edges() {
			got, err := s.ask(ctx, http.MethodHead, edge+"/"+slug)
			if err != nil || got.status == not {
				return fmt.Errorf("%s: %d %w", edge, got.status, err)
			}
		}
		return nil
	})
}

func (s *stack) scheduled(t *testing.T) {
	const length = 3 * time.Second
	now := time.Now()
	at := now.Add(length).UTC().Format(time.RFC3339Nano)
	s.makes(t, "ends", "https://e.test/", `"expires_at":"`+at+`"`)
	s.makes(t, "ends-somewhere", "https://e.test/", `"expires_at":"`+at+`","fallback_url":"https://f.test/"`)
	s.makes(t, "starts", "https://e.test/", `"starts_at":"`+at+`"`)
	s.eventually(t, freshness, "all edges have them", func(ctx context.Context) error {
		return errors.Join(s.everyEdge(ctx, "ends", 302, "https://e.test/"), s.everyEdge(ctx, "starts", 404, ""), s.everyEdge(ctx, "ends-somewhere", 302, "https://e.test/"))
	})
	<-time.After(time.Until(now.Add(length + 10*time.Millisecond)))
	if err := errors.Join(s.everyEdge(t.Context(), "ends", 410, ""), s.everyEdge(t.Context(), "starts", 302, "https://e.test/"),
		s.everyEdge(t.Context(), "ends-somewhere", 302, "https://f.test/"), s.everyEdge(t.Context(), "never-made", 404, "")); err != nil {
		t.Errorf("at the moment: %v", err)
	}
	if status := s.call(t, http.MethodGet, "/v1/links?q=ends", "", nil); status != 200 {
		t.Errorf("the API shows the link: %d", status)
	}
}

func (s *stack) limited(t *testing.T) {
	const most, visitors = 100, 500
	made := s.makes(t, "limited", "https://e.test/", fmt.Sprintf(`"max_clicks":%d`, most))
	s.there(t, "limited", 404)
	round := func(want int64) {
		t.Helper()
		var given, gone atomic.Int64
		var wg sync.WaitGroup
		for i := range visitors {
			wg.Go(func() {
				status, location, _, err := visit(t.Context(), http.MethodGet, s.edges()[i%len(s.edges())], "limited")
				switch {
				case err == nil && status == 302 && strings.HasPrefix(location, "https://e.test/"):
					given.Add(1)
				case err == nil && status == 410:
					gone.Add(1)
				default:
					t.Errorf("%d %q %v", status, location, err)
				}
			})
		}
		wg.Wait()
		if given.Load() != want || gone.Load() != visitors-want {
			t.Errorf("%d redirects and %d refusals, want %d and %d", given.Load(), gone.Load(), want, visitors-want)
		}
	}
	round(most)
	edit := func(fields string) {
		t.Helper()
		if status := s.call(t, http.MethodPatch, "/v1/links/"+made.ID, fields, nil); status != 200 {
			t.Fatalf("editing %s: %d", fields, status)
		}
	}
	edit(`{"title":"an edit is no new limit"}`)
	round(0)
	edit(`{"max_clicks":150}`)
	s.there(t, "limited", 410)
	round(50)
	edit(`{"max_clicks":null}`)
	s.within(t, freshness, "all edges have no limit", at{"localhost", "/limited", 302, "https://e.test/"})
	edit(`{"max_clicks":7,"destination":"https://e.test/anew"}`)
	s.within(t, freshness, "all edges have a new one", at{"localhost", "/limited", 302, "https://e.test/anew"})
	round(7)
}

func (s *stack) limitedForPeople(t *testing.T) {
	s.makes(t, "once", "https://e.test/", `"max_clicks":1`)
	s.there(t, "once", 404)
	edge := s.edges()[0] + "/once"
	check := func(what, method string, status int, headers ...string) {
		t.Helper()
		if got := s.mustAsk(t, method, edge, headers...); got.status != status {
			t.Errorf("%s: %d, want %d", what, got.status, status)
		}
	}
	check("a preview bot", http.MethodGet, 302, "User-Agent", previewAgent)
	check("HEAD", http.MethodHead, 302)
	check("a prefetch", http.MethodGet, 302, "Sec-Purpose", "prefetch")
	check("a person", http.MethodGet, 302)
	check("the next", http.MethodGet, 410)
}

func (s *stack) limitedWithoutRedis(t *testing.T) {
	s.makes(t, "counted", "https://e.test/", `"max_clicks":1000`)
	s.there(t, "counted", 404)
	edge := s.edges()[len(s.edges())-1] // of the other region, whose own Redis goes on
	release := s.hold(t, "redis-fra")
	s.kill(t, "redis-fra")
	s.eventually(t, 5*time.Second, "nobody counts", func(ctx context.Context) error {
		got, err := s.ask(ctx, http.MethodGet, edge+"/counted")
		if err != nil || got.status != 503 || got.header.Get("Retry-After") == "" {
			return fmt.Errorf("%d %w", got.status, err)
		}
		return nil
	})
	release()
	s.eventually(t, 30*time.Second, "it redirects again", func(ctx context.Context) error {
		got, err := s.ask(ctx, http.MethodGet, edge+"/counted")
		if err != nil || got.status != 302 {
			return fmt.Errorf("%d %w", got.status, err)
		}
		return nil
	})
}

func (s *stack) ruled(t *testing.T) {
	day := strings.ToLower(time.Now().UTC().Weekday().String()[:3])
	s.makes(t, "ruled", "https://own.test/", `"rules":[
		{"conditions":[{"type":"country","values":["DE","US"]}],"destination":"https://place.test/"},
		{"conditions":[{"type":"query","values":["beta=1"]},{"type":"time","zone":"UTC","weekdays":["`+day+`"]},{"type":"address","values":["127.0.0.0/8"]}],"destination":"https://beta.test/"},
		{"conditions":[{"type":"language","values":["fr"]}],"destination":"https://fr.test/"},
		{"conditions":[{"type":"device","values":["mobile"]},{"type":"os","values":["iOS"]},{"type":"browser","values":["Safari"]}],"destination":"https://phone.test/"},
		{"conditions":[{"type":"bot"}],"destination":"https://bot.test/"}]`)
	s.there(t, "ruled", 404)
	check := func(location, query string, headers ...string) {
		t.Helper()
		for _, edge := range s.edges() {
			if got := s.mustAsk(t, http.MethodGet, edge+"/ruled"+query, headers...); got.status != 302 || got.location() != location {
				t.Errorf("%s%s %.80v: %d %q, want %q", edge, query, headers, got.status, got.location(), location)
			}
		}
	}
	language := func(header, location string) {
		t.Helper()
		check(location, "", "Accept-Language", header)
	}
	language("en;q=0.9, fr;q=0.1", "https://own.test/")
	language("fr;q=0", "https://own.test/")
	language("fr-CA", "https://fr.test/")
	language("fr", "https://fr.test/")
	language("", "https://own.test/")
	language(strings.Repeat(",", 10<<10), "https://own.test/")
	check("https://phone.test/", "", "User-Agent", phoneAgent)
	check("https://fr.test/", "", "User-Agent", phoneAgent, "Accept-Language", "fr")
	check("https://bot.test/", "", "User-Agent", previewAgent)
	check("https://beta.test/", "?x&beta=1", "Accept-Language", "fr")
	check("https://own.test/", "?beta=2")
}

func (s *stack) spoofed(t *testing.T) {
	s.makes(t, "spoofed", "https://own.test/", `"rules":[
		{"conditions":[{"type":"address","values":["203.0.113.9","6.6.6.6"]}],"destination":"https://wrong.test/"},
		{"conditions":[{"type":"country","values":["US"]}],"destination":"https://wrong.test/"}]`)
	s.there(t, "spoofed", 404)
	for _, header := range [][2]string{{"X-Forwarded-For", "203.0.113.9"}, {"X-Real-IP", "203.0.113.9"}, {"Forwarded", "for=6.6.6.6"}, {"CF-Connecting-IP", "6.6.6.6"}, {"CF-IPCountry", "US"}} {
		if got := s.mustAsk(t, http.MethodGet, s.edges()[0]+"/spoofed", header[0], header[1]); got.location() != "https://own.test/" {
			t.Errorf("%s: %q", header[0], got.location())
		}
	}
	for _, name := range []string{"url", "redir_url", "next", "to"} {
		if got := s.mustAsk(t, http.MethodGet, s.edges()[0]+"/spoofed?"+name+"=https://evil.test/"); got.location() != "https://own.test/" {
			t.Errorf("?%s=: %q", name, got.location())
		}
	}
}

func (s *stack) split(t *testing.T) {
	s.makes(t, "split", "https://own.test/", `"variants":[{"destination":"https://a.test/","weight":70},{"destination":"https://b.test/","weight":30}]`)
	s.there(t, "split", 404)
	const visitors = 10_000
	var a, moved atomic.Int64
	var wg sync.WaitGroup
	for worker := range 16 {
		wg.Go(func() {
			for i := worker; i < visitors; i += 16 {
				var got [2]string
				for round := range got { // each at another edge
					answer, err := s.ask(t.Context(), http.MethodGet, s.edges()[(i+round)%len(s.edges())]+"/split", "User-Agent", fmt.Sprint(browser, " ", i))
					if err != nil || answer.status != 302 {
						t.Errorf("%d %v", answer.status, err)
						return
					}
					got[round] = answer.location()
				}
				if got[0] != got[1] {
					moved.Add(1)
				}
				if got[0] == "https://a.test/" {
					a.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if share := float64(a.Load()) / visitors; math.Abs(share-0.7) > 0.02 || moved.Load() > 0 {
		t.Errorf("%v of the visitors got a, want 0.7; %d changed", share, moved.Load())
	}
}

func (s *stack) merged(t *testing.T) {
	s.makes(t, "merged", "https://e.test/base?own=1&utm_medium=own#top",
		`"forward_path":true,"forward_query":"owner_wins","utm":{"source":"news letter","medium":"email"}`)
	s.there(t, "merged", 404)
	check := func(path, location string) {
		t.Helper()
		if got := s.mustAsk(t, http.MethodGet, s.edges()[0]+path); got.status != 302 || got.location() != location {
			t.Errorf("%s: %d %q, want %q", path, got.status, got.location(), location)
		}
	}
	check("/merged", "https://e.test/base?own=1&utm_medium=own&utm_source=news%20letter#top")
	check("/merged/a/b%2Fc?own=2&x=3&utm_source=mine", "https://e.test/base/a/b%2Fc?own=1&utm_medium=own&utm_source=news%20letter&x=3#top")
	check("/merged?qr&x=3", "https://e.test/base?own=1&utm_medium=own&utm_source=news%20letter&x=3#top")
}

func (s *stack) disabled(t *testing.T) {
	made := s.makes(t, "switched", "https://e.test/", `"disabled":true`)
	s.eventually(t, freshness, "it is gone", func(ctx context.Context) error { return s.everyEdge(ctx, "switched", 410, "") })
	if status := s.call(t, http.MethodPatch, "/v1/links/"+made.ID, `{"disabled":false}`, nil); status != 200 {
		t.Fatalf("editing: %d", status)
	}
	s.eventually(t, freshness, "it is back", func(ctx context.Context) error { return s.everyEdge(ctx, "switched", 302, "https://e.test/") })
}

func (s *stack) card(t *testing.T) {
	s.makes(t, "card", "https://e.test/", `"preview":{"title":"It is <here>","text":"At last.","image":"https://e.test/i.png"}`)
	s.there(t, "card", 404)
	edge := s.edges()[0] + "/card"
	if got := s.mustAsk(t, http.MethodGet, edge, "User-Agent", previewAgent); got.status != 200 || !strings.Contains(got.body, `og:title" content="It is &lt;here&gt;"`) {
		t.Errorf("a preview bot: %d %.500s", got.status, got.body)
	}
	if got := s.mustAsk(t, http.MethodGet, edge); got.status != 302 {
		t.Errorf("a person: %d", got.status)
	}
}

func (s *stack) counted(t *testing.T) {
	made := s.makes(t, "chosen", "https://own.test/", `"rules":[{"conditions":[{"type":"device","values":["mobile"]}],"destination":"https://phone.test/"}],
		"variants":[{"destination":"https://a.test/","weight":0},{"destination":"https://b.test/","weight":1}]`)
	s.there(t, "chosen", 404)
	s.mustAsk(t, http.MethodGet, s.edges()[0]+"/chosen", "User-Agent", phoneAgent)
	s.mustAsk(t, http.MethodGet, s.edges()[1]+"/chosen?qr")
	s.eventually(t, 30*time.Second, "both are counted", func(context.Context) error {
		if got := s.clicks(t, made.ID); got != 2 {
			return fmt.Errorf("%d clicks", got)
		}
		return nil
	})
	rows := s.clickhouse(t, fmt.Sprintf("SELECT rule, variant, source FROM clicks WHERE link_id = '%s' ORDER BY rule FORMAT CSV", made.ID))
	if want := "0,2,\"qr\"\n1,0,\"\""; strings.TrimSpace(rows) != want {
		t.Errorf("the rows are %q, want %q", rows, want)
	}
}

// clickhouse asks the statistics' database.
func (s *stack) clickhouse(t *testing.T, query string) string {
	t.Helper()
	address, err := url.Parse(s.env["LINKSTREAM_CLICKHOUSE_URL"])
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
		address.Scheme+"://"+address.Host+"/?database="+strings.Trim(address.Path, "/"), strings.NewReader(query))
	if err != nil {
		t.Fatal(err)
	}
	if password, ok := address.User.Password(); ok {
		request.SetBasicAuth(address.User.Username(), password)
	}
	answer, err := noFollow.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %s %v", query, answer.StatusCode, text, err)
	}
	return string(text)
}

func (s *stack) wellKnown(t *testing.T) {
	s.makes(t, "kept", "https://e.test/", `"status_code":301`)
	s.makes(t, "plain", "https://e.test/", "")
	s.there(t, "kept", 404)
	s.there(t, "plain", 404)
	edge := s.edges()[0]
	for path, status := range map[string]int{"/robots.txt": 200, "/favicon.ico": 204, "/": 200} {
		if got := s.mustAsk(t, http.MethodGet, edge+path); got.status != status || got.header.Get("Server-Timing") != "" {
			t.Errorf("%s: %d %v", path, got.status, got.header)
		}
	}
	for path, control := range map[string]string{"/kept": "private, max-age=90", "/plain": "private, no-store"} {
		if got := s.mustAsk(t, http.MethodGet, edge+path); got.header.Get("Cache-Control") != control {
			t.Errorf("%s: %v", path, got.header)
		}
	}
	for _, method := range []string{http.MethodDelete, http.MethodPut, http.MethodPatch, http.MethodPost} {
		if got := s.mustAsk(t, method, edge+"/plain"); got.status != 405 || got.header.Get("Allow") == "" {
			t.Errorf("%s: %d %v", method, got.status, got.header)
		}
	}
	for _, host := range []string{"LOCALHOST", "localhost.", "localhost:8080", "127.0.0.1"} {
		if got := s.mustAsk(t, http.MethodGet, edge+"/plain", "Host", host); got.location() != "https://e.test/" {
			t.Errorf("Host: %s: %d", host, got.status)
		}
	}
	if got := s.mustAsk(t, http.MethodHead, edge+"/plain"); got.status != 302 || got.location() != "https://e.test/" || got.body != "" {
		t.Errorf("HEAD: %d %v", got.status, got.header)
	}
}
