package deliver_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/internal/pgtest"
	"github.com/linkstream/linkstream/services/internal/testproc"
	"github.com/linkstream/linkstream/services/webhooks/internal/deliver"
	"github.com/linkstream/linkstream/services/webhooks/internal/endpoint"
	"github.com/linkstream/linkstream/services/webhooks/internal/hooktest"
	"github.com/linkstream/linkstream/services/webhooks/internal/outbound"
	"github.com/linkstream/linkstream/services/webhooks/internal/postgres"
)

func TestMain(m *testing.M) { os.Exit(testproc.NoLeaks(pgtest.Main(m))) }

// attemptTimeout is short, so that a receiver that hangs does not hold up a test.
const attemptTimeout = 500 * time.Millisecond

func quick() deliver.Settings {
	return deliver.Settings{Workers: 16, PerEndpoint: 4, Lease: 5 * time.Second, Drain: time.Second, Schedule: deliver.Schedule{
		First: 20 * time.Millisecond, Longest: 200 * time.Millisecond, GiveUp: time.Minute, Failing: time.Hour,
	}}
}

// start runs a deliverer until the test ends, or until it is stopped.
func start(t *testing.T, s *hooktest.Store, settings deliver.Settings) (stop func(), registry *prometheus.Registry) {
	t.Helper()
	registry = prometheus.NewRegistry()
	client := outbound.NewPolicy([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}).Client(attemptTimeout, nil)
	d := deliver.New(s.Store, client, settings, registry, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop, registry
}

func enqueue(t *testing.T, s *hooktest.Store, e *endpoint.Endpoint, link uuid.UUID, from, to int) {
	t.Helper()
	for n := from; n < to; n++ {
		if err := s.Enqueue(t.Context(), []postgres.Queued{{Endpoint: e.ID, Event: s.Event(link, n)}}); err != nil {
			t.Fatal(err)
		}
	}
}

// states counts an endpoint's deliveries by state and failure.
func states(t *testing.T, s *hooktest.Store, e *endpoint.Endpoint) map[string]int {
	t.Helper()
	list, _, err := s.Log(t.Context(), s.Workspace, e.ID, postgres.LogFilter{}, nil, 1000)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, l := range list {
		counts[strings.TrimSuffix(l.State+" "+l.Failure, " ")]++
	}
	return counts
}

func all(t *testing.T, s *hooktest.Store, e *endpoint.Endpoint, state string, n int) {
	t.Helper()
	facttest.Eventually(t, fmt.Sprintf("%d deliveries are %s", n, state), func() bool { return states(t, s, e)[state] == n })
}

// A receiver that does everything wrong that receivers do gets each event at least once,
// each with a good signature, and those of a link in their order.
//
// Guards I75, I76.
func TestAReceiverThatMisbehavesGetsEachEventInOrder(t *testing.T) {
	s, r := hooktest.NewStore(t), hooktest.NewReceiver(t)
	other := hooktest.NewReceiver(t)
	e, secret := s.Endpoint(t, r.URL, nil)
	r.Trust(secret)
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	var calls atomic.Int64
	r.Answer(func(w http.ResponseWriter, request *http.Request) {
		switch calls.Add(1) % 9 {
		case 1:
			w.WriteHeader(http.StatusInternalServerError)
		case 2:
			select { // hangs
			case <-release:
			case <-request.Context().Done():
			}
			w.WriteHeader(http.StatusTeapot)
		case 3:
			http.Redirect(w, request, other.URL, http.StatusTemporaryRedirect)
		case 4:
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
		case 5:
			panic(http.ErrAbortHandler) // breaks off
		case 6:
			w.WriteHeader(http.StatusBadGateway)
			_, _ = io.WriteString(w, strings.Repeat("\x00\xff endless ", 100_000))
		case 7:
			w.WriteHeader(http.StatusNotFound)
		}
	})
	links := []uuid.UUID{uuid.New(), uuid.New(), uuid.New()}
	const events = 5
	for _, link := range links {
		enqueue(t, s, e, link, 0, events)
	}
	_, registry := start(t, s, quick())
	all(t, s, e, "delivered", len(links)*events)
	next := map[string]int{}
	for _, got := range r.Taken() {
		link, n, _ := strings.Cut(strings.TrimPrefix(got.ID, "evt_"), "_")
		if n != strconv.Itoa(next[link]) {
			t.Errorf("event %s of %s is taken, want %d", n, link, next[link])
		}
		next[link]++
	}
	if got := other.Got(); len(got) != 0 {
		t.Errorf("%d redirects were followed", len(got))
	}
	if n := facttest.Metric(t, registry, "webhook_attempts_total", "delivered"); n != float64(len(links)*events) {
		t.Errorf("%v deliveries are counted", n)
	}
	if e, err := s.Get(t.Context(), s.Workspace, e.ID); err != nil || !e.Enabled {
		t.Errorf("the endpoint is disabled: %+v, %v", e, err)
	}
}

// Guards I76.
func TestTheNextEventOfALinkWaits(t *testing.T) {
	s, r := hooktest.NewStore(t), hooktest.NewReceiver(t)
	e, _ := s.Endpoint(t, r.URL, nil)
	blocked, free := uuid.New(), uuid.New()
	r.Answer(func(w http.ResponseWriter, request *http.Request) {
		if strings.Contains(request.Header.Get("webhook-id"), blocked.String()) {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	enqueue(t, s, e, blocked, 0, 3)
	enqueue(t, s, e, free, 0, 3)
	settings := quick()
	settings.Schedule.GiveUp = 150 * time.Millisecond
	start(t, s, settings)
	all(t, s, e, "delivered", 3)
	all(t, s, e, "failed given_up", 3)
	last := -1
	for _, got := range r.Got() {
		var n int
		if _, err := fmt.Sscanf(got.ID, "evt_"+blocked.String()+"_%d", &n); err != nil {
			continue
		}
		if n < last || n > last+1 {
			t.Errorf("event %d came after %d", n, last)
		}
		last = n
	}
}

func TestGoneDisablesAtOnceAndWhatWaitsCanBeReplayed(t *testing.T) {
	s, r := hooktest.NewStore(t), hooktest.NewReceiver(t)
	e, _ := s.Endpoint(t, r.URL, nil)
	r.Answer(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) })
	link := uuid.New()
	enqueue(t, s, e, link, 0, 4)
	_, registry := start(t, s, quick())
	all(t, s, e, "failed gone", 1)
	all(t, s, e, "failed endpoint_disabled", 3)
	now, err := s.Get(t.Context(), s.Workspace, e.ID)
	if err != nil || now.Enabled || now.DisabledReason != endpoint.Gone || now.DisabledAt == nil {
		t.Fatalf("the endpoint is %+v, %v", now, err)
	}
	facttest.Eventually(t, "it is counted", func() bool {
		return facttest.Metric(t, registry, "webhook_endpoints_disabled_total", "gone") == 1
	})
	enqueue(t, s, e, link, 4, 5)                                                                                                    // for nobody
	if _, _, err := s.ReplayRange(t.Context(), s.Workspace, e.ID, e.CreatedAt, time.Now(), "failed"); err != endpoint.ErrDisabled { //nolint:errorlint // as it is
		t.Errorf("replaying to a disabled endpoint: %v", err)
	}
	r.Answer(nil)
	if _, err := s.Edit(t.Context(), s.Workspace, e.ID, func(uint64) bool { return true }, func(e *endpoint.Endpoint) error { e.Enabled = true; return nil }); err != nil {
		t.Fatal(err)
	}
	n, more, err := s.ReplayRange(t.Context(), s.Workspace, e.ID, e.CreatedAt.Add(-time.Minute), time.Now().Add(time.Minute), "failed")
	if err != nil || n != 4 || more {
		t.Fatalf("replayed %d, %v, %v", n, more, err)
	}
	all(t, s, e, "delivered", 4)
	var order []string
	for _, got := range r.Taken() {
		order = append(order, got.ID)
	}
	if !slices.IsSorted(order) {
		t.Errorf("replayed in the order %v", order)
	}
}

func TestAnEndpointThatFailsForTooLongIsDisabled(t *testing.T) {
	s, r := hooktest.NewStore(t), hooktest.NewReceiver(t)
	e, _ := s.Endpoint(t, r.URL, nil)
	r.Answer(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	enqueue(t, s, e, uuid.New(), 0, 2)
	settings := quick()
	settings.Schedule.Failing = 200 * time.Millisecond
	start(t, s, settings)
	all(t, s, e, "failed endpoint_disabled", 2)
	if now, err := s.Get(t.Context(), s.Workspace, e.ID); err != nil || now.DisabledReason != endpoint.Failing {
		t.Errorf("the endpoint is %+v, %v", now, err)
	}
}

func TestRetryAfterIsFollowedWithinBounds(t *testing.T) {
	s, r := hooktest.NewStore(t), hooktest.NewReceiver(t)
	e, _ := s.Endpoint(t, r.URL, nil)
	var calls atomic.Int64
	r.Answer(func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) == 1 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
		}
	})
	enqueue(t, s, e, uuid.New(), 0, 1)
	settings := quick()
	settings.Schedule.Longest = time.Hour
	start(t, s, settings)
	all(t, s, e, "delivered", 1)
	got := r.Got()
	if wait := got[1].At.Sub(got[0].At); len(got) != 2 || wait < 950*time.Millisecond {
		t.Errorf("%d attempts, the second after %v, want a second at least", len(got), wait)
	}
}

