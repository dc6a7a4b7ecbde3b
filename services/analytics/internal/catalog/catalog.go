// Package catalog keeps ClickHouse's table links current: it reads the changelog and
// writes what each link is.
//
// It promises that the table has each link as its newest record says, a second or two
// after the change, and that Ready says whether it has all links. It keeps no position:
// when it starts it reads the changelog from its beginning and writes what the table
// does not have, so a table, a topic or a process that was lost heals by itself. It
// refuses to hold more than a bounded number of changes: while ClickHouse is away it
// stops reading.
package catalog

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/events/eventspb"
)

const (
	// maxRows is how many links are inserted at once. A first fill of a million takes a
	// hundred inserts.
	maxRows = 10_000
	// maxWait is how long a change waits for others.
	maxWait = 500 * time.Millisecond
	// minFetch is how many bytes of the changelog are worth a fetch.
	minFetch = 64 << 10
	// tryAgain is the pause after an insert that failed.
	tryAgain = time.Second
)

// ErrIncomplete says that links are still being read.
var ErrIncomplete = errors.New("not all links have been read yet")

// Store is where links are written; Table is one.
type Store interface {
	// Revisions returns what is there, and whether all links have ever been written.
	Revisions(ctx context.Context) (known map[uuid.UUID]uint64, complete bool, err error)
	Insert(ctx context.Context, rows []Row) error
	// MarkComplete notes that all links have been written.
	MarkComplete(ctx context.Context) error
}

// Row is a link as the table has it.
type Row struct {
	WorkspaceID, LinkID            uuid.UUID
	Revision                       uint64
	Deleted, Archived              bool
	Host, Slug, Title, Destination string
	Tags                           []string
	CreatedAt                      time.Time
}

// Catalog copies links from the changelog into the store.
type Catalog struct {
	store    Store
	settings events.Settings
	log      *slog.Logger
	ready    atomic.Bool
}

// New returns a catalog. The settings have no group.
func New(store Store, settings events.Settings, log *slog.Logger) *Catalog {
	c := &Catalog{store: store, settings: settings, log: log}
	// A change waits for others anyway: so many together, or as long as a copy waits for a
	// fetch (half a second).
	c.settings.Kafka = append(slices.Clip(c.settings.Kafka), kgo.FetchMinBytes(minFetch))
	// Whoever serves the links sees to such a record; here one link stays as it was.
	c.settings.DeadLetter = func(ctx context.Context, dead events.Dead) error {
		if dead.Tries > 0 {
			return dead.Err // ours, not the record's: read again
		}
		log.WarnContext(ctx, "record of the changelog not understood", "partition", dead.Record.Partition, "offset", dead.Record.Offset, "err", dead.Err)
		return nil
	}
	return c
}

// Ready returns nil when the table has all links, but for changes of the last seconds,
// else ErrIncomplete.
func (c *Catalog) Ready(context.Context) error {
	if c.ready.Load() {
		return nil
	}
	return ErrIncomplete
}

// Run copies until ctx is done. What goes wrong on the way is tried again: questions
// about links that are known can be answered all the same.
func (c *Catalog) Run(ctx context.Context) error {
	_ = c.insist(ctx, "copying links", func() error { return c.copy(ctx) }) // the end of ctx is no error
	return nil
}

func (c *Catalog) copy(ctx context.Context) error {
	known, complete, err := c.store.Revisions(ctx)
	if err != nil {
		return err
	}
	if complete {
		c.ready.Store(true)
	}
	rows := make(chan Row, maxRows)
	var links *events.Copy
	links, err = events.NewCopy(c.settings, func(ctx context.Context, change events.LinkChange) error {
		row, ok := rowOf(change)
		if known != nil && isClosed(links.Complete()) {
			known = nil // it was of the first pass, and takes some 70 bytes for each link
		}
		if !ok || row.Revision <= known[row.LinkID] {
			return nil
		}
		select {
		case rows <- row:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	written := make(chan struct{})
	go func() {
		defer close(written)
		c.write(ctx, rows, links.Complete())
	}()
	err = links.Run(ctx)
	cancel()
	<-written
	return err
}

// insist tries until it works or ctx is done. It says once that something is away, and
// once that it is back.
func (c *Catalog) insist(ctx context.Context, what string, do func() error) error {
	tick := time.NewTicker(tryAgain)
	defer tick.Stop()
	began, failed := time.Now(), false
	for {
		err := do()
		switch {
		case err == nil && failed:
			c.log.InfoContext(ctx, "links can be written again", "what", what, "took", time.Since(began).String())
			return nil
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case !failed:
			failed = true
			c.log.WarnContext(ctx, "links cannot be written; it is tried again", "what", what, "err", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// write inserts rows in batches until ctx is done. What is left then is read again at
// the next start.
func (c *Catalog) write(ctx context.Context, rows <-chan Row, complete <-chan struct{}) {
	tick := time.NewTicker(maxWait)
	defer tick.Stop()
	var batch []Row
	flush := func() bool {
		if len(batch) == 0 {
			return true
		}
		err := c.insist(ctx, "writing links", func() error { return c.store.Insert(ctx, batch) })
		batch = batch[:0]
		return err == nil
	}
	for {
		select {
		case <-ctx.Done():
			return
		case row := <-rows:
			if batch = append(batch, row); len(batch) >= maxRows && !flush() {
				return
			}
		case <-tick.C:
			done := isClosed(complete) // before the flush: everything up to the end is in rows by then
			for len(rows) > 0 && len(batch) < maxRows {
				batch = append(batch, <-rows)
			}
			if !flush() {
				return
			}
			if done && len(rows) == 0 && !c.ready.Load() {
				if err := c.insist(ctx, "noting that all links are written", func() error { return c.store.MarkComplete(ctx) }); err != nil {
					return
				}
				c.ready.Store(true)
				c.log.InfoContext(ctx, "all links are written")
			}
		}
	}
}

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// rowOf is false for a tombstone: the deletion came a week before.
func rowOf(change events.LinkChange) (Row, bool) {
	e := change.Event
	if e == nil {
		return Row{}, false
	}
	workspace, err := uuid.FromBytes(e.GetWorkspaceId())
	if err != nil {
		return Row{}, false // decoding has looked at its length
	}
	return Row{
		WorkspaceID: workspace, LinkID: uuid.UUID(change.Link), Revision: e.GetRevision(), Deleted: e.GetKind() == eventspb.LinkChanged_KIND_DELETED,
		Archived: e.GetArchived(), Host: e.GetAddress().GetHost(), Slug: e.GetAddress().GetSlug(), Title: e.GetTitle(), Destination: e.GetDestination(),
		Tags: e.GetTags(), CreatedAt: e.GetCreatedAt().AsTime(),
	}, true
}
