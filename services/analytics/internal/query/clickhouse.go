// Package query asks ClickHouse about clicks.
//
// It promises that an answer holds clicks of the question's workspace only, that
// every bucket of a time series is there whether anybody clicked or not, and that
// days and hours are those of the asked zone. It refuses to build SQL from a
// caller's text: values are bound as parameters, names come from closed lists.
package query

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/linkstream/linkstream/services/internal/clickhouseconn"
)

const (
	// queryTimeout is what a person waits for, and then tries something smaller.
	queryTimeout = 10 * time.Second
	// maxMemory is for one query, in bytes: exact unique visitors keep 8 bytes each
	// and more, so this is some 50 million of them. A guess.
	maxMemory = 2 << 30
	maxConns  = 16
)

// What can go wrong with a question that is well formed.
var (
	// ErrUnavailable says that ClickHouse cannot be reached or is not migrated.
	ErrUnavailable = errors.New("the click store cannot be asked")
	// ErrTooLarge says that the question takes too long or too much memory.
	ErrTooLarge = errors.New("the question takes too long")
)

// ClickHouse answers questions. It is safe for concurrent use.
type ClickHouse struct {
	conn   driver.Conn
	now    func() time.Time
	lately lately
}

// Open connects lazily: a server that is away is not an error here.
func Open(url string) (*ClickHouse, error) {
	conn, err := clickhouseconn.Open(url, maxConns)
	if err != nil {
		return nil, err
	}
	return &ClickHouse{conn: conn, now: time.Now, lately: lately{life: knownFor, asked: map[knownKey]*asked{}}}, nil
}

// Close closes the connections. Nothing may be asked after that.
func (c *ClickHouse) Close() error {
	c.lately.running.Wait()
	return c.conn.Close()
}

// Ready says whether the server answers and the table is there.
func (c *ClickHouse) Ready(ctx context.Context) error {
	if err := clickhouseconn.Ready(ctx, c.conn); err != nil {
		return translate(err)
	}
	return nil
}

// Summary returns the counts of the whole period.
func (c *ClickHouse) Summary(ctx context.Context, q *Question) (Counts, error) {
	var out Counts
	if err := c.know(ctx, q, ""); err != nil {
		return out, err
	}
	s := &sql{}
	q.writeCounts(s, "", nil, nil)
	err := c.each(ctx, s, func(rows driver.Rows) error {
		return rows.Scan(&out.Clicks, &out.UniqueVisitors, &out.BotClicks)
	})
	return out, err
}

// each runs a statement and calls scan for every row of the answer.
func (c *ClickHouse) each(ctx context.Context, s *sql, scan func(driver.Rows) error) error {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	rows, err := c.conn.Query(clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{
		"readonly":           2, // nothing is written, whatever the text says
		"max_execution_time": int(queryTimeout / time.Second),
		"max_memory_usage":   maxMemory,
	})), s.text.String(), s.values...)
	if err != nil {
		return translate(err)
	}
	defer func() { _ = rows.Close() }() // its errors come from rows.Err
	for rows.Next() {
		if err := scan(rows); err != nil {
			return fmt.Errorf("reading an answer of ClickHouse: %w", err)
		}
	}
	if err := rows.Err(); err != nil {
		return translate(err)
	}
	return nil
}

// Codes of ClickHouse's exceptions.
const (
	codeUnknownTable     = 60
	codeUnknownDatabase  = 81
	codeTimeoutExceeded  = 159
	codeTooSlow          = 160
	codeMemoryLimit      = 241
	codeQueryWasCanceled = 394
)

// translate tells a store that is away from a question that is too large and from a
// mistake of ours, which stays as it is.
func translate(err error) error {
	if exception, ok := errors.AsType[*clickhouse.Exception](err); ok {
		switch exception.Code {
		case codeTimeoutExceeded, codeTooSlow, codeMemoryLimit, codeQueryWasCanceled:
			return fmt.Errorf("%w: %w", ErrTooLarge, err)
		case codeUnknownTable, codeUnknownDatabase:
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		default:
			return fmt.Errorf("asking ClickHouse: %w", err)
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", ErrTooLarge, err)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, clickhouseconn.WithoutURL(err))
}

// ceilMilli is the first millisecond that is not before t: clicks have whole ones.
func ceilMilli(t time.Time) int64 {
	return t.Add(time.Millisecond - time.Nanosecond).UnixMilli()
}
