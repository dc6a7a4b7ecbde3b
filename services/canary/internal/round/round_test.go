package round_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/linkstream/linkstream/services/canary/internal/customer"
	"github.com/linkstream/linkstream/services/canary/internal/round"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	key    = "ls_key_of-a-test"
	domain = "go.test"
)

// system answers as linkstream does, with the faults that a test wants.
type system struct {
	mu      sync.Mutex
	targets map[string][]string // by id: all targets, the newest last
	visits  map[string]int
	removed []string

	api   func(w http.ResponseWriter, r *http.Request) bool // true: it has answered
	edge  func(n int, r *http.Request, targets []string) (status int, target string)
	count func(visits int) int
}

func (s *system) start(t *testing.T) (*customer.Customer, []*customer.Visitor) {
	t.Helper()
	s.targets, s.visits = map[string][]string{}, map[string]int{}
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	api := httptest.NewServer(s.serveAPI(t))
	t.Cleanup(api.Close)
	var visitors []*customer.Visitor
	for n := range 2 {
		edge := httptest.NewServer(s.serveEdge(t, n))
		t.Cleanup(edge.Close)
		v, err := customer.NewVisitor(client, edge.URL, domain)
		if err != nil {
			t.Fatal(err)
		}
		visitors = append(visitors, v)
	}
	return customer.New(client, api.URL, key), visitors
}

func (s *system) serveAPI(t *testing.T) http.HandlerFunc {
	t.Helper()
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if r.Header.Get("Authorization") != "Bearer "+key || r.UserAgent() != customer.Agent {
			t.Errorf("%s %s: %v", r.Method, r.URL, r.Header)
		}
		if s.api != nil && s.api(w, r) {
			return
		}
		var in struct {
			Destination string   `json:"destination"`
			Domain      string   `json:"domain"`
			Tags        []string `json:"tags"`
		}
		if r.Method == http.MethodPost || r.Method == http.MethodPatch {
			if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
				t.Error(err)
			}
		}
		id := strings.TrimPrefix(r.URL.Path, "/v1/links/")
		switch {
		case r.Method == http.MethodPost:
			if in.Domain != domain || len(in.Tags) != 1 || in.Tags[0] != round.Tag {
				t.Errorf("a link is made with %+v", in)
			}
			id = fmt.Sprintf("link%d", len(s.targets))
			s.targets[id] = []string{in.Destination}
			w.WriteHeader(http.StatusCreated)
			_, _ = fmt.Fprintf(w, `{"id":%q,"slug":%q}`, id, id)
		case r.Method == http.MethodPatch:
			s.targets[id] = append(s.targets[id], in.Destination)
			_, _ = w.Write([]byte(`{}`))
		case r.Method == http.MethodDelete:
			s.removed = append(s.removed, id)
			delete(s.targets, id)
			w.WriteHeader(http.StatusNoContent)
		case r.URL.Path == "/v1/analytics/summary":
			n := s.visits[r.URL.Query().Get("link_id")]
			if s.count != nil {
				n = s.count(n)
			}
			if r.URL.Query().Get("bots") != "include" {
				n = 0 // it calls itself a robot
			}
			_, _ = fmt.Fprintf(w, `{"clicks":%d}`, n)
		default:
			_, _ = w.Write([]byte(`{"data":[]}`))
		}
	}
}

func (s *system) serveEdge(t *testing.T, n int) http.HandlerFunc {
	t.Helper()
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if r.Host != domain {
			t.Errorf("an edge is asked for %s", r.Host)
		}
		slug := strings.TrimPrefix(r.URL.Path, "/")
		targets := s.targets[slug]
		status, target := http.StatusNotFound, ""
		if len(targets) > 0 {
			status, target = http.StatusFound, targets[len(targets)-1]
		}
		if s.edge != nil {
			status, target = s.edge(n, r, targets)
		}
		if r.Method == http.MethodGet && status == http.StatusFound {
			s.visits[slug]++
		}
		if target != "" {
			w.Header().Set("Location", target)
		}
		w.WriteHeader(status)
	}
}

func newCanary(t *testing.T, s *system) (*round.Canary, *prometheus.Registry, *bytes.Buffer) {
	t.Helper()
	c, visitors := s.start(t)
	registry, log := prometheus.NewRegistry(), &bytes.Buffer{}
	return round.New(round.Settings{Domain: domain, Every: time.Hour, LiveLimit: 400 * time.Millisecond, CountLimit: 400 * time.Millisecond},
		c, visitors, registry, slog.New(slog.NewTextHandler(log, nil))), registry, log
}

// value sums a metric's series that have the label, histograms by their count.
func value(t *testing.T, registry *prometheus.Registry, name, label string) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var sum float64
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			if label != "" && (len(m.GetLabel()) == 0 || m.GetLabel()[0].GetValue() != label) {
				continue
			}
			sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return sum
}

