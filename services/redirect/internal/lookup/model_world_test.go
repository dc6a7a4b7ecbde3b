package lookup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing/synctest"
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
	log      []logged

	primary, replica map[string]linkcache.Record
	unreplicated     []write
	reads            bool // Get asks the replica
	redisDown        bool
	originDown       bool
	holding          bool
	held             []chan struct{}
	troubled         time.Time // when the origin was last down, or anything held back

	updaterDown bool
	next        int // in log
	filling     time.Time
	ticks       int

	channel []publication
	edge    *edge
	edges   []*edge
	found   []string // violations
	asked   sync.WaitGroup
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
	lookup    *Lookup
	feed      *Feed
	connected bool
	cutAt     time.Time
	heard     map[string]uint64
	said      map[string]uint64
}

const (
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

var slugs = []string{"a", "b"} //nolint:gochecknoglobals // a constant in all but type

func newRegion() *region {
	r := &region{truth: map[string][]version{}, primary: map[string]linkcache.Record{}, replica: map[string]linkcache.Record{}}
	for _, slug := range slugs {
		r.truth[slug] = []version{{at: time.Now()}}
	}
	r.startEdge()
	return r
}

// startEdge starts a process which knows nothing.
func (r *region) startEdge() {
	origin := &OriginClient{rpc: asOrigin{r}, http: &http.Client{}}
	l, err := New(asRecords{region: r}, origin, Settings{MaxBytes: 1 << 20, TTL: 10 * time.Second, ReplicaLag: 2 * lagAtMost}, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	if err != nil {
		panic(err)
	}
	r.edge = &edge{lookup: l, feed: NewFeed(nil, l, slog.New(slog.DiscardHandler)), heard: map[string]uint64{}, said: map[string]uint64{}, cutAt: time.Now()}
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

func (r *region) now(slug string) version { return r.truth[slug][len(r.truth[slug])-1] }

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

// commit is an acknowledged change of some addresses at once.
func (r *region) commit(destinations map[string]string) {
	r.revision++
	l := logged{at: time.Now(), revision: r.revision}
	for _, slug := range slugs {
		to, changed := destinations[slug]
		if !changed {
			continue
		}
		r.truth[slug] = append(r.truth[slug], version{l.at, r.revision, to})
		record := linkcache.Record{Destination: to, Version: 1, Revision: r.revision, Status: 302}
		if to == "" {
			record.Flags = linkcache.FlagDeleted
		}
		l.entries = append(l.entries, linkcache.Entry{Key: linkcache.Key("s.test", slug), Record: record})
	}
	r.log = append(r.log, l)
}

// apply has the updater write the next change to Redis and publish it.
func (r *region) apply() {
	if r.updaterDown || r.redisDown || r.next == len(r.log) {
		return
	}
	l := r.log[r.next]
	m := linkcache.Message{Version: 1, Revision: l.revision, Position: linkcache.Position{Offset: int64(r.next)}, Previous: int64(r.next) - 1}
	for _, e := range l.entries {
		r.put(e)
		m.Keys = append(m.Keys, e.Key)
	}
	r.next++
	r.publish(m)
}

func (r *region) publish(m linkcache.Message) {
	if r.edge.connected {
		r.channel = append(r.channel, publication{time.Now(), m})
	}
}

func (r *region) beat() {
	if !r.updaterDown && !r.redisDown {
		r.publish(linkcache.Message{Heartbeat: []linkcache.Position{{Offset: int64(r.next) - 1}}, Partitions: 1, Filling: !r.filling.IsZero()})
	}
}

// refill writes what a Redis lost.
func (r *region) refill() {
	if r.updaterDown || r.redisDown || r.filling.IsZero() {
		return
	}
	for i, l := range r.log[:r.next] {
		m := linkcache.Message{Version: 1, Revision: l.revision, Position: linkcache.Position{Offset: int64(i)}, Previous: int64(i) - 1}
		for _, e := range l.entries {
			if r.put(e) == linkcache.Applied {
				m.Keys = append(m.Keys, e.Key)
			}
		}
		if len(m.Keys) > 0 {
			r.publish(m)
		}
	}
	r.filling = time.Time{}
}

func (r *region) deliver() {
	if len(r.channel) == 0 {
		return
	}
	m := r.channel[0].message
	r.channel = r.channel[1:]
	payload, err := m.Encode()
	if err != nil {
		panic(err)
	}
	r.edge.feed.handle(payload, time.Now())
	for _, key := range m.Keys {
		_, slug, _ := linkcache.SplitKey(key)
		r.edge.heard[slug] = max(r.edge.heard[slug], m.Revision)
	}
}

func (r *region) cut() {
	if r.edge.connected {
		r.edge.connected, r.edge.cutAt, r.channel = false, time.Now(), nil
		r.edge.feed.disconnected()
	}
}

func (r *region) connect() {
	if !r.edge.connected && !r.redisDown {
		r.edge.connected = true
		r.edge.feed.connected()
	}
}

func (r *region) replicate(atMost time.Duration) {
	for len(r.unreplicated) > 0 && time.Since(r.unreplicated[0].at) >= atMost {
		w := r.unreplicated[0]
		r.unreplicated = r.unreplicated[1:]
		if r.replica[w.key].Revision < w.value.Revision {
			r.replica[w.key] = w.value
		}
	}
}

// tick is what the parts do by themselves.
func (r *region) tick() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ticks++
	for !r.updaterDown && !r.redisDown && r.next < len(r.log) && time.Since(r.log[r.next].at) >= applyWithin {
		r.apply()
	}
	if time.Since(r.filling) >= fillTakes {
		r.refill()
	}
	if r.ticks%2 == 0 {
		r.beat()
	}
	r.replicate(lagAtMost)
	for len(r.channel) > 0 && time.Since(r.channel[0].at) >= applyWithin {
		r.deliver()
	}
	if r.edge.connected {
		r.edge.feed.checkLease(time.Now())
	} else if time.Since(r.edge.cutAt) >= resubscribeWithin {
		r.connect()
	}
	r.noteTrouble()
}

func (r *region) noteTrouble() {
	if r.originDown || r.holding || len(r.held) > 0 {
		r.troubled = time.Now()
	}
}

// wait lets time pass.
func (r *region) wait(d time.Duration) {
	for range d / tickEvery {
		time.Sleep(tickEvery)
		synctest.Wait()
		r.tick()
		synctest.Wait()
	}
}

// pass lets through what is held back.
func (r *region) pass(n int) {
	for ; n > 0 && len(r.held) > 0; n-- {
		close(r.held[0])
		r.held = r.held[1:]
	}
}

// look looks an address up, and checks the answer when it is there.
func (r *region) look(ctx context.Context, slug string) {
	e, began := r.edge, time.Now()
	heard, said := e.heard[slug], e.said[slug]
	r.asked.Go(func() {
		got, source, err := e.lookup.Find(ctx, []byte(linkcache.Key("s.test", slug)), time.Now())
		r.mu.Lock()
		defer r.mu.Unlock()
		if why := r.judge(slug, began, heard, said, got, source, err); why != "" {
			r.found = append(r.found, fmt.Sprintf("%s is %s by %s (%v) to who asked after %v: %s", slug, name(got), source, err, began.Sub(r.truth[slug][0].at), why))
		}
		if err == nil && got.Version != 0 {
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
