package feed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/events/eventspb"
	"github.com/linkstream/linkstream/services/internal/address"
	"github.com/linkstream/linkstream/services/internal/agent"
	"github.com/linkstream/linkstream/services/webhooks/internal/endpoint"
	"github.com/linkstream/linkstream/services/webhooks/internal/event"
	"github.com/linkstream/linkstream/services/webhooks/internal/postgres"
)

// Clicks counts clicks for endpoints that want summaries or thresholds.
type Clicks struct {
	store *postgres.Store
	urls  address.URLs
	links finder
	topic func(context.Context) ([16]byte, error)
	cache states
	// agents tells robots as the ingester does.
	agents *agent.Reader
}

// NewClicks returns a handler for events.SubscribeClicks. topic says which id the topic
// has: offsets mean nothing without it.
func NewClicks(store *postgres.Store, links finder, urls address.URLs, topic func(context.Context) ([16]byte, error)) *Clicks {
	return &Clicks{store: store, links: links, urls: urls, topic: topic, agents: agent.NewReader()}
}

// errNoState says that a link has to be asked for before an event can be made.
var errNoState = errors.New("the link is not known yet")

// Handle counts a batch of clicks of one partition.
func (c *Clicks) Handle(ctx context.Context, clicks []events.ClickRead) error {
	batch := postgres.Batch{Partition: clicks[0].Record.Partition}
	var workspaces []uuid.UUID
	for _, read := range clicks {
		if id := uuid.UUID(read.Click.GetWorkspaceId()); !slices.Contains(workspaces, id) {
			workspaces = append(workspaces, id)
		}
	}
	endpoints, err := c.store.Counters(ctx, workspaces)
	if err != nil {
		return fmt.Errorf("asking for the endpoints: %w", err)
	}
	// An endpoint that is made after this has no click of this batch to count.
	for _, read := range clicks {
		workspace := uuid.UUID(read.Click.GetWorkspaceId())
		if !slices.ContainsFunc(endpoints, func(e endpoint.Endpoint) bool { return e.WorkspaceID == workspace }) || c.robot(read.Click) {
			continue
		}
		batch.Clicks = append(batch.Clicks, postgres.Click{
			Offset: read.Record.Offset, Workspace: workspace, Link: uuid.UUID(read.Click.GetLinkId()),
			Host: read.Click.GetHost(), SlugKey: read.Click.GetSlugKey(), At: time.UnixMicro(read.Click.GetTimeUnixUs()),
		})
	}
	if len(batch.Clicks) == 0 {
		return nil
	}
	if batch.Topic, err = c.topic(ctx); err != nil {
		return fmt.Errorf("asking for the topic's id: %w", err)
	}
	return c.count(ctx, &batch, endpoints)
}

// count counts a batch. The links that it has to know are asked for before and, for a
// threshold, when it turns out to be reached: then the transaction begins anew.
func (c *Clicks) count(ctx context.Context, batch *postgres.Batch, endpoints []endpoint.Endpoint) error {
	known := map[uuid.UUID]*eventspb.LinkChanged{}
	for i := range endpoints {
		e := &endpoints[i]
		for j := range batch.Clicks {
			click := &batch.Clicks[j]
			if len(e.Filter.Tags) == 0 || click.Workspace != e.WorkspaceID || !e.Filter.WantsClickOn(click.Host, click.Link) {
				continue
			}
			if err := c.know(ctx, known, click); err != nil {
				return err
			}
		}
	}
	wanted := func(e *endpoint.Endpoint, click *postgres.Click) bool {
		return e.Filter.WantsTags(known[click.Link].GetTags())
	}
	for {
		var missing *postgres.Click
		err := c.store.Count(ctx, batch, endpoints, wanted, func(counted postgres.Counted) ([]postgres.Queued, error) {
			crossed := crossed(&counted)
			if len(crossed) == 0 {
				return nil, nil
			}
			if _, ok := known[counted.Click.Link]; !ok {
				missing = &counted.Click
				return nil, errNoState
			}
			return c.reached(&counted, crossed, known[counted.Click.Link]), nil
		})
		switch {
		case errors.Is(err, errNoState):
			if err := c.know(ctx, known, missing); err != nil {
				return err
			}
		case err != nil:
			return fmt.Errorf("counting: %w", err)
		default:
			return nil
		}
	}
}

// know asks for a link, unless it was asked for a moment ago.
func (c *Clicks) know(ctx context.Context, known map[uuid.UUID]*eventspb.LinkChanged, click *postgres.Click) error {
	if _, ok := known[click.Link]; ok {
		return nil
	}
	state, ok := c.cache.get(click.Link)
	if !ok {
		var err error
		if state, err = c.links.Find(ctx, click.Host, click.SlugKey, click.Link); err != nil {
			return err
		}
		c.cache.put(click.Link, state)
	}
	known[click.Link] = state
	return nil
}

// crossed are the thresholds that were reached by a batch.
func crossed(c *postgres.Counted) (thresholds []int64) {
	if !c.Endpoint.Filter.WantsType(event.LinkThresholdReached) {
		return nil
	}
	for _, t := range c.Endpoint.Thresholds {
		if c.Before < t && t <= c.After {
			thresholds = append(thresholds, t)
		}
	}
	return thresholds
}

func (c *Clicks) reached(counted *postgres.Counted, thresholds []int64, state *eventspb.LinkChanged) []postgres.Queued {
	queue := make([]postgres.Queued, 0, len(thresholds))
	for _, t := range thresholds {
		data := event.ThresholdData{LinkID: counted.Click.Link, Threshold: t, Clicks: counted.After}
		if state != nil {
			link := event.LinkOf(state, c.urls)
			data.Link = &link
		}
		queue = append(queue, postgres.Queued{
			Endpoint: counted.Endpoint.ID,
			Event:    event.Reached(counted.Endpoint.ID, counted.Endpoint.WorkspaceID, data, counted.Click.At),
		})
	}
	return queue
}

// robot says whether a click is none of a person, as analytics has it.
func (c *Clicks) robot(click *eventspb.Click) bool {
	header := click.GetUserAgent()
	return agent.Automatic(click.GetPurpose()) != "" || c.agents.Read(header[:min(len(header), agent.MaxBytes)]).Bot != ""
}

const (
	// stateTTL is how long a link that was asked for is believed: its tags and title may be
	// so old.
	stateTTL = 15 * time.Second
	// maxStates bounds the memory: some 20 MB. When it is full it starts again from nothing.
	maxStates = 20_000
)

// states remembers links for a moment. The zero value is ready to use.
type states struct {
	mu    sync.Mutex
	known map[uuid.UUID]state
}

type state struct {
	link  *eventspb.LinkChanged
	until time.Time
}

func (s *states) get(link uuid.UUID) (*eventspb.LinkChanged, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	hit, ok := s.known[link]
	return hit.link, ok && time.Now().Before(hit.until)
}

func (s *states) put(link uuid.UUID, c *eventspb.LinkChanged) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil || len(s.known) >= maxStates {
		s.known = map[uuid.UUID]state{}
	}
	s.known[link] = state{c, time.Now().Add(stateTTL)}
}
