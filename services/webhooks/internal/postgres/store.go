// Package postgres is the store of the webhooks service: endpoints, the queue of what is
// to be told, and what the sources of events have to remember.
//
// It promises that an event is queued once for each endpoint, however often its source
// repeats it; that of two deliveries with the same endpoint and order key the later one
// is not due before the earlier one is done; and that the outcome of a claim is written
// by whoever holds the newest claim, and by nobody else. A database that is away is
// endpoint.ErrUnavailable.
//
// # Locks
//
// A chain is what an endpoint has for one order key. Who adds to a chain or takes its
// head away holds the chain's advisory lock, so that of the two either the adder sees the
// head or the taker sees what was added. Who needs several takes them in the order of
// their numbers, in one statement, before any row of the queue.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/linkstream/linkstream/services/webhooks/internal/endpoint"
	"github.com/linkstream/linkstream/services/webhooks/internal/sealed"
)

// Limits that keep a stuck database from holding a worker or a lock for ever.
const (
	connectTimeout   = 5 * time.Second
	statementTimeout = "10s"
	idleInTxTimeout  = "30s"
)

// Store is safe for concurrent use.
type Store struct {
	pool *pgxpool.Pool
	box  *sealed.Box
}

// New returns a store over the pool that seals secrets in the box.
func New(pool *pgxpool.Pool, box *sealed.Box) *Store { return &Store{pool: pool, box: box} }

// ErrBadURL says that a URL is none of Postgres. It does not repeat the URL, which
// holds a password.
var ErrBadURL = errors.New("not a valid Postgres URL")

// CheckURL says whether url is one that Open takes.
func CheckURL(url string) error {
	if _, err := pgxpool.ParseConfig(url); err != nil || !strings.Contains(url, "://") {
		return ErrBadURL
	}
	return nil
}

// Open returns a pool of at most maxConns connections. It connects when it is first
// used: a database that is away is no error here.
func Open(ctx context.Context, url string, maxConns int32) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, ErrBadURL
	}
	config.MaxConns = maxConns
	config.ConnConfig.ConnectTimeout = connectTimeout
	params := config.ConnConfig.RuntimeParams
	params["application_name"] = "webhooks"
	params["statement_timeout"] = statementTimeout
	params["idle_in_transaction_session_timeout"] = idleInTxTimeout
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("making the connection pool: %w", err)
	}
	return pool, nil
}

// Ready says whether the database answers.
func (s *Store) Ready(ctx context.Context) error { return s.pool.Ping(ctx) }

// inTx runs do in a transaction and translates what went wrong.
func (s *Store) inTx(ctx context.Context, do func(tx pgx.Tx) error) error {
	return translate(pgx.BeginFunc(ctx, s.pool, do))
}

func translate(err error) error {
	var pg *pgconn.PgError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pgx.ErrNoRows):
		return endpoint.ErrNotFound
	case errors.As(err, &pg):
		if temporary(pg.Code) {
			return fmt.Errorf("%w: %w", endpoint.ErrUnavailable, err)
		}
		return err
	case disconnected(err):
		return fmt.Errorf("%w: %w", endpoint.ErrUnavailable, err)
	default:
		return err
	}
}

// temporary says whether a SQLSTATE may be gone on the next try.
func temporary(code string) bool {
	switch code {
	case "40001", "40P01", // serialization failure, deadlock
		"57014", "55P03", // statement timeout, lock timeout
		"57P01", "57P02", "57P03", // shutting down, crashed, starting up
		"25006": // read-only: a failover is going on
		return true
	}
	return strings.HasPrefix(code, "08") || strings.HasPrefix(code, "53")
}

func disconnected(err error) bool {
	var (
		connect *pgconn.ConnectError
		network net.Error
	)
	return errors.As(err, &connect) || errors.As(err, &network) || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.DeadlineExceeded) || pgconn.SafeToRetry(err)
}
