package live

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/services/internal/enrich"
)

const (
	// idle is how long nothing comes before the broker is asked whether it is there: a
	// client that cannot reach it says nothing and tries again.
	idle        = 2 * time.Second
	pingTimeout = time.Second
	maxPoll     = 2_000
)

// Reader reads the clicks topic without a group: it commits nothing, and every process
// sees every click.
type Reader struct {
	options  []kgo.Opt
	topic    string
	enricher *enrich.Enricher
	// key makes visitors out of addresses for as long as the process lives. Those of the
	// figures have other numbers.
	key enrich.Key
	now func() time.Time
}

// NewReader returns a reader. The options are those of a client (kafka.Options).
func NewReader(options []kgo.Opt, prefix string, tables *enrich.Tables, places *enrich.Places, now func() time.Time) *Reader {
	return &Reader{options: options, topic: events.Clicks.Name(prefix), enricher: enrich.New(tables, places), key: enrich.NewKey(), now: now}
}

// Read implements Source. Only one may run at a time.
func (r *Reader) Read(ctx context.Context, since time.Time, take func([]enrich.Row, error)) error {
	client, err := kgo.NewClient(append(append([]kgo.Opt{}, r.options...),
		kgo.ConsumeTopics(r.topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AfterMilli(since.UnixMilli())),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.FetchMaxWait(250*time.Millisecond), // a tenth of what a viewer notices
	)...)
	if err != nil {
		return fmt.Errorf("reading live clicks: %w", err)
	}
	defer client.CloseAllowingRebalance()
	for {
		rows, err := r.poll(ctx, client)
		if ctx.Err() != nil {
			return nil
		}
		take(rows, err)
	}
}

// poll returns what came, and what went wrong beside it: the client tries that again.
func (r *Reader) poll(ctx context.Context, client *kgo.Client) ([]enrich.Row, error) {
	limit, cancel := context.WithTimeout(ctx, idle)
	defer cancel()
	fetches := client.PollRecords(limit, maxPoll)
	var failed error
	if limit.Err() != nil && ctx.Err() == nil && fetches.NumRecords() == 0 {
		ping, cancel := context.WithTimeout(ctx, pingTimeout)
		failed = client.Ping(ping)
		cancel()
	}
	fetches.EachError(func(_ string, _ int32, err error) {
		if limit.Err() == nil {
			failed = err
		}
	})
	rows := make([]enrich.Row, 0, fetches.NumRecords())
	var click enrich.Click
	fetches.EachRecord(func(record *kgo.Record) {
		if click.Decode(record.Value) != nil {
			return // the ingester sees to it
		}
		var row enrich.Row
		at, ahead := enrich.At(&click, r.now())
		r.enricher.Fill(&row, &click, at, ahead, &r.key)
		rows = append(rows, row)
	})
	return rows, failed
}