// A round on a system that works measures every step at every edge and leaves nothing.
//
// Guards I87.
func TestARoundThatGoesWell(t *testing.T) {
	t.Parallel()
	s := &system{}
	canary, registry, _ := newCanary(t, s)
	if err := canary.Once(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{
		"canary_api_seconds": 3, "canary_redirect_seconds": 4, "canary_edit_live_seconds": 2, "canary_click_counted_seconds": 1,
		"canary_delete_gone_seconds": 2, "canary_failures_total": 0,
	} {
		if got := value(t, registry, name, ""); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if len(s.targets) != 0 || len(s.removed) != 1 {
		t.Errorf("links stay: %v", s.targets)
	}
}

// Every way in which the system can break its word is counted under the step that broke,
// and the link is removed all the same.
//
// Guards I87.
func TestEveryBrokenPromiseIsCountedUnderItsStep(t *testing.T) {
	t.Parallel()
	newest := func(targets []string) (int, string) {
		if len(targets) == 0 {
			return http.StatusNotFound, ""
		}
		return http.StatusFound, targets[len(targets)-1]
	}
	refuse := func(method string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method != method {
				return false
			}
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte(`{"code":"unavailable"}`))
			return true
		}
	}
	var looks int
	for name, c := range map[string]struct {
		system *system
		want   string
		says   string
	}{
		"the API makes no link":   {&system{api: refuse(http.MethodPost)}, "create", "503 (unavailable)"},
		"the API takes no edit":   {&system{api: refuse(http.MethodPatch)}, "edit", "503"},
		"the API removes nothing": {&system{api: refuse(http.MethodDelete)}, "delete", "503"},
		"an edge does not know it": {&system{edge: func(n int, r *http.Request, targets []string) (int, string) {
			if n == 1 && r.Method == http.MethodGet {
				return http.StatusServiceUnavailable, ""
			}
			return newest(targets)
		}}, "follow", "503"},
		"an edge leads elsewhere": {&system{edge: func(n int, r *http.Request, targets []string) (int, string) {
			if n == 1 && r.Method == http.MethodGet {
				return http.StatusFound, "https://evil.test"
			}
			return newest(targets)
		}}, "follow", "leads elsewhere"},
		"an edge misses the edit": {&system{edge: func(n int, _ *http.Request, targets []string) (int, string) {
			if n == 1 && len(targets) > 1 {
				return http.StatusFound, targets[0]
			}
			return newest(targets)
		}}, "live", "not within the limit"},
		"an edge goes back": {&system{edge: func(n int, _ *http.Request, targets []string) (int, string) {
			if n == 1 && len(targets) > 1 {
				if looks++; looks > 3 {
					return http.StatusFound, targets[0]
				}
			}
			return newest(targets)
		}}, "live", "went back"},
		"a visit is not counted":   {&system{count: func(n int) int { return n - 1 }}, "count", "not within the limit"},
		"a visit is counted twice": {&system{count: func(n int) int { return n + 1 }}, "count", "more was counted"},
		"an edge keeps what is gone": {&system{edge: func(n int, _ *http.Request, targets []string) (int, string) {
			if n == 1 && len(targets) == 0 {
				return http.StatusFound, "https://example.com"
			}
			return newest(targets)
		}}, "gone", "not within the limit"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			canary, registry, log := newCanary(t, c.system)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- canary.Run(ctx) }()
			tick := time.NewTicker(5 * time.Millisecond)
			defer tick.Stop()
			for begun := time.Now(); value(t, registry, "canary_rounds_total", "") == 0 && time.Since(begun) < 20*time.Second; {
				<-tick.C
			}
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if got := value(t, registry, "canary_failures_total", c.want); got != 1 || value(t, registry, "canary_failures_total", "") != 1 {
				t.Errorf("failures of %s: %v; the log:\n%s", c.want, got, log)
			}
			if value(t, registry, "canary_rounds_total", "failed") != 1 || value(t, registry, "canary_last_ok_timestamp_seconds", "") != 0 {
				t.Error("the round did not fail")
			}
			if !strings.Contains(log.String(), c.says) || strings.Contains(log.String(), key) {
				t.Errorf("it says %q, want %q", log, c.says)
			}
			if len(c.system.targets) != 0 && c.want != "delete" {
				t.Errorf("links stay: %v", c.system.targets)
			}
		})
	}
}

// A canary that is stopped in the middle of a round removes the link, and counts nothing.
//
// Guards I87.
func TestAStopInTheMiddleLeavesNoLink(t *testing.T) {
	t.Parallel()
	edited := make(chan struct{})
	s := &system{api: func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPatch {
			close(edited)
		}
		return false
	}, count: func(int) int { return 0 }}
	canary, registry, _ := newCanary(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- canary.Run(ctx) }()
	<-edited
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if len(s.targets) != 0 || value(t, registry, "canary_rounds_total", "") != 0 {
		t.Errorf("links stay: %v", s.targets)
	}
}

func TestWhatAKilledCanaryLeftIsRemoved(t *testing.T) {
	t.Parallel()
	var asked string
	s := &system{}
	s.api = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet || r.URL.Path != "/v1/links" {
			return false
		}
		asked = r.URL.RawQuery
		_, _ = w.Write([]byte(`{"data":[{"id":"left","slug":"x"}]}`))
		return true
	}
	canary, registry, _ := newCanary(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- canary.Run(ctx) }()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for begun := time.Now(); value(t, registry, "canary_rounds_total", "ok") == 0 && time.Since(begun) < 20*time.Second; {
		<-tick.C
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if len(s.removed) != 2 || s.removed[0] != "left" {
		t.Errorf("it removed %v", s.removed)
	}
	if !strings.Contains(asked, "tag="+round.Tag) || !strings.Contains(asked, "created_before=") {
		t.Errorf("it asked for %s", asked)
	}
}

func TestAStatusIsAnErrorThatCanBeAskedFor(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("wrapped: %w", customer.StatusError{Status: http.StatusTeapot})
	if !errors.Is(err, customer.ErrStatus) {
		t.Error("it is no ErrStatus")
	}
}
