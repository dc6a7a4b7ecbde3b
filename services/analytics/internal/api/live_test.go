package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/analytics/internal/live"
	"github.com/linkstream/linkstream/services/analytics/internal/query"
	"github.com/linkstream/linkstream/services/internal/enrich"
)

const liveStream = "/v1/analytics/live"

// now are the clicks of these tests' source: one of each workspace.
type one struct{ rows []enrich.Row }

func (o one) Read(ctx context.Context, _ time.Time, take func([]enrich.Row, error)) error {
	take(o.rows, nil)
	<-ctx.Done()
	return nil
}

// events reads the data of events of a stream.
func events(t *testing.T, server *httptest.Server, path string) (next func() live.Moment, end func()) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer mine")
	answer, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%s answers %d %s", path, answer.StatusCode, answer.Header)
	}
	lines := bufio.NewScanner(answer.Body)
	return func() live.Moment {
		t.Helper()
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				var m live.Moment
				if err := json.Unmarshal([]byte(data), &m); err != nil {
					t.Fatal(err)
				}
				return m
			}
		}
		t.Fatal("the stream ended")
		return live.Moment{}
	}, func() { _ = answer.Body.Close() }
}

// Guards I72.
func TestTheLiveStreamIsOfTheViewersWorkspaceAndFilters(t *testing.T) {
	f := newFixture(t)
	tagged := uuid.New()
	f.insertLinks(linkRow{id: tagged, revision: 1, tags: []string{"x"}})
	row := func(workspace, link uuid.UUID, country string) enrich.Row {
		return enrich.Row{TimeUnixMilli: time.Now().UnixMilli(), WorkspaceID: workspace, LinkID: link, Place: enrich.Place{Country: country}}
	}
	f.live = live.New(one{[]enrich.Row{row(f.mine, tagged, "DE"), row(f.mine, uuid.New(), "FR"), row(f.other, tagged, "DE")}}, time.Now, f.log)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- f.live.Run(ctx) }()
	f.handler = f.serve(f.dsn)
	server := httptest.NewServer(f.handler)
	defer server.Close()

	check := func(want uint64, params string) {
		t.Helper()
		next, end := events(t, server, liveStream+params)
		defer end()
		if m := next(); m.Clicks != want {
			t.Errorf("%q: %d clicks, want %d", params, m.Clicks, want)
		}
	}
	check(2, "")
	check(1, "?country=DE")
	check(1, "?tag=x")
	check(1, "?not_tag=x")
	check(0, "?bots=only")
	if got := wrong(t, f.get("mine", liveStream, "from", "2026-11-30")); got != "from:unknown" {
		t.Errorf("a period: %s", got)
	}

	next, end := events(t, server, liveStream)
	defer end()
	first := next()
	if second := next(); !second.T.After(first.T) || second.Clicks != first.Clicks {
		t.Errorf("a second later: %+v after %+v", second, first)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if w := f.get("mine", liveStream); w.Code != http.StatusServiceUnavailable {
		t.Errorf("after the stop: %d", w.Code)
	}
}

// full has no room.
type full struct{}

func (full) Watch(live.View) (*live.Viewer, error) { return nil, live.ErrTooManyViewers }

func TestAViewerTooManyIsToldSo(t *testing.T) {
	h := &handlers{live: full{}, now: now}
	_, err := h.watch(t.Context(), &query.Question{})
	var problem interface{ GetStatus() int }
	if !errors.As(err, &problem) || problem.GetStatus() != http.StatusServiceUnavailable || !strings.Contains(err.Error(), "too_many_viewers") {
		t.Errorf("answered with %v, want \"too_many_viewers\"", err)
	}
}
