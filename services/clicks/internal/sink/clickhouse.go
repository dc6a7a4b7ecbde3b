package sink

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/linkstream/linkstream/services/internal/clickhouseconn"
	"github.com/linkstream/linkstream/services/internal/enrich"
)

// MaxRows bounds a batch: what ClickHouse takes as one block by default.
const MaxRows = 1_000_000

// ClickHouse is the store. It works over HTTP and over the native protocol, as
// its URL says.
type ClickHouse struct {
	conn driver.Conn
}

// OpenClickHouse connects lazily: a server that is away is not an error here.
func OpenClickHouse(url string) (*ClickHouse, error) {
	// Besides the inserts, the readiness check and a question for a key need one each.
	conn, err := clickhouseconn.Open(url, parallelInserts+2)
	if err != nil {
		return nil, err
	}
	return &ClickHouse{conn: conn}, nil
}

// Close closes the connections.
func (c *ClickHouse) Close() error { return c.conn.Close() }

// Ready says whether the server answers and the table is there.
func (c *ClickHouse) Ready(ctx context.Context) error { return clickhouseconn.Ready(ctx, c.conn) }

// insertSettings make one insert one block, written before it is answered, and
// nothing at all when the token has been seen. Settings that a server's profile
// may change are named even where they are the default: asynchronous inserts are
// on in recent versions and would merge blocks of different tokens.
func insertSettings(token string) clickhouse.Settings {
	return clickhouse.Settings{
		"insert_deduplication_token":                         token,
		"insert_deduplicate":                                 1,
		"deduplicate_blocks_in_dependent_materialized_views": 1,
		"async_insert":                                       0,
		"distributed_foreground_insert":                      1, // on a cluster: every shard has its rows before the answer
		"max_insert_block_size":                              MaxRows + 1,
		"min_insert_block_size_rows":                         MaxRows + 1,
		"min_insert_block_size_bytes":                        0,
		// A block makes a part for each month in it. Clocks that are wrong by years
		// must not stop the others' clicks.
		"max_partitions_per_insert_block": 0,
	}
}

// insert adds the rows as one block, or nothing if the token was inserted before.
// An error says nothing about whether the rows are there: the caller repeats the
// insert with the same rows and token.
func (c *ClickHouse) insert(ctx context.Context, token string, rows *columns) error {
	return c.send(ctx, "clicks", token, rows.list())
}

func (c *ClickHouse) send(ctx context.Context, table, token string, list []named) error {
	names := make([]string, len(list))
	types := make([]clickhouse.ColumnNameAndType, len(list))
	for i, column := range list {
		names[i], types[i] = column.Name, column.ColumnNameAndType
	}
	ctx = clickhouse.Context(ctx, clickhouse.WithSettings(insertSettings(token)), clickhouse.WithColumnNamesAndTypes(types))
	batch, err := c.conn.PrepareBatch(ctx, "INSERT INTO "+table+" ("+strings.Join(names, ", ")+")")
	if err != nil {
		return fmt.Errorf("preparing an insert: %w", clickhouseconn.WithoutURL(err))
	}
	defer func() { _ = batch.Close() }() // after Send it has nothing to say
	for i, column := range list {
		if err := batch.Column(i).Append(column.values); err != nil {
			return fmt.Errorf("filling the column %s: %w", column.Name, err)
		}
	}
	if err := batch.Send(); err != nil {
		return fmt.Errorf("sending: %w", clickhouseconn.WithoutURL(err))
	}
	return nil
}

// VisitorKey implements enrich.KeyStore. The insert's token is the day, so the
// first key that is stored stays and every later one is dropped by the server;
// all read the one that stayed. A server that was killed may remember a token and
// not have the key (see attempts): then the next token is used, by all.
func (c *ClickHouse) VisitorKey(ctx context.Context, day enrich.Day, candidate enrich.Key) (enrich.Key, error) {
	key, found, err := c.findKey(ctx, day)
	date := day.Time().Format(time.DateOnly)
	for n := 0; err == nil && !found; n++ {
		if n == attempts {
			return key, fmt.Errorf("the visitor key of %s is not there after it was stored", date)
		}
		if err := c.storeKey(ctx, day, candidate, attemptToken("visitor-key/"+date, n)); err != nil {
			return key, err
		}
		key, found, err = c.findKey(ctx, day)
	}
	return key, err
}

func (c *ClickHouse) storeKey(ctx context.Context, day enrich.Day, key enrich.Key, token string) error {
	ctx = clickhouse.Context(ctx, clickhouse.WithSettings(insertSettings(token)))
	batch, err := c.conn.PrepareBatch(ctx, "INSERT INTO visitor_keys (day, key)")
	if err != nil {
		return fmt.Errorf("preparing to store a visitor key: %w", clickhouseconn.WithoutURL(err))
	}
	defer func() { _ = batch.Close() }() // after Send it has nothing to say
	if err := batch.Append(day.Time(), string(key[:])); err != nil {
		return fmt.Errorf("storing a visitor key: %w", err)
	}
	if err := batch.Send(); err != nil {
		return fmt.Errorf("storing a visitor key: %w", clickhouseconn.WithoutURL(err))
	}
	return nil
}

func (c *ClickHouse) findKey(ctx context.Context, day enrich.Day) (key enrich.Key, found bool, err error) {
	rows, err := c.conn.Query(ctx, "SELECT key FROM visitor_keys WHERE day = {day:Date} ORDER BY key LIMIT 1",
		clickhouse.Named("day", day.Time().Format(time.DateOnly)))
	if err != nil {
		return key, false, fmt.Errorf("reading a visitor key: %w", clickhouseconn.WithoutURL(err))
	}
	defer func() { _ = rows.Close() }() // its errors come from rows.Err
	for rows.Next() {
		var stored string
		if err := rows.Scan(&stored); err != nil {
			return key, false, fmt.Errorf("reading a visitor key: %w", clickhouseconn.WithoutURL(err))
		}
		if len(stored) != len(key) {
			return key, false, fmt.Errorf("the visitor key of a day has %d bytes, want %d", len(stored), len(key))
		}
		copy(key[:], stored)
		found = true
	}
	if err := rows.Err(); err != nil {
		return key, false, fmt.Errorf("reading a visitor key: %w", clickhouseconn.WithoutURL(err))
	}
	return key, found, nil
}
