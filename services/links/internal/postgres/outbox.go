package postgres

import (
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/proto"

	"github.com/linkstream/linkstream/events/eventspb"
	"github.com/linkstream/linkstream/services/links/internal/link"
)

// queueOutbox adds the record of a change to the statements that write the
// change. It is due at once whatever the clocks say, so that two records of a link
// can never become due in the wrong order.
func queueOutbox(batch *pgx.Batch, ev *eventspb.LinkChanged) error {
	payload, err := proto.Marshal(ev)
	if err != nil {
		return fmt.Errorf("encoding the change: %w", err)
	}
	batch.Queue(`INSERT INTO outbox (link_id, payload, publish_after) VALUES ($1, $2, '-infinity')`, ev.GetLinkId(), payload)
	return nil
}

// queueTombstone adds the record that lets compaction drop a deleted link's key.
// Ids are never used again, so it cannot hit a later link.
func queueTombstone(batch *pgx.Batch, id link.ID, grace time.Duration) {
	batch.Queue(`INSERT INTO outbox (link_id, payload, publish_after) VALUES ($1, NULL, clock_timestamp() + $2::interval)`, id, grace)
}
