package feed_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/events/eventspb"
	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/webhooks/internal/endpoint"
	"github.com/linkstream/linkstream/services/webhooks/internal/event"
)

const (
	created = eventspb.LinkChanged_KIND_CREATED
	updated = eventspb.LinkChanged_KIND_UPDATED
	deleted = eventspb.LinkChanged_KIND_DELETED
)

func only(types ...event.Type) func(*endpoint.Endpoint) {
	return func(e *endpoint.Endpoint) { e.Filter.Types = types }
}

// Guards I75.
func TestAChangeIsQueuedOnceForEachEndpointThatWantsIt(t *testing.T) {
	w := newWorld(t)
	before := w.change(t, uuid.New(), created, nil) // nobody is there to be told
	everything, _ := w.Endpoint(t, "https://a.test/", nil)
	deletions, _ := w.Endpoint(t, "https://b.test/", only(event.LinkDeleted))
	tagged, _ := w.Endpoint(t, "https://c.test/", func(e *endpoint.Endpoint) { e.Filter.Tags = []string{"spring"} })
	elsewhere, _ := w.Endpoint(t, "https://d.test/", func(e *endpoint.Endpoint) { e.Filter.Domains = []string{"other.test"} })
	disabled, _ := w.Endpoint(t, "https://e.test/", func(e *endpoint.Endpoint) { e.Enabled = false })
	foreign, _ := w.Endpoint(t, "https://f.test/", func(e *endpoint.Endpoint) { e.WorkspaceID = w.NewWorkspace(t) })
	stop := w.read(t)
	link := uuid.New()
	w.change(t, link, created, func(c *eventspb.LinkChanged) { c.Tags = []string{"x", "spring"} })
	w.change(t, link, updated, nil)
	w.change(t, link, deleted, nil)
	facttest.Eventually(t, "everything is queued", func() bool { return len(w.queue(t, everything)) == 3 })
	stop()

	w.replayTopic(t)

	got := w.queue(t, everything)
	for i, want := range []event.Type{event.LinkCreated, event.LinkUpdated, event.LinkDeleted} {
		if i >= len(got) || got[i].Type != string(want) {
			t.Errorf("queued %+v, want %s at %d", got, want, i)
		}
	}
	if len(got) != 3 {
		t.Errorf("%d are queued: %+v (the one before was %d)", len(got), got, before.GetRevision())
	}
	check := func(name string, e *endpoint.Endpoint, want int) {
		t.Helper()
		if n := len(w.queue(t, e)); n != want {
			t.Errorf("%s: %d are queued, want %d", name, n, want)
		}
	}
	check("deletions", deletions, 1)
	check("tagged", tagged, 1)
	check("elsewhere", elsewhere, 0)
	check("disabled", disabled, 0)
	check("foreign", foreign, 0)
}

// An endpoint that was made a moment ago is told of what happens now, however many
// changes come in: what is held in memory is asked anew.
func TestAnEndpointIsToldFromItsFirstMomentOn(t *testing.T) {
	w := newWorld(t)
	w.read(t)
	for n := range 5 {
		w.change(t, uuid.New(), created, nil)
		e, _ := w.Endpoint(t, fmt.Sprintf("https://%d.test/", n), nil)
		w.change(t, uuid.New(), created, nil)
		facttest.Eventually(t, "it is told", func() bool { return len(w.queue(t, e)) == 1 })
	}
}

// Guards I79.
func TestAThresholdIsToldOnceAndSummariesAddUp(t *testing.T) {
	w := newWorld(t)
	e, _ := w.Endpoint(t, "https://a.test/", func(e *endpoint.Endpoint) {
		e.Filter.Types = []event.Type{event.LinkThresholdReached, event.ClicksSummary}
		e.Thresholds, e.SummaryEvery = []int64{10, 50, 1000}, time.Second
	})
	stop := w.read(t)
	w.tick(t)
	link, other := uuid.New(), uuid.New()
	w.change(t, link, created, nil)
	w.click(t, link, 9, browser)
	w.click(t, link, 20, "curl/8.0")
	w.click(t, link, 20, "SomeBot/1.0")
	summed := func() (clicks int64) {
		for _, q := range w.queue(t, e) {
			if q.Type == string(event.ClicksSummary) {
				clicks += q.Data.Clicks
			}
		}
		return clicks
	}
	facttest.Eventually(t, "nine clicks are summed up", func() bool { return summed() == 9 })
	if n := byType(w.queue(t, e))[string(event.LinkThresholdReached)]; n != 0 {
		t.Errorf("%d thresholds are reached by nine clicks", n)
	}
	w.click(t, link, 1, browser)
	facttest.Eventually(t, "ten are reached", func() bool { return byType(w.queue(t, e))[string(event.LinkThresholdReached)] == 1 })

	// Stopped, clicked and started: nothing is passed over, and read again nothing counts.
	stop()
	w.click(t, link, 45, browser)
	w.click(t, other, 3, browser)
	stop = w.read(t)
	facttest.Eventually(t, "fifty are reached", func() bool { return byType(w.queue(t, e))[string(event.LinkThresholdReached)] == 2 })
	facttest.Eventually(t, "all are summed up", func() bool { return summed() == 58 })
	stop()
	w.replayTopic(t)
	if got := byType(w.queue(t, e))[string(event.LinkThresholdReached)]; got != 2 || summed() != 58 {
		t.Errorf("read again: %d thresholds and %d clicks", got, summed())
	}
	for _, q := range w.queue(t, e) {
		if q.Type == string(event.LinkThresholdReached) && q.Data.Clicks < q.Data.Threshold {
			t.Errorf("%+v", q)
		}
	}
}

