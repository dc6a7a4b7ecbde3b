// Package stream shows a workspace's events to whoever looks on, as server-sent events.
//
// It promises that a viewer who comes back with the id of the last event it has seen gets
// what it missed, in the order of each link, without a gap and without anything twice; a
// gap that cannot be closed, because the topic has forgotten, is said. Any number of
// viewers cost one reader of a topic, and none while nobody looks. It refuses to wait for
// a slow viewer: it is told so and let go, and can come back.
package stream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/services/webhooks/internal/event"
)

const (
	// beatEvery is how often viewers are told that the line is up, and how far they have
	// come. Proxies cut lines that are silent for a minute.
	beatEvery = 15 * time.Second
	// viewerQueue bounds what waits for a viewer. Beyond it the viewer is let go.
	viewerQueue = 1024
	// startAgain is the pause after the broker could not be asked.
	startAgain = time.Second
)

// item is an event, or a mark: how far the hub has come.
type item struct {
	partition int32
	offset    int64
	event     *event.Event
	json      []byte
	mark      []int64
}

// hub reads one topic for all viewers of it.
type hub struct {
	topic   events.Topic
	prefix  string
	options []kgo.Opt
	// convert makes an event of a record; nil for what is none.
	convert func(*kgo.Record) *event.Event
	log     *slog.Logger
	beat    time.Duration

	wanted chan struct{} // rings when somebody comes

	mu      sync.Mutex
	next    []int64 // the next offset of each partition; nil until it is known
	viewers map[*viewer]uuid.UUID
	waiting map[chan []int64]*viewer // for next to be known
}

func newHub(topic events.Topic, prefix string, options []kgo.Opt, convert func(*kgo.Record) *event.Event, log *slog.Logger) *hub {
	return &hub{
		topic: topic, prefix: prefix, options: options, convert: convert, log: log, beat: beatEvery,
		wanted: make(chan struct{}, 1), viewers: map[*viewer]uuid.UUID{}, waiting: map[chan []int64]*viewer{},
	}
}

// viewer is what a hub knows of somebody who looks on.
type viewer struct {
	items chan item
	// lost is closed, with why in reason, when the viewer is let go.
	lost   chan struct{}
	reason string
}

func newViewer() *viewer {
	return &viewer{items: make(chan item, viewerQueue), lost: make(chan struct{})}
}

// join has a workspace's events put into the viewer's queue from a place on, which it
// returns: the next offset of each partition.
func (h *hub) join(ctx context.Context, workspace uuid.UUID, v *viewer) ([]int64, error) {
	h.mu.Lock()
	h.viewers[v] = workspace
	if h.next != nil {
		defer h.mu.Unlock()
		return slices.Clone(h.next), nil
	}
	known := make(chan []int64, 1)
	h.waiting[known] = v
	h.mu.Unlock()
	select {
	case h.wanted <- struct{}{}:
	default: // it rings already
	}
	select {
	case from := <-known:
		return from, nil
	case <-ctx.Done():
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.waiting, known)
		delete(h.viewers, v)
		return nil, ctx.Err()
	}
}

func (h *hub) leave(v *viewer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.viewers, v)
}

// Run reads while somebody looks, until ctx is done.
func (h *hub) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			h.letAllGo("stopping")
			return nil
		case <-h.wanted:
		}
		for h.somebody() && ctx.Err() == nil {
			if err := h.read(ctx); err != nil && ctx.Err() == nil {
				h.log.ErrorContext(ctx, "viewers are not served", "topic", string(h.topic), "err", err)
				h.letAllGo("interrupted")
				timer := time.NewTimer(startAgain)
				select {
				case <-ctx.Done():
				case <-timer.C:
				}
				timer.Stop()
			}
		}
	}
}

func (h *hub) somebody() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.viewers) > 0
}

// letAllGo ends the viewers that are served; those who wait for the place go on waiting.
func (h *hub) letAllGo(reason string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.next = nil
	for v := range h.viewers {
		if !h.waits(v) {
			h.letGo(v, reason)
		}
	}
}

func (h *hub) waits(v *viewer) bool {
	for _, other := range h.waiting {
		if other == v {
			return true
		}
	}
	return false
}

