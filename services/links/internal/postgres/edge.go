package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"google.golang.org/protobuf/proto"

	"github.com/linkstream/linkstream/services/internal/rpc/controlv1"
)

const (
	// LiveFor is how long after its last poll an edge counts as live. Polls come every
	// second. It rather waits in vain for a dead edge than forgets a slow one, which may
	// be answering visitors.
	LiveFor = 5 * time.Second
	// replacedAfter is the same for an edge whose name another process has by now: two
	// polls.
	replacedAfter = 2 * time.Second
	// recentFor is how far back an edge that polls all the time is looked for commands:
	// longer than a statement and its commit may take.
	recentFor = 30 * time.Second
	// keepCommands is how far back an edge that was cut off is told of purges: no edge
	// holds anything longer than a day.
	keepCommands = 25 * time.Hour
	// prewarmFor is after how long nobody waits for a pre-warm any more.
	prewarmFor = 10 * time.Second
	// commandsAtOnce bounds one answer. An edge that has missed more asks again.
	commandsAtOnce = 50
)

// Channels on which links processes tell each other that there is news.
const (
	ChannelCommands      = "edge_command"
	ChannelConfirmations = "edge_confirmation"
	ChannelDomains       = "edge_domains" // rung by a trigger
)

// Edge is a process that answers visitors.
type Edge struct {
	Instance     uuid.UUID
	Name, Region string
}

// Await is what an edge tells about itself when it asks for commands.
type Await struct {
	Edge     Edge
	Age      time.Duration // since its process started, with nothing in memory
	UnderWay []uint64      // commands that it has and works on
	CatchUp  bool          // it may have missed some
}

// Confirmation is what has become of a command at an edge that was live when it was
// given.
type Confirmation struct {
	Edge                  Edge
	Answered              bool
	MemoryDone, RedisDone bool
	Took                  time.Duration // from the command to the answer, by the database's clock
}

// Announce notes that an edge is live, and that a process which had its name before is
// not, unless that still polls: names are of one process at a time, so it was killed.
func (s *Store) Announce(ctx context.Context, a *Await) error {
	batch := &pgx.Batch{}
	batch.Queue(`INSERT INTO edges (instance, name, region, started_at, seen_at)
		VALUES ($1, $2, $3, clock_timestamp() - $4::interval, clock_timestamp())
		ON CONFLICT (instance) DO UPDATE SET seen_at = excluded.seen_at`,
		a.Edge.Instance, a.Edge.Name, a.Edge.Region, a.Age)
	batch.Queue(`DELETE FROM edges WHERE name = $1 AND region = $2 AND instance <> $3 AND seen_at < clock_timestamp() - $4::interval`,
		a.Edge.Name, a.Edge.Region, a.Edge.Instance, replacedAfter)
	return translate(s.pool.SendBatch(ctx, batch).Close())
}

// Commands returns what an edge has to do, the newest first: what it has not confirmed
// and, when it catches up, purges that its region's Redis has not seen. A purge from
// before the process started does not concern its memory; a minute covers what it may
// have read while others were still at it.
func (s *Store) Commands(ctx context.Context, a *Await) ([]*controlv1.Command, error) {
	since := recentFor
	if a.CatchUp {
		since = keepCommands
	}
	underWay := make([]int64, len(a.UnderWay))
	for i, id := range a.UnderWay {
		underWay[i] = int64(id) //nolint:gosec // it came from here
	}
	rows, err := s.pool.Query(ctx, `SELECT c.id, c.payload FROM edge_commands c
		WHERE c.created_at > clock_timestamp() - $1::interval AND c.id <> ALL ($2)
		AND CASE c.kind WHEN 'prewarm' THEN c.created_at > clock_timestamp() - $3::interval AND EXISTS (
				SELECT FROM edge_confirmations k WHERE k.command_id = c.id AND k.instance = $4 AND k.confirmed_at IS NULL)
			ELSE c.created_at > clock_timestamp() - $5::interval - interval '1 minute' AND NOT EXISTS (
				SELECT FROM edge_confirmations k WHERE k.command_id = c.id AND k.instance = $4 AND k.confirmed_at IS NOT NULL)
			OR $6 AND NOT EXISTS (
				SELECT FROM edge_confirmations k WHERE k.command_id = c.id AND k.region = $7 AND k.redis_done)
			END
		ORDER BY c.id DESC LIMIT $8`,
		since, underWay, prewarmFor, a.Edge.Instance, a.Age, a.CatchUp, a.Edge.Region, commandsAtOnce)
	if err != nil {
		return nil, translate(err)
	}
	commands, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (*controlv1.Command, error) {
		var (
			id      int64
			payload []byte
			c       controlv1.Command
		)
		if err := row.Scan(&id, &payload); err != nil {
			return nil, err
		}
		if err := proto.Unmarshal(payload, &c); err != nil {
			return nil, fmt.Errorf("decoding command %d: %w", id, err)
		}
		c.Id = uint64(id) //nolint:gosec // an identity, from 1
		return &c, nil
	})
	return commands, translate(err)
}

