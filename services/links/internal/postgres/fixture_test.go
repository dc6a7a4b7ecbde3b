package postgres_test

import (
	"os"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"google.golang.org/protobuf/proto"

	"github.com/linkstream/linkstream/events/eventspb"
	"github.com/linkstream/linkstream/services/internal/pgtest"
	"github.com/linkstream/linkstream/services/internal/testproc"
	"github.com/linkstream/linkstream/services/links/internal/changelog"
	"github.com/linkstream/linkstream/services/links/internal/link"
	"github.com/linkstream/linkstream/services/links/internal/postgres"
)

func TestMain(m *testing.M) { os.Exit(testproc.NoLeaks(pgtest.Main(m))) }

// world is a store with one workspace and two domains: go.test, and loose.test,
// whose slugs ignore case.
type world struct {
	pool      *pgxpool.Pool
	store     *postgres.Store
	workspace uuid.UUID
	rules     link.Rules
}

const tombstoneGrace = 168 * time.Hour

func newWorld(t *testing.T) *world {
	t.Helper()
	pool, err := postgres.Open(t.Context(), pgtest.New(t), 16)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	w := &world{pool: pool, store: postgres.New(pool, "go.test", tombstoneGrace), workspace: uuid.New()}
	for _, statement := range []string{
		`INSERT INTO workspaces (id, name) VALUES ('` + w.workspace.String() + `', 'w')`,
		`INSERT INTO domains (id, host, case_sensitive) VALUES (gen_random_uuid(), 'go.test', true), (gen_random_uuid(), 'loose.test', false)`,
	} {
		if _, err := pool.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// fresh is a checked change for a new link at the address.
func (w *world) fresh(t *testing.T, host, slug string) *link.Checked {
	t.Helper()
	c, err := w.rules.CheckNew(link.Change{Destination: link.Some("https://e.test/1"), Domain: link.Some(host), Slug: link.Some(slug)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (w *world) edit(t *testing.T, change link.Change) *link.Checked {
	t.Helper()
	c, err := w.rules.CheckEdit(change)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// record is a row of the outbox; event is nil for a tombstone.
type record struct {
	id    int64
	link  uuid.UUID
	event *eventspb.LinkChanged
	due   time.Duration // from its creation; 0 is at once
}

// outbox returns all rows in the order of their ids.
func (w *world) outbox(t *testing.T) []record {
	t.Helper()
	rows, err := w.pool.Query(t.Context(), `SELECT id, link_id, changes, payload,
		CASE WHEN publish_after = '-infinity' THEN 0 ELSE extract(epoch FROM publish_after - created_at) END::float8 FROM outbox ORDER BY id`)
	if err != nil {
		t.Fatal(err)
	}
	var (
		records []record
		r       record
		changes int
		payload []byte
		seconds float64
	)
	_, err = pgx.ForEachRow(rows, []any{&r.id, &r.link, &changes, &payload, &seconds}, func() error {
		r.due = time.Duration(seconds * float64(time.Second)).Round(time.Second)
		if r.event = nil; payload == nil {
			records = append(records, r)
			return nil
		}
		parts := [][]byte{payload}
		if changes > 1 {
			var err error
			if parts, err = changelog.Split(payload, changes); err != nil {
				return err
			}
		}
		for _, part := range parts {
			one := r
			one.event = &eventspb.LinkChanged{}
			if err := proto.Unmarshal(part, one.event); err != nil {
				return err
			}
			if changes > 1 {
				copy(one.link[:], one.event.GetLinkId())
			}
			records = append(records, one)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return records
}
