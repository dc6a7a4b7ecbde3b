package control_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"go.uber.org/goleak"

	"github.com/linkstream/linkstream/events/eventspb"
	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/internal/linkcache"
	"github.com/linkstream/linkstream/services/internal/rpc/controlv1"
	"github.com/linkstream/linkstream/services/internal/rpc/controlv1/controlv1connect"
	"github.com/linkstream/linkstream/services/redirect/internal/control"
	"github.com/linkstream/linkstream/services/redirect/internal/domains"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// links is the other side, which hands out what it has until it is confirmed.
type links struct {
	mu        sync.Mutex
	down      bool
	deaf      bool // confirmations get lost
	pending   []*controlv1.Command
	polls     []*controlv1.PollRequest
	confirmed []*controlv1.ConfirmRequest
	lost      int
	left      int
	table     *controlv1.DomainTable
	asked     int // for the table alone
}

func (l *links) Poll(_ context.Context, req *controlv1.PollRequest) (*controlv1.PollResponse, error) {
	<-time.After(5 * time.Millisecond) // links holds a poll, too
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down {
		return nil, connect.NewError(connect.CodeUnavailable, "down")
	}
	l.polls = append(l.polls, req)
	answer := &controlv1.PollResponse{}
	for _, c := range l.pending {
		if !slices.Contains(req.GetUnderWay(), c.GetId()) {
			answer.Commands = append(answer.Commands, c)
		}
	}
	if known := req.GetDomains(); known != nil && l.table.GetRevision() > known.GetRevision() {
		answer.Domains = l.table
	}
	return answer, nil
}

func (l *links) Confirm(_ context.Context, req *controlv1.ConfirmRequest) (*controlv1.ConfirmResponse, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.deaf {
		l.lost++
		return nil, connect.NewError(connect.CodeUnavailable, "lost")
	}
	l.confirmed = append(l.confirmed, req)
	l.pending = slices.DeleteFunc(l.pending, func(c *controlv1.Command) bool { return c.GetId() == req.GetCommandId() })
	return &controlv1.ConfirmResponse{}, nil
}

func (l *links) Domains(_ context.Context, req *controlv1.DomainsRequest) (*controlv1.DomainsResponse, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked++
	if l.down {
		return nil, connect.NewError(connect.CodeUnavailable, "down")
	}
	if l.table.GetRevision() > req.GetRevision() {
		return &controlv1.DomainsResponse{Table: l.table}, nil
	}
	return &controlv1.DomainsResponse{}, nil
}

func (l *links) Leave(context.Context, *controlv1.LeaveRequest) (*controlv1.LeaveResponse, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.left++
	return &controlv1.LeaveResponse{}, nil
}

// with looks at or changes what the other side has.
func with[T any](l *links, do func() T) T {
	l.mu.Lock()
	defer l.mu.Unlock()
	return do()
}

// caches notes what the look-up is told to do.
type caches struct {
	mu     sync.Mutex
	purged [][]linkcache.Entry
	warmed []linkcache.Entry
	redis  bool
	err    error
	gate   chan struct{} // nil for none
}

func (c *caches) Purge(_ context.Context, entries []linkcache.Entry) (bool, error) {
	if c.gate != nil {
		<-c.gate
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.purged = append(c.purged, entries)
	return c.redis, c.err
}

func (c *caches) Prewarm(_ context.Context, entry linkcache.Entry) (inMemory, inRedis bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.warmed = append(c.warmed, entry)
	return true, c.redis
}

func (c *caches) purges() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.purged)
}