// Guards I77.
func TestAnEndpointThatHangsHoldsUpNobody(t *testing.T) {
	s := hooktest.NewStore(t)
	slow, fast := hooktest.NewReceiver(t), hooktest.NewReceiver(t)
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	slow.Answer(func(_ http.ResponseWriter, request *http.Request) {
		select {
		case <-release:
		case <-request.Context().Done():
		}
	})
	hanging, _ := s.Endpoint(t, slow.URL, nil)
	working, _ := s.Endpoint(t, fast.URL, nil)
	for range 40 {
		enqueue(t, s, hanging, uuid.New(), 0, 1)
	}
	settings := quick()
	settings.Workers = 6
	start(t, s, settings)
	facttest.Eventually(t, "the slow one has all that it may have", func() bool { return len(slow.Got()) >= 4 })
	began := time.Now()
	for range 20 {
		enqueue(t, s, working, uuid.New(), 0, 1)
	}
	all(t, s, working, "delivered", 20)
	t.Logf("20 deliveries beside a hanging endpoint took %v", time.Since(began))
	if n := states(t, s, hanging)["delivered"]; n != 0 {
		t.Errorf("%d deliveries of the one that hangs are delivered", n)
	}
}

// Guards I75.
func TestTwoProcessesShareTheQueue(t *testing.T) {
	s, r := hooktest.NewStore(t), hooktest.NewReceiver(t)
	e, secret := s.Endpoint(t, r.URL, nil)
	r.Trust(secret)
	start(t, s, quick())
	start(t, s, quick())
	const links, events = 10, 10
	for range links {
		enqueue(t, s, e, uuid.New(), 0, events)
	}
	all(t, s, e, "delivered", links*events)
	seen := map[string]int{}
	for _, got := range r.Got() {
		if seen[got.ID]++; seen[got.ID] > 1 {
			t.Errorf("%s was sent twice", got.ID)
		}
	}
}

