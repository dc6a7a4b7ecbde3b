package live

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/analytics/internal/query"
	"github.com/linkstream/linkstream/services/internal/enrich"
)

// clicks is a source that a test feeds.
type clicks struct {
	rows  chan []enrich.Row
	fails chan error
	reads atomic.Int64 // how often reading began
}

func newClicks() *clicks { return &clicks{rows: make(chan []enrich.Row), fails: make(chan error)} }

func (c *clicks) Read(ctx context.Context, _ time.Time, take func([]enrich.Row, error)) error {
	c.reads.Add(1)
	for {
		select {
		case <-ctx.Done():
			return nil
		case rows := <-c.rows:
			take(rows, nil)
		case err := <-c.fails:
			return err
		}
	}
}

// run starts a hub in a bubble and returns what stops it.
func run(t *testing.T, source Source) (*Hub, func()) {
	t.Helper()
	hub := New(source, time.Now, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- hub.Run(ctx) }()
	return hub, func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

var (
	mine, theirs = uuid.UUID{0: 1}, uuid.UUID{0: 2}
	linkA, linkB = uuid.UUID{0: 0xa}, uuid.UUID{0: 0xb}
)

func click(age time.Duration, workspace, link uuid.UUID, visitor uint64, country string, bot bool) enrich.Row {
	return enrich.Row{
		TimeUnixMilli: time.Now().Add(-age).UnixMilli(), WorkspaceID: workspace, LinkID: link, Visitor: visitor,
		Place: enrich.Place{Country: country}, Bot: bot, Status: 302, Host: "go.test",
	}
}

// Guards I72.
func TestAViewerSeesItsOwnClicksOfTheLastMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newClicks()
		hub, stop := run(t, source)
		defer stop()
		watch := func(v View) *Viewer {
			t.Helper()
			v.Workspace = mine
			if v.Bots == "" {
				v.Bots = query.ExcludeBots
			}
			viewer, err := hub.Watch(v)
			if err != nil {
				t.Fatal(err)
			}
			return viewer
		}
		filter := func(d query.Dimension, not bool, values ...string) []query.Filter {
			return []query.Filter{{Dimension: d, Values: values, Not: not}}
		}
		everything := watch(View{})
		views := map[*Viewer]string{
			everything:                           "4 2 1",
			watch(View{Bots: query.IncludeBots}): "5 3 1",
			watch(View{Bots: query.OnlyBots}):    "1 1 1",
			watch(View{Filters: filter(query.Link, false, linkA.String())}):                                  "2 2 0",
			watch(View{Filters: filter(query.Country, false, "DE", "")}):                                     "3 2 0",
			watch(View{Filters: filter(query.Country, true, "DE")}):                                          "2 2 1",
			watch(View{Filters: filter(query.Status, false, "301")}):                                         "0 0 0",
			watch(View{Filters: filter(query.Tag, false, "x"), Tagged: []map[uuid.UUID]bool{{linkB: true}}}): "2 1 1",
		}
		source.rows <- []enrich.Row{
			click(time.Second, mine, linkA, 1, "DE", false), click(4*time.Minute, mine, linkA, 2, "", false),
			click(time.Minute, mine, linkB, 1, "DE", false), click(0, mine, linkB, 1, "FR", false), click(0, mine, linkB, 4, "FR", true),
			click(6*time.Minute, mine, linkA, 9, "DE", false), click(0, theirs, linkA, 9, "DE", false),
		}
		time.Sleep(2 * tick) //nolint:forbidigo // virtual time
		synctest.Wait()
		for viewer, want := range views {
			m := <-viewer.Moments()
			if got := fmt.Sprint(m.Clicks, m.UniqueVisitors, m.BotClicks); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		time.Sleep(time.Minute + bucket) //nolint:forbidigo // virtual time
		m := <-everything.Moments()
		if m.Clicks != 3 || len(m.Buckets) != 60 || m.WindowSeconds != 300 || len(m.Recent) != 3 || m.Delayed {
			t.Errorf("a minute later: %d clicks, %d buckets, %d seconds, %d recent", m.Clicks, len(m.Buckets), m.WindowSeconds, len(m.Recent))
		}
		if fmt.Sprint(m.Top.Links) != fmt.Sprint([]LiveValue{{linkB.String(), 2}, {linkA.String(), 1}}) || fmt.Sprint(m.Top.Countries) != "[{DE 2} {FR 1}]" {
			t.Errorf("top %v", m.Top)
		}
		if !m.Recent[0].T.After(m.Recent[1].T) || m.Recent[0].Country != "FR" {
			t.Errorf("the newest clicks are %v", m.Recent)
		}
		sum := uint64(0)
		for i, b := range m.Buckets {
			if sum += b.Clicks; i > 0 && b.T.Sub(m.Buckets[i-1].T) != bucket {
				t.Errorf("bucket %d begins at %v", i, b.T)
			}
		}
		if sum != m.Clicks {
			t.Errorf("the buckets hold %d clicks of %d", sum, m.Clicks)
		}
	})
}