// start runs an edge's end against a links process, and returns what stops it.
func start(t *testing.T, l *links, c *caches) (stop func()) {
	t.Helper()
	server := connect.NewServer()
	controlv1connect.RegisterControlServiceHandler(server, l)
	mux := http.NewServeMux()
	connecthttp.Mount(mux, server)
	listener := httptest.NewServer(mux)
	t.Cleanup(listener.Close)
	client := control.New(listener.URL, "fra", "redirect-fra-0", c, domains.New(), slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() {
		if err := client.Run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
		close(done)
	}()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return stop
}

func state(slug, destination string, revision uint64) *eventspb.LinkChanged {
	s := &eventspb.LinkChanged{
		LinkId: make([]byte, 16), WorkspaceId: make([]byte, 16), Version: 1, Revision: revision, Kind: eventspb.LinkChanged_KIND_UPDATED,
		Address: &eventspb.Address{Host: "s.test", Slug: slug, SlugKey: slug}, Destination: destination,
	}
	if destination == "" {
		s.Kind = eventspb.LinkChanged_KIND_DELETED
	}
	return s
}

func purge(id uint64) *controlv1.Command {
	return &controlv1.Command{Id: id, Kind: controlv1.Command_KIND_PURGE, Links: []*eventspb.LinkChanged{state("a", "https://e.test/", 3), state("b", "", 2)}}
}

func TestACommandIsCarriedOutAndConfirmed(t *testing.T) {
	l, c := &links{pending: []*controlv1.Command{purge(7)}}, &caches{redis: true}
	stop := start(t, l, c)
	facttest.Eventually(t, "it is confirmed", func() bool { return with(l, func() bool { return len(l.confirmed) == 1 }) })
	got := with(l, func() *controlv1.ConfirmRequest { return l.confirmed[0] })
	if got.GetCommandId() != 7 || !got.GetMemoryDone() || !got.GetRedisDone() || got.GetEdge().GetName() != "redirect-fra-0" || got.GetEdge().GetRegion() != "fra" {
		t.Errorf("it confirms %v", got)
	}
	entries := c.purged[0]
	if len(entries) != 2 || entries[0].Key != linkcache.Key("s.test", "a") || entries[0].Record.Revision != 3 || entries[0].Record.Destination != "https://e.test/" ||
		entries[1].Key != linkcache.Key("s.test", "b") || !entries[1].Record.Deleted() || entries[1].Record.Revision != 2 {
		t.Errorf("the look-up was told %+v", entries)
	}

	with(l, func() bool {
		l.pending = append(l.pending, &controlv1.Command{Id: 8, Kind: controlv1.Command_KIND_PREWARM, Links: []*eventspb.LinkChanged{state("a", "https://e.test/", 3)}})
		return true
	})
	facttest.Eventually(t, "the pre-warm is confirmed", func() bool { return with(l, func() bool { return len(l.confirmed) == 2 }) })
	if c.warmed[0].Key != linkcache.Key("s.test", "a") {
		t.Errorf("the look-up was told to warm %+v", c.warmed)
	}
	stop()
	if with(l, func() int { return l.left }) != 1 {
		t.Error("it left without a word")
	}
}

// Polls go on while a command is under way, or the edge would be taken for dead.
func TestASlowCommandDoesNotStopThePolls(t *testing.T) {
	l, c := &links{pending: []*controlv1.Command{purge(7)}}, &caches{redis: true, gate: make(chan struct{})}
	start(t, l, c)
	facttest.Eventually(t, "it says that the command is under way", func() bool {
		return with(l, func() bool {
			return slices.ContainsFunc(l.polls, func(p *controlv1.PollRequest) bool { return slices.Contains(p.GetUnderWay(), 7) })
		})
	})
	close(c.gate)
	facttest.Eventually(t, "it is confirmed", func() bool { return with(l, func() bool { return len(l.confirmed) == 1 }) })
	if n := c.purges(); n != 1 {
		t.Errorf("it was carried out %d times", n)
	}
}

func TestAConfirmationThatGotLostIsMadeAgain(t *testing.T) {
	l, c := &links{pending: []*controlv1.Command{purge(7)}, deaf: true}, &caches{redis: true}
	start(t, l, c)
	facttest.Eventually(t, "the confirmation got lost", func() bool { return with(l, func() bool { return l.lost > 0 }) })
	with(l, func() bool { l.deaf = false; return true })
	facttest.Eventually(t, "it is confirmed", func() bool { return with(l, func() bool { return len(l.confirmed) == 1 }) })
}

// An edge asks for what it may have missed, at its start and whenever it was cut off.
//
// Guards I24.
func TestAfterALostPollEverythingIsAskedFor(t *testing.T) {
	l, c := &links{}, &caches{redis: true}
	start(t, l, c)
	catchUps := func() (n int) {
		return with(l, func() int {
			n = 0
			for _, p := range l.polls {
				if p.GetCatchUp() {
					n++
				}
			}
			return n
		})
	}
	facttest.Eventually(t, "it polls", func() bool { return with(l, func() bool { return len(l.polls) > 3 }) })
	if n := catchUps(); n != 1 {
		t.Errorf("%d polls ask for everything, want the first alone", n)
	}
	facttest.Eventually(t, "it has noticed, and asks for everything", func() bool {
		with(l, func() bool { l.down = !l.down; return true })
		return catchUps() > 1
	})
}

// A purge that Redis has not seen is asked for again soon.
func TestAPurgeThatDidNotReachRedisIsTriedAgain(t *testing.T) {
	l, c := &links{pending: []*controlv1.Command{purge(7)}}, &caches{}
	start(t, l, c)
	facttest.Eventually(t, "it is confirmed for its memory", func() bool { return with(l, func() bool { return len(l.confirmed) == 1 }) })
	if got := with(l, func() *controlv1.ConfirmRequest { return l.confirmed[0] }); !got.GetMemoryDone() || got.GetRedisDone() {
		t.Errorf("it confirms %v", got)
	}
	before := with(l, func() int { return len(l.polls) })
	facttest.Eventually(t, "it asks for what is not done", func() bool {
		return with(l, func() bool {
			return slices.ContainsFunc(l.polls[before:], func(p *controlv1.PollRequest) bool { return p.GetCatchUp() })
		})
	})
}

func TestWhatWasNotDoneIsNotConfirmed(t *testing.T) {
	bad := purge(9)
	bad.Links[0].LinkId = []byte("short")
	l, c := &links{pending: []*controlv1.Command{purge(7), bad}}, &caches{err: errors.New("no room")}
	start(t, l, c)
	facttest.Eventually(t, "it is tried again", func() bool { return c.purges() > 1 })
	if n := with(l, func() int { return len(l.confirmed) }); n != 0 {
		t.Errorf("%d confirmations", n)
	}
}

// Links of a later release may ask for what this one does not know.
func TestAnUnknownKindIsAnsweredAsNotDone(t *testing.T) {
	l, c := &links{pending: []*controlv1.Command{{Id: 7, Kind: 99}}}, &caches{redis: true}
	start(t, l, c)
	facttest.Eventually(t, "it is answered", func() bool { return with(l, func() bool { return len(l.confirmed) == 1 }) })
	if got := with(l, func() *controlv1.ConfirmRequest { return l.confirmed[0] }); got.GetMemoryDone() || got.GetRedisDone() {
		t.Errorf("it confirms %v", got)
	}
}