// A process that is gone in the middle of an attempt leaves a claim; whoever is there when
// it ends sends again, and the late outcome of the first is written by nobody.
//
// Guards I75.
func TestAClaimOfADeadProcessEnds(t *testing.T) {
	s, r := hooktest.NewStore(t), hooktest.NewReceiver(t)
	e, _ := s.Endpoint(t, r.URL, nil)
	enqueue(t, s, e, uuid.New(), 0, 1)
	dead, err := s.Claim(t.Context(), 10, 4, nil, 300*time.Millisecond)
	if err != nil || len(dead) != 1 {
		t.Fatalf("claimed %d, %v", len(dead), err)
	}
	if again, err := s.Claim(t.Context(), 10, 4, nil, time.Minute); err != nil || len(again) != 0 {
		t.Fatalf("claimed %d that are somebody's, %v", len(again), err)
	}
	start(t, s, quick())
	all(t, s, e, "delivered", 1)
	if _, err := s.Finish(t.Context(), &dead[0], postgres.Result{Attempt: postgres.Attempt{StartedAt: time.Now(), Status: 410}, Outcome: postgres.EndpointGone}); err != nil {
		t.Fatal(err)
	}
	if now, err := s.Get(t.Context(), s.Workspace, e.ID); err != nil || !now.Enabled || states(t, s, e)["delivered"] != 1 {
		t.Errorf("an old claim wrote an outcome: %+v, %v", now, err)
	}
}