// Command stores a command for all edges, wakes whoever holds their polls, and
// returns its id. Every edge that is live is expected to confirm it.
func (s *Store) Command(ctx context.Context, c *controlv1.Command) (id int64, err error) {
	kind := "purge"
	if c.GetKind() == controlv1.Command_KIND_PREWARM {
		kind = "prewarm"
	}
	payload, err := proto.Marshal(c)
	if err != nil {
		return 0, fmt.Errorf("encoding a command: %w", err)
	}
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, `INSERT INTO edge_commands (kind, payload) VALUES ($1, $2) RETURNING id`, kind, payload).Scan(&id); err != nil {
			return err
		}
		batch := &pgx.Batch{}
		batch.Queue(`INSERT INTO edge_confirmations (command_id, instance, name, region, expected)
			SELECT $1, instance, name, region, true FROM edges WHERE seen_at > clock_timestamp() - $2::interval`, id, LiveFor)
		batch.Queue(`SELECT pg_notify($1, '')`, ChannelCommands) // delivered at the commit
		return tx.SendBatch(ctx, batch).Close()
	})
	return id, err
}

// Confirm notes what has become of a command at an edge, and wakes whoever waits for
// it. Nobody waits for a command that is forgotten.
func (s *Store) Confirm(ctx context.Context, e Edge, command uint64, memoryDone, redisDone bool) error {
	batch := &pgx.Batch{}
	batch.Queue(`INSERT INTO edge_confirmations AS k (command_id, instance, name, region, expected, confirmed_at, memory_done, redis_done)
		SELECT id, $2, $3, $4, false, clock_timestamp(), $5, $6 FROM edge_commands WHERE id = $1
		ON CONFLICT (command_id, instance) DO UPDATE SET confirmed_at = excluded.confirmed_at,
			memory_done = excluded.memory_done, redis_done = k.redis_done OR excluded.redis_done`,
		int64(command), e.Instance, e.Name, e.Region, memoryDone, redisDone) //nolint:gosec // it came from here
	batch.Queue(`SELECT pg_notify($1, '')`, ChannelConfirmations)
	return translate(s.pool.SendBatch(ctx, batch).Close())
}

// Confirmations returns what the edges that were live have said of a command, by
// region and name.
func (s *Store) Confirmations(ctx context.Context, command int64) ([]Confirmation, error) {
	rows, err := s.pool.Query(ctx, `SELECT k.instance, k.name, k.region, k.confirmed_at IS NOT NULL, k.memory_done, k.redis_done,
			coalesce(k.confirmed_at - c.created_at, '0')::interval
		FROM edge_confirmations k JOIN edge_commands c ON c.id = k.command_id
		WHERE k.command_id = $1 AND k.expected ORDER BY k.region, k.name, k.instance`, command)
	if err != nil {
		return nil, translate(err)
	}
	confirmations, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (c Confirmation, err error) {
		err = row.Scan(&c.Edge.Instance, &c.Edge.Name, &c.Edge.Region, &c.Answered, &c.MemoryDone, &c.RedisDone, &c.Took)
		return c, err
	})
	return confirmations, translate(err)
}

// Leave forgets an edge: nobody waits for it any more.
func (s *Store) Leave(ctx context.Context, instance uuid.UUID) error {
	_, err := s.pool.Exec(ctx, `DELETE FROM edges WHERE instance = $1`, instance)
	return translate(err)
}

// Listen calls ring with each channel that has news, and with all of them once it has
// begun, because some may have come before. It ends with an error, or with ctx.
func (s *Store) Listen(ctx context.Context, ring func(channel string)) error {
	conn, err := pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig)
	if err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(closing) // the server notices either way
	}()
	for _, channel := range []string{ChannelCommands, ChannelConfirmations, ChannelDomains} {
		if _, err := conn.Exec(ctx, `LISTEN `+pgx.Identifier{channel}.Sanitize()); err != nil {
			return fmt.Errorf("listening: %w", err)
		}
		ring(channel)
	}
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return fmt.Errorf("waiting for news: %w", err)
		}
		ring(n.Channel)
	}
}

// Tidy drops what nobody will ask for any more. Several processes may do so at once.
func (s *Store) Tidy(ctx context.Context) error {
	batch := &pgx.Batch{}
	batch.Queue(`DELETE FROM edge_commands WHERE created_at < clock_timestamp() - $1::interval`, keepCommands)
	batch.Queue(`DELETE FROM edges WHERE seen_at < clock_timestamp() - $1::interval`, keepCommands)
	err := s.pool.SendBatch(ctx, batch).Close()
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "40P01" {
		err = nil // another process is at it
	}
	return errors.Join(err, s.forgetLeft(ctx))
}
