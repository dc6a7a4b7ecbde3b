// Package clickhouseconn opens the connection to ClickHouse.
//
// It promises that its errors hold neither the URL, which has a password in it, nor
// the text of a query with all its parameters. It refuses to wait for a server at
// the start: one that is away may come back, and Ready says until then what is wrong.
package clickhouseconn

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// dialTimeout is for one connection, its handshake and the wait for a free one of
// the pool. A server in reach takes milliseconds; this leaves room for a busy one.
const dialTimeout = 3 * time.Second

// ErrBadURL says that a URL is none of ClickHouse. It does not repeat the URL.
var ErrBadURL = errors.New("want http://user:password@host:port/database or the same with clickhouse://")

// CheckURL says whether url is one that Open takes: ErrBadURL or nil.
func CheckURL(url string) error {
	if _, err := clickhouse.ParseDSN(url); err != nil {
		return ErrBadURL
	}
	return nil
}

// Addr is where the server of a URL is, for people: host and port, without anything
// secret. It is "" for a URL that CheckURL refuses.
func Addr(url string) string {
	options, err := clickhouse.ParseDSN(url)
	if err != nil {
		return ""
	}
	return strings.Join(options.Addr, ",")
}

// Open returns a pool of at most maxConns connections, over HTTP or the native
// protocol as the URL says. It does not connect: a server that is away is not an
// error here.
func Open(url string, maxConns int) (driver.Conn, error) {
	options, err := clickhouse.ParseDSN(url)
	if err != nil {
		return nil, ErrBadURL
	}
	options.DialTimeout = dialTimeout
	options.MaxOpenConns, options.MaxIdleConns = maxConns, maxConns
	conn, err := clickhouse.Open(options)
	if err != nil {
		return nil, fmt.Errorf("opening ClickHouse: %w", err)
	}
	return conn, nil
}

// Ready says whether the server answers and the table of clicks is there.
func Ready(ctx context.Context, conn driver.Conn) error {
	if err := conn.Exec(ctx, "SELECT 1 FROM clicks LIMIT 0"); err != nil {
		return fmt.Errorf("asking for the table clicks: %w", WithoutURL(err))
	}
	return nil
}

// WithoutURL shortens an HTTP error by the URL with all its parameters. Other errors
// stay as they are.
func WithoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}