func TestBothSecretsSignDuringARotation(t *testing.T) {
	s, r := hooktest.NewStore(t), hooktest.NewReceiver(t)
	e, old := s.Endpoint(t, r.URL, nil)
	start(t, s, quick())
	fresh := endpoint.NewSecret()
	rotated, err := s.Rotate(t.Context(), s.Workspace, e.ID, fresh, time.Hour)
	if err != nil || rotated.PreviousUntil == nil {
		t.Fatalf("%+v, %v", rotated, err)
	}
	r.Trust(fresh, old)
	enqueue(t, s, e, uuid.New(), 0, 1)
	all(t, s, e, "delivered", 1)
	last := endpoint.NewSecret()
	if rotated, err := s.Rotate(t.Context(), s.Workspace, e.ID, last, 0); err != nil || rotated.PreviousUntil != nil {
		t.Fatalf("%+v, %v", rotated, err)
	}
	r.Trust(last)
	enqueue(t, s, e, uuid.New(), 0, 1)
	all(t, s, e, "delivered", 2)
}

func TestAStopFinishesWhatIsUnderWay(t *testing.T) {
	s, r := hooktest.NewStore(t), hooktest.NewReceiver(t)
	e, _ := s.Endpoint(t, r.URL, nil)
	begun := make(chan struct{}, 1)
	r.Answer(func(http.ResponseWriter, *http.Request) {
		begun <- struct{}{}
		<-time.After(100 * time.Millisecond)
	})
	enqueue(t, s, e, uuid.New(), 0, 1)
	stop, _ := start(t, s, quick())
	<-begun
	stop()
	if got := states(t, s, e); got["delivered"] != 1 {
		t.Errorf("after the stop the deliveries are %v", got)
	}
}

func TestTheLogSaysWhatHappened(t *testing.T) {
	s, r := hooktest.NewStore(t), hooktest.NewReceiver(t)
	e, _ := s.Endpoint(t, r.URL, nil)
	var calls atomic.Int64
	r.Answer(func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) == 1 {
			w.WriteHeader(http.StatusTeapot)
			_, _ = io.WriteString(w, "I am a \x00teapot\xff"+strings.Repeat("x", 5000))
		}
	})
	enqueue(t, s, e, uuid.New(), 7, 8)
	start(t, s, quick())
	all(t, s, e, "delivered", 1)
	list, _, err := s.Log(t.Context(), s.Workspace, e.ID, postgres.LogFilter{}, nil, 10)
	if err != nil {
		t.Fatal(err)
	}
	l, payload, attempts, err := s.Look(t.Context(), s.Workspace, e.ID, list[0].ID)
	if err != nil || l.Attempts != 2 || *l.LastStatus != 200 || !strings.Contains(payload, `"n":7`) || len(attempts) != 2 {
		t.Fatalf("%+v, %s, %+v, %v", l, payload, attempts, err)
	}
	if first := attempts[1]; first.Status != 418 || !strings.HasPrefix(first.Response, "I am a \uFFFDteapot\uFFFDxxx") || len(first.Response) > 1100 {
		t.Errorf("the first attempt is %+v", first)
	}
	if _, _, _, err := s.Look(t.Context(), s.NewWorkspace(t), e.ID, list[0].ID); err != endpoint.ErrNotFound { //nolint:errorlint // as it is
		t.Errorf("another workspace looks at a delivery: %v", err)
	}
}
