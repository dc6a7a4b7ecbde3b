package e2e

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// told is what a webhook or a stream says.
type told struct {
	Type string `json:"type"`
	Data struct {
		ID          string `json:"id"`
		LinkID      string `json:"link_id"`
		ShortURL    string `json:"short_url"`
		Destination string `json:"destination"`
		Version     int    `json:"version"`
		Threshold   int    `json:"threshold"`
		Clicks      int    `json:"clicks"`
	} `json:"data"`
}

// receiver is an endpoint's server, written from the specification alone.
type receiver struct {
	*httptest.Server
	secret string

	mu     sync.Mutex
	fail   bool
	events []told
	ids    []string
	bad    []string
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

// ServeHTTP takes what is signed.
func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	id, at := request.Header.Get("webhook-id"), request.Header.Get("webhook-timestamp")
	r.mu.Lock()
	defer r.mu.Unlock()
	key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(r.secret, "whsec_"))
	mac := hmac.New(sha256.New, key)
	_, _ = fmt.Fprintf(mac, "%s.%s.%s", id, at, body)
	want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	seconds, _ := strconv.ParseInt(at, 10, 64)
	var e told
	if err == nil {
		err = json.Unmarshal(body, &e)
	}
	if age := time.Since(time.Unix(seconds, 0)); err != nil || request.Header.Get("webhook-signature") != want || age < -time.Minute || age > 5*time.Minute {
		r.bad = append(r.bad, fmt.Sprintf("%s %s: %v", id, body, err))
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if r.fail {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if !slices.Contains(r.ids, id) { // at least once
		r.ids, r.events = append(r.ids, id), append(r.events, e)
	}
}

func (r *receiver) failing(fail bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fail = fail
}

// of are the events of a type.
func (r *receiver) of(kind string) (events []told) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if e.Type == kind {
			events = append(events, e)
		}
	}
	return events
}

// watch reads the event stream; the channel is closed when it ends.
func (s *stack) watch(ctx context.Context, t *testing.T, query, lastID string) (events <-chan told, id func() string) {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.env["LINKSTREAM_API_URL"]+"/v1/events"+query, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+s.env["LINKSTREAM_API_KEY"])
	request.Header.Set("Last-Event-ID", lastID)
	answer, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(answer.Body)
		t.Fatalf("looking on: %d %s", answer.StatusCode, text)
	}
	found := make(chan told, 1000)
	begun := make(chan struct{})
	var mu sync.Mutex
	var last string
	go func() {
		defer close(found)
		defer func() { _ = answer.Body.Close() }()
		begin := sync.OnceFunc(func() { close(begun) })
		defer begin()
		lines := bufio.NewScanner(answer.Body)
		for lines.Scan() {
			begin()
			if text, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
				mu.Lock()
				last = text
				mu.Unlock()
			}
			if text, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				var e told
				if json.Unmarshal([]byte(text), &e) == nil && e.Type != "" {
					found <- e
				}
			}
		}
	}()
	select {
	case <-begun:
	case <-time.After(30 * time.Second):
		t.Fatal("the stream does not begin")
	}
	return found, func() string {
		mu.Lock()
		defer mu.Unlock()
		return last
	}
}

func nextTold(t *testing.T, events <-chan told) told {
	t.Helper()
	select {
	case e, ok := <-events:
		if !ok {
			t.Fatal("the stream has ended")
		}
		return e
	case <-time.After(30 * time.Second):
		t.Fatal("the stream shows nothing")
	}
	return told{}
}

// TestWebhooks is another team's view of a workspace, from outside: an endpoint and an
// event stream at the dashboard's address.
//
// Guards I75, I76, I79, I80.
func TestWebhooks(t *testing.T) {
	s := newStack(t)
	r := newReceiver(t)
	var hook struct{ ID, Secret string }
	body := fmt.Sprintf(`{"url":%q,"description":"e2e","click_thresholds":[5,20],"summary_interval_seconds":1}`, r.URL)
	r.mu.Lock()
	status := s.call(t, http.MethodPost, "/v1/webhooks", body, &hook)
	r.secret = hook.Secret
	r.mu.Unlock()
	if status != http.StatusCreated || hook.Secret == "" {
		t.Fatalf("making the endpoint: status %d", status)
	}
	if status := s.call(t, http.MethodPost, "/v1/webhooks", `{"url":"https://169.254.169.254/latest/meta-data"}`, nil); status != http.StatusUnprocessableEntity {
		t.Errorf("an endpoint in a private network: status %d", status)
	}
	path := "/v1/webhooks/" + hook.ID
	t.Run("a test event arrives", func(t *testing.T) {
		if status := s.call(t, http.MethodPost, path+"/test", "", nil); status != http.StatusAccepted {
			t.Fatalf("status %d", status)
		}
		s.eventually(t, 30*time.Second, "it arrives", func(context.Context) error { return arrived(r, "webhook.test", 1) })
	})
	t.Run("a link's life is told in its order, and shown", func(t *testing.T) { s.toldLife(t, r) })
	t.Run("clicks are summed up and thresholds told", func(t *testing.T) { s.toldClicks(t, r) })
	t.Run("an expiry is told", func(t *testing.T) {
		made := s.create(t, "ends", "https://e.test/")
		soon := time.Now().Add(2 * time.Second).UTC().Format(time.RFC3339Nano)
		if status := s.call(t, http.MethodPatch, "/v1/links/"+made.ID, `{"expires_at":"`+soon+`"}`, nil); status != http.StatusOK {
			t.Fatalf("status %d", status)
		}
		s.eventually(t, 30*time.Second, "it is told", func(context.Context) error { return arrived(r, "link.expired", 1) })
		if e := r.of("link.expired")[0]; e.Data.ID != made.ID {
			t.Errorf("told %+v", e)
		}
	})
	t.Run("what happens while the receiver and the service are away arrives", func(t *testing.T) { s.toldLater(t, r, path) })
	if len(r.bad) != 0 {
		t.Errorf("badly signed: %v", r.bad)
	}
}

