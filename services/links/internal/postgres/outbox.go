package postgres

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/proto"

	"github.com/linkstream/linkstream/events/eventspb"
	"github.com/linkstream/linkstream/services/internal/trace"
	"github.com/linkstream/linkstream/services/links/internal/changelog"
	"github.com/linkstream/linkstream/services/links/internal/link"
)

// queueOutbox adds the record of a change to the statements that write the
// change. It is due at once whatever the clocks say, so that two records of a link
// can never become due in the wrong order.
func queueOutbox(ctx context.Context, batch *pgx.Batch, ev *eventspb.LinkChanged) error {
	payload, err := proto.Marshal(ev)
	if err != nil {
		return fmt.Errorf("encoding the change: %w", err)
	}
	batch.Queue(`INSERT INTO outbox (link_id, payload, publish_after, traceparent) VALUES ($1, $2, '-infinity', $3)`, ev.GetLinkId(), payload, traceparent(ctx))
	return nil
}

// A row holds the records of at most so many new links, and ends with the one that makes
// it larger than this. With a row for each link the outbox cost as much as the link.
const (
	outboxChanges = 100
	outboxBytes   = 64 << 10
)

// queueCreated is queueOutbox for links that are made together, for which there can be no
// earlier record.
func queueCreated(ctx context.Context, batch *pgx.Batch, created []*link.Link) error {
	if len(created) == 1 {
		return queueOutbox(ctx, batch, changelog.Changed(created[0], eventspb.LinkChanged_KIND_CREATED))
	}
	var (
		ids      [][16]byte // of the first link of each row
		changes  []int32
		payloads [][]byte
	)
	for i, l := range created {
		last := len(payloads) - 1
		if i == 0 || changes[last] == outboxChanges || len(payloads[last]) >= outboxBytes {
			ids, changes, payloads = append(ids, l.ID.UUID), append(changes, 0), append(payloads, nil)
			last++
		}
		var err error
		if payloads[last], err = changelog.Append(payloads[last], changelog.Changed(l, eventspb.LinkChanged_KIND_CREATED)); err != nil {
			return err
		}
		changes[last]++
	}
	if last := len(changes) - 1; changes[last] == 1 {
		// What is alone in its row is written as always.
		_, at := binary.Uvarint(payloads[last])
		payloads[last] = payloads[last][at:]
	}
	batch.Queue(`INSERT INTO outbox (link_id, changes, payload, publish_after, traceparent)
		SELECT o.link_id, o.changes, o.payload, '-infinity', $4 FROM unnest($1::uuid[], $2::integer[], $3::bytea[]) AS o (link_id, changes, payload)`, ids, changes, payloads, traceparent(ctx))
	return nil
}

// traceparent is what a row carries of the trace that its change is in: nothing for most.
func traceparent(ctx context.Context) *string {
	if at := trace.From(ctx); at.Sampled {
		text := at.String()
		return &text
	}
	return nil
}

// queueTombstone adds the record that lets compaction drop a deleted link's key.
// Ids are never used again, so it cannot hit a later link.
func queueTombstone(batch *pgx.Batch, id link.ID, grace time.Duration) {
	batch.Queue(`INSERT INTO outbox (link_id, payload, publish_after) VALUES ($1, NULL, clock_timestamp() + $2::interval)`, id, grace)
}