// letGo ends a viewer. The lock is held.
func (h *hub) letGo(v *viewer, reason string) {
	v.reason = reason
	close(v.lost)
	delete(h.viewers, v)
}

// read reads from the end of the topic on until nobody looks any more.
func (h *hub) read(ctx context.Context) error {
	name := h.topic.Name(h.prefix)
	client, err := kgo.NewClient(append(slices.Clone(h.options), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtEnd()))...)
	if err != nil {
		return fmt.Errorf("making the reader: %w", err)
	}
	defer client.Close()
	ends, err := endOffsets(ctx, client, name)
	if err != nil {
		return err
	}
	from := make(map[int32]kgo.Offset, len(ends))
	for p, o := range ends {
		from[int32(p)] = kgo.NewOffset().At(o) //nolint:gosec // partitions are few
	}
	client.AddConsumePartitions(map[string]map[int32]kgo.Offset{name: from})
	h.begin(ends)
	defer func() {
		if ctx.Err() != nil {
			h.end("stopping")
			return
		}
		h.end("interrupted")
	}()
	last := time.Now()
	for h.somebody() {
		polling, cancel := context.WithDeadline(ctx, last.Add(h.beat))
		fetches := client.PollRecords(polling, 1000)
		cancel()
		if ctx.Err() != nil {
			return nil
		}
		fetches.EachRecord(h.show)
		if time.Since(last) >= h.beat {
			last = time.Now()
			h.mark()
		}
	}
	return nil
}

// askTimeout bounds a question about a topic.
const askTimeout = 5 * time.Second

// endOffsets are the offsets behind the last records that readers may see.
func endOffsets(ctx context.Context, client *kgo.Client, name string) ([]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	listed, err := kadm.NewClient(client).ListCommittedOffsets(ctx, name)
	return offsets(listed, err, name)
}

// startOffsets are the offsets of the oldest records that there are.
func startOffsets(ctx context.Context, client *kgo.Client, name string) ([]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	listed, err := kadm.NewClient(client).ListStartOffsets(ctx, name)
	return offsets(listed, err, name)
}

func offsets(listed kadm.ListedOffsets, err error, name string) ([]int64, error) {
	if err == nil {
		err = listed.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("asking for the offsets of %s: %w", name, err)
	}
	list := make([]int64, len(listed[name]))
	for p, o := range listed[name] {
		if int(p) >= len(list) {
			return nil, fmt.Errorf("partition %d of %s is not one of %d", p, name, len(list))
		}
		list[p] = o.Offset
	}
	if len(list) == 0 {
		return nil, errors.New("the topic is not there")
	}
	return list, nil
}

// begin tells those who wait where they begin.
func (h *hub) begin(ends []int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.next = ends
	for known := range h.waiting {
		known <- slices.Clone(ends)
	}
	clear(h.waiting)
}

// end is begin's counterpart: whoever comes now has to wait for another begin.
func (h *hub) end(reason string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.next = nil
	for v := range h.viewers {
		if !h.waits(v) {
			h.letGo(v, reason)
		}
	}
	if len(h.viewers) > 0 {
		select {
		case h.wanted <- struct{}{}:
		default:
		}
	}
}

// show puts a record into the queues of those whom it is for.
func (h *hub) show(r *kgo.Record) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if int(r.Partition) < len(h.next) {
		h.next[r.Partition] = r.Offset + 1
	}
	if r.Attrs.IsControl() {
		return
	}
	ev := h.convert(r)
	if ev == nil {
		return
	}
	it := item{partition: r.Partition, offset: r.Offset, event: ev}
	for v, workspace := range h.viewers {
		if workspace != ev.Workspace {
			continue
		}
		if it.json == nil {
			it.json = render(ev)
		}
		h.give(v, it)
	}
}

// mark tells all viewers how far the hub has come: they have everything before it.
func (h *hub) mark() {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := slices.Clone(h.next)
	for v := range h.viewers {
		h.give(v, item{mark: at})
	}
}

// give never waits. The lock is held.
func (h *hub) give(v *viewer, it item) {
	select {
	case v.items <- it:
	default:
		h.letGo(v, "slow")
	}
}