func arrived(r *receiver, kind string, n int) error {
	if got := len(r.of(kind)); got != n {
		return fmt.Errorf("%d of %s, want %d", got, kind, n)
	}
	return nil
}

func (s *stack) toldLife(t *testing.T, r *receiver) {
	t.Helper()
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	seen, lastID := s.watch(ctx, t, "", "")
	began := time.Now()
	made := s.create(t, "told", "https://e.test/one")
	if e := nextTold(t, seen); e.Type != "link.created" || e.Data.ID != made.ID || e.Data.ShortURL != made.ShortURL || e.Data.Destination != "https://e.test/one" {
		t.Errorf("the stream shows %+v", e)
	}
	t.Logf("the stream showed it after %v", time.Since(began).Round(time.Millisecond))
	hangUp()
	id := lastID()
	if status := s.call(t, http.MethodPatch, "/v1/links/"+made.ID, `{"destination":"https://e.test/two"}`, nil); status != http.StatusOK {
		t.Fatalf("editing: status %d", status)
	}
	if status := s.call(t, http.MethodDelete, "/v1/links/"+made.ID, "", nil); status != http.StatusNoContent {
		t.Fatalf("deleting: status %d", status)
	}
	again, hangUpAgain := context.WithCancel(t.Context())
	defer hangUpAgain()
	seen, _ = s.watch(again, t, "?link_id="+made.ID, id)
	for i, kind := range []string{"link.updated", "link.deleted"} {
		if e := nextTold(t, seen); e.Type != kind || e.Data.Version != i+2 || e.Data.Destination != "https://e.test/two" {
			t.Errorf("after coming back the stream shows %+v, want %s", e, kind)
		}
	}
	s.eventually(t, 30*time.Second, "the endpoint is told", func(context.Context) error { return arrived(r, "link.deleted", 1) })
	r.mu.Lock()
	defer r.mu.Unlock()
	var versions []int
	for _, e := range r.events {
		if e.Data.ID == made.ID {
			versions = append(versions, e.Data.Version)
		}
	}
	if !slices.Equal(versions, []int{1, 2, 3}) {
		t.Errorf("told the versions %v", versions)
	}
}

func (s *stack) toldClicks(t *testing.T, r *receiver) {
	t.Helper()
	made := s.create(t, "clicked", "https://e.test/")
	s.eventually(t, freshness, "all edges redirect", func(ctx context.Context) error {
		for _, edge := range s.edges() {
			if status, _, _, err := visit(ctx, http.MethodHead, edge, "clicked"); err != nil || status != http.StatusFound {
				return fmt.Errorf("%s: %d %w", edge, status, err)
			}
		}
		return nil
	})
	const clicks = 12
	for i := range clicks {
		if status, _, _, err := visit(t.Context(), http.MethodGet, s.edges()[i%len(s.edges())], "clicked"); err != nil || status != http.StatusFound {
			t.Fatalf("visiting: %d %v", status, err)
		}
	}
	s.eventually(t, 30*time.Second, "all clicks are summed up", func(context.Context) error {
		sum := 0
		for _, e := range r.of("clicks.summary") {
			sum += e.Data.Clicks
		}
		if sum != clicks {
			return fmt.Errorf("%d clicks, want %d", sum, clicks)
		}
		return nil
	})
	s.eventually(t, 30*time.Second, "the threshold is told", func(context.Context) error { return arrived(r, "link.threshold_reached", 1) })
	if e := r.of("link.threshold_reached")[0]; e.Data.Threshold != 5 || e.Data.LinkID != made.ID {
		t.Errorf("told %+v", e)
	}
}

// toldLater fails the receiver, kills the service, and lets both come back.
func (s *stack) toldLater(t *testing.T, r *receiver, path string) {
	t.Helper()
	before := len(r.of("link.created"))
	r.failing(true)
	for n := range 5 {
		s.create(t, fmt.Sprint("later-", n), "https://e.test/")
	}
	s.eventually(t, 30*time.Second, "the log shows that they fail", func(context.Context) error {
		var log struct {
			Data []struct {
				State      string
				LastStatus int `json:"last_status"`
			}
		}
		s.call(t, http.MethodGet, path+"/deliveries?state=pending", "", &log)
		failed := 0
		for _, d := range log.Data {
			if d.LastStatus == http.StatusServiceUnavailable {
				failed++
			}
		}
		if failed < 5 {
			return fmt.Errorf("%d fail", failed)
		}
		return nil
	})
	s.kill(t, "webhooks")
	for n := range 5 {
		s.create(t, fmt.Sprint("latest-", n), "https://e.test/")
	}
	r.failing(false)
	took := s.eventually(t, 2*time.Minute, "everything arrives", func(context.Context) error { return arrived(r, "link.created", before+10) })
	t.Logf("everything had arrived after %v", took.Round(time.Millisecond))
}
