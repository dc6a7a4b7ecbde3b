package lookup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/linkstream/linkstream/events/eventspb"
	"github.com/linkstream/linkstream/services/internal/linkcache"
	"github.com/linkstream/linkstream/services/internal/rpc/originv1"
)

// errAway is what a part answers that is down.
var errAway = errors.New("away")

// region is everything around one edge, in one piece, so that a schedule decides what
// happens when: the origin, the changelog, the updater, the Redis with a replica, and
// the channel. What Redis itself promises (a record is replaced only by a newer one) is
// tested on a real one in package linkcache; here it is a line. Time is virtual: nothing
// takes any, unless the schedule waits or holds answers back.
type region struct {
	mu sync.Mutex

	revision uint64
	truth    map[string][]version // of each slug, in order
	log      [partitions][]logged
	of       map[string]int // the partition of the link at a slug

	primary, replica map[string]linkcache.Record
	unreplicated     []write
	reads            bool // Get asks the replica
	redisDown        bool
	originDown       bool
	holding          bool
	held             []chan struct{}
	troubled         time.Time // when the origin was last down, or anything held back

	updaterDown bool
	next        [partitions]int // in log
	filling     time.Time
	ticks       int

	channel []publication
	drops   func(linkcache.Message) bool // what the channel loses
	edge    *edge
	edges   []*edge
	found   []string // violations
	asked   sync.WaitGroup
	probing sync.WaitGroup // of the edges, see probeSilent
}

// version is what an address is from a moment on: a destination, or "" for nothing.
type version struct {
	at          time.Time
	revision    uint64
	destination string
}

type logged struct {
	at       time.Time
	revision uint64
	entries  []linkcache.Entry
}

type write struct {
	at    time.Time
	key   string
	value linkcache.Record
}

type publication struct {
	at      time.Time
	message linkcache.Message
}

// edge is one process of an edge, and what it has heard and said.
type edge struct {
	stop      func()
	lookup    *Lookup
	feed      *Feed
	connected bool
	cutAt     time.Time
	heard     map[string]uint64
	said      map[string]uint64
}

const (
	partitions = 2
	// What the parts around the edge promise. The updater applies and publishes what is
	// in the changelog in less than this, or sends no heartbeats; so does the channel.
	applyWithin = 200 * time.Millisecond
	// lagAtMost is how far the replica is behind, and how much a failover loses.
	lagAtMost = time.Second
	fillTakes = 500 * time.Millisecond
	tickEvery = 250 * time.Millisecond
	// resubscribeWithin is more than resubscribeMax.
	resubscribeWithin = 1200 * time.Millisecond
	// freshWithin is the promise: an edit is served after it.
	freshWithin = 2 * time.Second
)

var slugs = []string{"a", "b"}

func newRegion() *region {
	r := &region{truth: map[string][]version{}, of: map[string]int{"a": 1, "b": 1}, primary: map[string]linkcache.Record{}, replica: map[string]linkcache.Record{}}
	for _, slug := range slugs {
		r.truth[slug] = []version{{at: time.Now()}}
	}
	r.startEdge()
	return r
}

// end stops every edge there was.
func (r *region) end() {
	for _, e := range r.edges {
		e.stop()
	}
	r.probing.Wait()
	for _, e := range r.edges {
		e.lookup.seconds.running.Wait()
		e.lookup.flights.running.Wait()
		e.lookup.probes.running.Wait()
		e.lookup.l1.cache.Close()
	}
}