// While the links service is away, clicks that need it wait.
func TestClicksWaitForLinks(t *testing.T) {
	w := newWorld(t)
	e, _ := w.Endpoint(t, "https://a.test/", func(e *endpoint.Endpoint) {
		e.Filter.Types, e.Filter.Tags, e.Thresholds = []event.Type{event.LinkThresholdReached}, []string{"spring"}, []int64{5}
	})
	tagged, plain := uuid.New(), uuid.New()
	w.change(t, tagged, created, func(c *eventspb.LinkChanged) { c.Tags = []string{"spring"} })
	w.change(t, plain, created, nil)
	w.setAway(true)
	w.read(t)
	w.click(t, tagged, 5, browser)
	w.click(t, plain, 5, browser)
	<-time.After(200 * time.Millisecond)
	if n := len(w.queue(t, e)); n != 0 {
		t.Errorf("%d are queued without knowing the links", n)
	}
	w.setAway(false)
	facttest.Eventually(t, "the threshold is told", func() bool { return len(w.queue(t, e)) == 1 })
}

// Guards I79.
func TestAnExpiryIsToldOnceWhenItComes(t *testing.T) {
	w := newWorld(t)
	e, _ := w.Endpoint(t, "https://a.test/", only(event.LinkExpired))
	stop := w.read(t)
	w.tick(t)
	expires := func(at time.Time) func(*eventspb.LinkChanged) {
		return func(c *eventspb.LinkChanged) { c.ExpiresAt = timestamppb.New(at) }
	}
	soon := time.Now().Add(1500 * time.Millisecond).Truncate(time.Microsecond)
	simple, kept, gone, past := uuid.New(), uuid.New(), uuid.New(), uuid.New()
	w.change(t, simple, created, expires(soon))
	w.change(t, kept, created, expires(soon))
	w.change(t, kept, updated, nil) // it does not expire any more
	w.change(t, gone, created, expires(soon))
	w.change(t, gone, deleted, expires(soon))
	w.change(t, past, created, nil)
	w.change(t, past, updated, expires(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC))) // ended by hand
	facttest.Eventually(t, "two expiries are told", func() bool { return len(w.queue(t, e)) == 2 })
	w.change(t, simple, updated, func(c *eventspb.LinkChanged) { expires(soon)(c); c.Title = "over" })
	late, _ := w.Endpoint(t, "https://b.test/", only(event.LinkExpired, event.LinkUpdated))
	w.change(t, simple, updated, func(c *eventspb.LinkChanged) { expires(soon)(c); c.Title = "really" })
	facttest.Eventually(t, "the change is told", func() bool { return len(w.queue(t, late)) == 1 })
	<-time.After(2500 * time.Millisecond) // of the timer, which asks every second
	stop()
	w.replayTopic(t)
	if got := w.queue(t, e); len(got) != 2 || time.Now().Before(soon) {
		t.Errorf("told %+v", got)
	}
	if got := w.queue(t, late); len(got) != 1 {
		t.Errorf("an endpoint that came later is told %+v", got)
	}
}

// A record that nobody can read holds up nothing.
func TestPoisonIsPassedOver(t *testing.T) {
	w := newWorld(t)
	e, _ := w.Endpoint(t, "https://a.test/", nil)
	w.read(t)
	for _, topic := range []events.Topic{events.LinksChangelog, events.Clicks} {
		for p := range int32(3) {
			if err := w.client.ProduceSync(t.Context(), &kgo.Record{Topic: topic.Name(""), Partition: p, Key: []byte("nonsense"), Value: []byte("\xff\xff nonsense")}).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 5 {
		w.change(t, uuid.New(), created, nil)
	}
	facttest.Eventually(t, "what is behind it is told", func() bool { return len(w.queue(t, e)) == 5 })
}