// Guards I72.
func TestTheTopicIsReadOnceAndOnlyForViewers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newClicks()
		hub, stop := run(t, source)
		time.Sleep(time.Minute) //nolint:forbidigo // virtual time
		if source.reads.Load() != 0 {
			t.Error("it is read without viewers")
		}
		a, err := hub.Watch(View{Workspace: mine, Bots: query.ExcludeBots})
		if err != nil {
			t.Fatal(err)
		}
		b, err := hub.Watch(View{Workspace: theirs, Bots: query.ExcludeBots})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) //nolint:forbidigo // virtual time
		source.fails <- errors.New("the broker is away")
		time.Sleep(3 * tick) //nolint:forbidigo // virtual time
		if m := <-a.Moments(); source.reads.Load() != 2 || !m.Delayed {
			t.Errorf("read %d times after one fault, want 2; delayed %t, want true until clicks come", source.reads.Load(), m.Delayed)
		}
		source.rows <- nil
		time.Sleep(2 * tick) //nolint:forbidigo // virtual time
		if m := <-a.Moments(); m.Delayed {
			t.Error("still delayed after it was read")
		}
		a.Leave()
		b.Leave()
		time.Sleep(linger + 2*tick) //nolint:forbidigo // virtual time
		select {
		case source.rows <- nil:
			t.Error("it is read half a minute after the last viewer left")
		default:
		}
		c, err := hub.Watch(View{Workspace: mine, Bots: query.ExcludeBots})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * tick) //nolint:forbidigo // virtual time
		<-c.Moments()
		stop()
		for range c.Moments() { // the last one, perhaps
		}
		if _, err := hub.Watch(View{Workspace: mine}); !errors.Is(err, ErrStopped) {
			t.Errorf("a viewer after the stop: %v", err)
		}
		c.Leave()
	})
}

func TestViewersAndClicksAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newClicks()
		hub, stop := run(t, source)
		defer stop()
		watch := func(workspace uuid.UUID) error {
			_, err := hub.Watch(View{Workspace: workspace, Bots: query.ExcludeBots})
			return err
		}
		for range maxPerWorkspace {
			if err := watch(mine); err != nil {
				t.Fatal(err)
			}
		}
		if err := watch(mine); !errors.Is(err, ErrTooManyViewers) {
			t.Errorf("one viewer too many of a workspace: %v", err)
		}
		for n := range MaxViewers - maxPerWorkspace {
			if err := watch(uuid.UUID{0: 9, 1: byte(n)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := watch(theirs); !errors.Is(err, ErrTooManyViewers) {
			t.Errorf("one viewer too many: %v", err)
		}
	})
	w := newWindow()
	now := time.Now()
	for n := range 2 * maxRows {
		age := time.Duration(2*maxRows-n) * time.Millisecond
		w.add(enrich.Row{WorkspaceID: mine, TimeUnixMilli: now.Add(-age).UnixMilli()})
		if n%1000 == 0 {
			w.add(enrich.Row{WorkspaceID: theirs, TimeUnixMilli: now.Add(-age).UnixMilli()})
		}
	}
	if w.total > maxRows || len(w.rows[theirs]) != 2*maxRows/1000 {
		t.Errorf("%d clicks are kept, %d of the quiet workspace", w.total, len(w.rows[theirs]))
	}
	if kept := w.kept(mine, now); kept > 100*time.Second || kept < 80*time.Second || w.kept(theirs, now) != Window {
		t.Errorf("the busy workspace looks back %v, the quiet one %v", kept, w.kept(theirs, now))
	}
}
