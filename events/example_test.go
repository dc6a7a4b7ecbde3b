package events_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"os/signal"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/events/eventspb"
)

// Copying links into a table of your own. The revision is kept in the row and compared
// in the statement that writes it, so a state that comes again changes nothing, and
// no Versions are needed.
func ExampleSubscribeLinks() {
	run := func(ctx context.Context, db *sql.DB) error {
		sub, err := events.SubscribeLinks(events.Settings{
			Brokers: []string{"127.0.0.1:19092"},
			Group:   "crm",
		}, func(ctx context.Context, c events.LinkChange) error {
			if c.Event == nil || c.Event.GetKind() == eventspb.LinkChanged_KIND_DELETED {
				_, err := db.ExecContext(ctx, `DELETE FROM link WHERE id = $1`, c.Link.String())
				return err
			}
			_, err := db.ExecContext(ctx, `
				INSERT INTO link (id, revision, destination) VALUES ($1, $2, $3)
				ON CONFLICT (id) DO UPDATE SET revision = excluded.revision, destination = excluded.destination
				WHERE link.revision < excluded.revision`,
				c.Link.String(), c.Event.GetRevision(), c.Event.GetDestination())
			return err
		})
		if err != nil {
			return err
		}
		return sub.Run(ctx)
	}
	_ = run // it needs a broker and a database
}

// Reacting to changes: a state that is not newer is left out, what cannot be handled
// goes to a topic of your own, and what happens is counted.
func ExampleSettings() {
	run := func(dead *kgo.Client, log *slog.Logger, count func(events.Observed, int64)) error {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		sub, err := events.SubscribeLinks(events.Settings{
			Brokers:  []string{"127.0.0.1:19092"},
			Group:    "mailer",
			Versions: events.NewMemoryVersions(100_000),
			DeadLetter: func(ctx context.Context, d events.Dead) error {
				log.ErrorContext(ctx, "a change is put aside", "offset", d.Record.Offset, "err", d.Err)
				record := &kgo.Record{Topic: "mailer.links.dead.v1", Key: d.Record.Key, Value: d.Record.Value, Headers: d.Record.Headers}
				return dead.ProduceSync(ctx, record).FirstErr()
			},
			Observe: func(o events.Observation) { count(o.What, o.Records) },
		}, func(context.Context, events.LinkChange) error {
			return nil // send the mail
		})
		if err != nil {
			return err
		}
		return sub.Run(ctx)
	}
	_ = run // it needs a broker
}

// Counting clicks. A batch may come again: write it with the ids of the clicks, so that
// your store can leave out those that it has.
func ExampleSubscribeClicks() {
	run := func(ctx context.Context, insert func(context.Context, []events.ClickRead) error) error {
		sub, err := events.SubscribeClicks(events.Settings{
			Brokers: []string{"127.0.0.1:19092"},
			Group:   "billing",
			Start:   events.Latest(), // from now on, not of the last seven days
		}, insert)
		if err != nil {
			return err
		}
		return sub.Run(ctx)
	}
	_ = run // it needs a broker
}

// All links in memory, current, without a group.
func ExampleNewCopy() {
	run := func(ctx context.Context, ready func()) error {
		links := map[events.ID]*eventspb.LinkChanged{}
		following, err := events.NewCopy(events.Settings{Brokers: []string{"127.0.0.1:19092"}}, func(_ context.Context, c events.LinkChange) error {
			switch {
			case c.Event == nil:
				delete(links, c.Link)
			case links[c.Link].GetRevision() < c.Event.GetRevision():
				links[c.Link] = c.Event // a deletion stays until its tombstone comes
			}
			return nil
		})
		if err != nil {
			return err
		}
		go func() {
			select {
			case <-following.Complete():
				ready()
			case <-ctx.Done():
			}
		}()
		return following.Run(ctx)
	}
	_ = run // it needs a broker
}

func ExampleDecodeLinkChanged() {
	value, err := os.ReadFile("../schemas/examples/link_changed/moved.binpb")
	if err != nil {
		fmt.Println(err)
		return
	}
	change, err := events.DecodeLinkChanged(&kgo.Record{Value: value})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(events.ID(change.GetLinkId()), change.GetKind(), change.GetAddress().GetSlug(), "->", change.GetDestination())
	// Output: 019acf12-dc00-7000-8000-000000000001 KIND_UPDATED summer/sale -> https://e.test/summer
}