// startEdge starts a process which knows nothing.
func (r *region) startEdge() {
	origin := &OriginClient{rpc: asOrigin{r}, http: &http.Client{}}
	l, err := New(asRecords{region: r}, origin, Settings{MaxBytes: 1 << 20, TTL: 10 * time.Second, ReplicaLag: 2 * lagAtMost}, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	r.probing.Go(func() { l.probeSilent(ctx) })
	r.edge = &edge{stop: stop, lookup: l, feed: NewFeed(nil, l, slog.New(slog.DiscardHandler)), heard: map[string]uint64{}, said: map[string]uint64{}, cutAt: time.Now()}
	r.edges = append(r.edges, r.edge)
	r.channel = nil
}

// asRecords is the Redis as an edge sees it. What was read is decided before the answer
// is held back, what is written after.
type asRecords struct {
	*region
	records // no purges here
}

func (r asRecords) Get(ctx context.Context, key string) (linkcache.Record, bool, error) {
	r.mu.Lock()
	from := r.primary
	if r.reads {
		from = r.replica
	}
	record, ok := from[key]
	r.mu.Unlock()
	return record, ok, r.answer(ctx, &r.redisDown)
}

func (r asRecords) GetNewest(ctx context.Context, key string) (linkcache.Record, bool, error) {
	r.mu.Lock()
	record, ok := r.primary[key]
	r.mu.Unlock()
	return record, ok, r.answer(ctx, &r.redisDown)
}

func (r asRecords) Put(ctx context.Context, entries []linkcache.Entry) ([]linkcache.Outcome, error) {
	if err := r.answer(ctx, &r.redisDown); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	outcomes := make([]linkcache.Outcome, len(entries))
	for i := range entries {
		outcomes[i] = r.put(entries[i])
	}
	return outcomes, nil
}

// asOrigin is the links service as an edge sees it.
type asOrigin struct{ *region }

func (asOrigin) VerifyPassword(context.Context, *originv1.VerifyPasswordRequest) (*originv1.VerifyPasswordResponse, error) {
	return nil, connect.NewError(connect.CodeUnimplemented, "the model has no passwords")
}

func (r asOrigin) Resolve(ctx context.Context, ask *originv1.ResolveRequest) (*originv1.ResolveResponse, error) {
	r.mu.Lock()
	v := r.now(ask.GetSlugKey())
	r.mu.Unlock()
	if err := r.answer(ctx, &r.originDown); err != nil {
		return nil, err
	}
	if v.destination == "" {
		return nil, connect.NewError(connect.CodeNotFound, "no such link")
	}
	return &originv1.ResolveResponse{Link: &eventspb.LinkChanged{
		LinkId: make([]byte, 16), WorkspaceId: make([]byte, 16), Version: 1, Revision: v.revision, Kind: eventspb.LinkChanged_KIND_UPDATED,
		Address: &eventspb.Address{Host: "s.test", Slug: ask.GetSlugKey(), SlugKey: ask.GetSlugKey()}, Destination: v.destination, StatusCode: 302,
	}}, nil
}

// answer holds an answer back if the schedule wants it.
func (r *region) answer(ctx context.Context, down *bool) error {
	r.mu.Lock()
	hold := make(chan struct{})
	if r.holding {
		r.held = append(r.held, hold)
	} else {
		close(hold)
	}
	r.mu.Unlock()
	select {
	case <-hold:
	case <-ctx.Done():
		return ctx.Err()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if *down {
		return errAway
	}
	return nil
}

// now is what an address is; nothing for those that nobody plays with.
func (r *region) now(slug string) version {
	history := r.truth[slug]
	if len(history) == 0 {
		return version{}
	}
	return history[len(history)-1]
}

// put writes the primary as the script does.
func (r *region) put(e linkcache.Entry) linkcache.Outcome {
	switch held := r.primary[e.Key]; {
	case held.Revision > e.Record.Revision:
		return linkcache.Stale
	case held.Revision == e.Record.Revision:
		return linkcache.Same
	}
	r.primary[e.Key] = e.Record
	r.unreplicated = append(r.unreplicated, write{time.Now(), e.Key, e.Record})
	return linkcache.Applied
}

// look looks an address up, and checks the answer when it is there. What monitors are
// told leaves no trace, so only visitors are told nothing older than visitors before.
func (r *region) look(ctx context.Context, slug string, monitor bool) {
	e, began := r.edge, time.Now()
	heard, said, find := e.heard[slug], e.said[slug], e.lookup.Find
	if monitor {
		said, find = 0, e.lookup.Probe
	}
	r.asked.Go(func() {
		got, source, err := find(ctx, []byte(linkcache.Key("s.test", slug)), time.Now())
		r.mu.Lock()
		defer r.mu.Unlock()
		if why := r.judge(slug, began, heard, said, got, source, err); why != "" {
			r.found = append(r.found, fmt.Sprintf("%s is %s by %s (%v) to who asked after %v: %s", slug, name(got), source, err, began.Sub(r.truth[slug][0].at), why))
		}
		if err == nil && got.Version != 0 && !monitor {
			e.said[slug] = max(e.said[slug], got.Revision)
		}
	})
}

func name(e Entry) string {
	if !e.Found {
		return "nothing"
	}
	return strings.TrimPrefix(e.Destination, "https://")
}

// judge says what is wrong with an answer, "" if nothing is.
func (r *region) judge(slug string, began time.Time, heard, said uint64, got Entry, source Source, err error) string {
	r.noteTrouble()
	troubled := !r.troubled.Before(began.Add(-time.Second))
	switch {
	case err != nil && !troubled:
		return "the origin could have been asked"
	case err != nil:
		return ""
	case got.Revision < heard:
		return fmt.Sprintf("this process had heard of %d", heard)
	case got.Version != 0 && got.Revision < said:
		return fmt.Sprintf("this process had answered with %d", said)
	case source == Stale && troubled && got.Found:
		return ""
	}
	versions := r.truth[slug]
	for i, v := range versions {
		over := i+1 < len(versions) && versions[i+1].at.Before(began.Add(-freshWithin))
		if !over && got.Found == (v.destination != "") && got.Destination == v.destination {
			return ""
		}
	}
	return fmt.Sprintf("it is %q since %v", r.now(slug).destination, r.now(slug).at.Sub(versions[0].at))
}
