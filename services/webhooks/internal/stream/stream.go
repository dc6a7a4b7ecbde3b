package stream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/events/eventspb"
	"github.com/linkstream/linkstream/services/internal/address"
	"github.com/linkstream/linkstream/services/webhooks/internal/endpoint"
	"github.com/linkstream/linkstream/services/webhooks/internal/event"
)

// Bounds of viewers: of this process, and of one workspace.
const (
	maxViewers      = 1000
	maxPerWorkspace = 50
)

// What can go wrong before a stream begins.
var (
	// ErrTooMany: as many look on as may.
	ErrTooMany = errors.New("too many viewers")
	// ErrBadID: the id is none of ours.
	ErrBadID = errNoPosition
	// ErrUnavailable: the broker cannot be asked.
	ErrUnavailable = errors.New("the events cannot be reached")
)

// Click is the type of a click's event. Only streams have it.
const Click event.Type = "click"

// Stream shows events to viewers.
type Stream struct {
	links, clicks *hub
	prefix        string
	options       []kgo.Opt
	catching      chan struct{} // bounds those who catch up
	log           *slog.Logger

	viewers prometheus.Gauge
	dropped *prometheus.CounterVec

	mu        sync.Mutex
	total     int
	workspace map[uuid.UUID]int
}

// catchUps bounds how many viewers read what they missed at the same time: each has a
// reader of its own for it.
const catchUps = 8

// New returns a Stream over the topics, read with clients of the given options.
func New(options []kgo.Opt, prefix string, urls address.URLs, registry *prometheus.Registry, log *slog.Logger) *Stream {
	s := &Stream{
		prefix: prefix, options: options, log: log, catching: make(chan struct{}, catchUps), workspace: map[uuid.UUID]int{},
		viewers: prometheus.NewGauge(prometheus.GaugeOpts{Name: "event_stream_viewers", Help: "Who looks on at the moment."}),
		dropped: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "event_stream_ended_total", Help: "Streams that we ended, by reason."}, []string{"reason"}),
	}
	registry.MustRegister(s.viewers, s.dropped)
	s.links = newHub(events.LinksChangelog, prefix, options, func(r *kgo.Record) *event.Event { return changed(r, urls) }, log)
	s.clicks = newHub(events.Clicks, prefix, options, clicked, log)
	return s
}

// Run serves until ctx is done.
func (s *Stream) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	wg.Go(func() { _ = s.clicks.Run(ctx) }) // it has no error to tell
	_ = s.links.Run(ctx)
	wg.Wait()
	return nil
}

// changed is the event of a record of the changelog; nil for what is none.
func changed(r *kgo.Record, urls address.URLs) *event.Event {
	c, err := events.DecodeLinkChanged(r)
	if err != nil {
		return nil // a tombstone, or what the dead topic has
	}
	return event.Changed(c, urls)
}

// ClickData is the data of a Click. What a visitor sent of itself is not in it.
type ClickData struct {
	LinkID     uuid.UUID `json:"link_id"`
	Domain     string    `json:"domain"`
	Slug       string    `json:"slug" doc:"As it is looked up"`
	Status     uint32    `json:"status"`
	EdgeRegion string    `json:"edge_region"`
	Variant    uint32    `json:"variant" doc:"Counted from 1; 0 for none"`
	Rule       uint32    `json:"rule" doc:"Counted from 1; 0 for none"`
	Source     string    `json:"source"`
}

func clicked(r *kgo.Record) *event.Event {
	var c eventspb.Click
	if err := events.DecodeClick(r.Value, &c); err != nil {
		return nil
	}
	link := uuid.UUID(c.GetLinkId())
	return &event.Event{
		ID: "evt_" + uuid.UUID(c.GetId()).String(), Type: Click, Workspace: uuid.UUID(c.GetWorkspaceId()), At: time.UnixMicro(c.GetTimeUnixUs()).UTC(), Link: link, Domain: c.GetHost(),
		Data: ClickData{
			LinkID: link, Domain: c.GetHost(), Slug: c.GetSlugKey(), Status: c.GetStatus(), EdgeRegion: c.GetEdgeRegion(),
			Variant: c.GetVariant(), Rule: c.GetRule(), Source: c.GetSource(),
		},
	}
}

// render is the data line of an event.
func render(e *event.Event) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(struct {
		ID        string     `json:"id"`
		Type      event.Type `json:"type"`
		Timestamp time.Time  `json:"timestamp"`
		Data      any        `json:"data"`
	}{e.ID, e.Type, e.At.UTC(), e.Data})
	if err != nil {
		return []byte("{}\n") // strings and numbers can always be written
	}
	return out.Bytes()
}

// Request is what a viewer asks for.
type Request struct {
	Workspace uuid.UUID
	Filter    endpoint.Filter
	// Clicks asks for clicks, too. They have no tags: a filter by tag lets none pass.
	Clicks bool
	// LastID is the id of the last event that the viewer has seen, or empty.
	LastID string
}

// Open admits a viewer. Whoever gets a session closes it.
func (s *Stream) Open(ctx context.Context, r Request) (*Session, error) {
	session := &Session{stream: s, request: r, viewer: newViewer()}
	if r.LastID != "" {
		from, err := parsePosition(r.LastID)
		if err != nil {
			return nil, err
		}
		session.from = &from
	}
	if !s.admit(r.Workspace) {
		return nil, ErrTooMany
	}
	if err := session.join(ctx); err != nil {
		session.Close()
		return nil, errors.Join(ErrUnavailable, err)
	}
	return session, nil
}

func (s *Stream) admit(workspace uuid.UUID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.total >= maxViewers || s.workspace[workspace] >= maxPerWorkspace {
		return false
	}
	s.total++
	s.workspace[workspace]++
	s.viewers.Set(float64(s.total))
	return true
}

func (s *Stream) dismiss(workspace uuid.UUID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total--
	if s.workspace[workspace]--; s.workspace[workspace] == 0 {
		delete(s.workspace, workspace)
	}
	s.viewers.Set(float64(s.total))
}
