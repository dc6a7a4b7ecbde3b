// Package postgres is the links service's store: links with their outbox, and the
// accounts that may touch them.
//
// It promises that a link and the record of its change are written in one
// transaction, in one function, and that revisions grow per address in commit
// order, whatever runs at the same time. It refuses to wait for ever: every
// statement has a limit, and a database that is away is link.ErrUnavailable.
//
// # Lock order
//
// Every writing transaction takes its locks in this order and no other:
//
//  1. the link's row (SELECT ... FOR UPDATE), which fixes the address it has;
//  2. the advisory locks of all addresses it touches, in ascending order of their
//     lock key (see addressKey);
//  3. then, holding all of them, a revision from link_revision_seq.
//
// Between the first two it locks the rows of the domains that it reads, in the mode of a
// foreign key, which only the deletion of a domain and a change of its case rule wait
// for. Those hold a domain's row, then that of the table's revision, and wait for no
// link: they are refused while there is one.
//
// Whoever waits for a row holds no address, and whoever waits for an address
// waits for a greater key than it holds, so nobody waits in a circle. A change of
// several links takes all rows first (by id), then all addresses. Who looks for a link
// before making one also locks what it looks for (see findKey): among the addresses,
// in the same order.
//
// The revision has to come last. Taken before the lock it could be the smaller one
// of two that are committed in the other order, and every cache would keep the
// older link.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/linkstream/linkstream/services/links/internal/link"
)

// Limits that keep a stuck database from holding a request or a lock for ever.
const (
	connectTimeout   = 5 * time.Second
	statementTimeout = "10s"
	idleInTxTimeout  = "30s"
)

// How the server notices a client whose machine is gone without a word: after ten
// idle seconds it asks three times, five seconds apart. Until then that client's
// locks are held, the relay's among them, and the system's default is two hours. The
// figures are guesses: longer than a hiccup, shorter than anybody's patience.
const (
	keepalivesIdle     = "10s"
	keepalivesInterval = "5s"
	keepalivesCount    = "3"
)

// Store reads and writes links and accounts. It is safe for concurrent use.
type Store struct {
	pool *pgxpool.Pool
	// defaultDomain is the host of links that name none.
	defaultDomain string
	// tombstoneGrace is how long after a deletion its key leaves the changelog.
	tombstoneGrace time.Duration
	// single combines links that are made one by one.
	single combiner
	// bulk bounds how many transactions of many links run at the same time: each
	// holds an advisory lock for every address, and the server has room for so many.
	bulk chan struct{}
}

// New returns a store over the pool. defaultDomain is a host in normal form.
func New(pool *pgxpool.Pool, defaultDomain string, tombstoneGrace time.Duration) *Store {
	s := &Store{pool: pool, defaultDomain: defaultDomain, tombstoneGrace: tombstoneGrace, bulk: make(chan struct{}, bulkTransactions)}
	s.single.make = s.makeLinks
	return s
}

// ErrBadURL says that a URL is none of Postgres. It does not repeat the URL, which
// holds a password.
var ErrBadURL = errors.New("not a valid Postgres URL")

// Open returns a pool of at most maxConns connections. It connects when it is
// first used: a database that is away is no error here.
func Open(ctx context.Context, url string, maxConns int32) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, ErrBadURL
	}
	config.MaxConns = maxConns
	// When a region's Redis dies, its edges ask for all that is in demand at once, and their
	// visitors wait. A new connection is a new process of Postgres, which then is slow with
	// its first statement.
	config.MinIdleConns = maxConns / 2
	config.AfterConnect = warm
	config.ConnConfig.ConnectTimeout = connectTimeout
	params := config.ConnConfig.RuntimeParams
	params["application_name"] = "links"
	params["statement_timeout"] = statementTimeout
	params["idle_in_transaction_session_timeout"] = idleInTxTimeout
	params["tcp_keepalives_idle"] = keepalivesIdle
	params["tcp_keepalives_interval"] = keepalivesInterval
	params["tcp_keepalives_count"] = keepalivesCount
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("making the connection pool: %w", err)
	}
	return pool, nil
}

// CheckURL says whether url is one that Open takes.
func CheckURL(url string) error {
	if _, err := pgxpool.ParseConfig(url); err != nil || !strings.Contains(url, "://") {
		return ErrBadURL
	}
	return nil
}

// Ready says whether the database answers.
func (s *Store) Ready(ctx context.Context) error { return s.pool.Ping(ctx) }

// inTx runs do in a transaction and translates what went wrong.
func (s *Store) inTx(ctx context.Context, do func(tx pgx.Tx) error) error {
	return translate(pgx.BeginFunc(ctx, s.pool, do))
}

// translate turns the driver's errors into the domain's, where there is one.
func translate(err error) error {
	var pg *pgconn.PgError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pgx.ErrNoRows):
		return link.ErrNotFound
	case errors.As(err, &pg):
		if pg.Code == uniqueViolation && pg.ConstraintName == "links_domain_slug_key" {
			return link.ErrSlugTaken
		}
		if pg.Code == uniqueViolation && pg.ConstraintName == "domains_host_key" {
			return link.ErrDomainTaken
		}
		if temporary(pg.Code) {
			return fmt.Errorf("%w: %w", link.ErrUnavailable, err)
		}
		return err
	case disconnected(err):
		return fmt.Errorf("%w: %w", link.ErrUnavailable, err)
	default:
		return err
	}
}

// Away says whether an error means that the database cannot be reached, or does not
// answer. One that refuses this statement alone is there.
func Away(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return strings.HasPrefix(pg.Code, "57P") || strings.HasPrefix(pg.Code, "08") || strings.HasPrefix(pg.Code, "53")
	}
	return err != nil && !errors.Is(err, context.Canceled) && (disconnected(err) || errors.Is(err, link.ErrUnavailable))
}

// Address is where the pool's database is, for the log.
func Address(pool *pgxpool.Pool) string {
	c := pool.Config().ConnConfig
	return net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port)))
}

const uniqueViolation = "23505"

// temporary says whether a SQLSTATE may be gone on the next try.
func temporary(code string) bool {
	switch code {
	case "40001", "40P01", // serialization failure, deadlock
		"57014", "55P03", // statement timeout, lock timeout
		"57P01", "57P02", "57P03", // shutting down, crashed, starting up
		"25006": // read-only: a failover is going on
		return true
	}
	return strings.HasPrefix(code, "08") || // connection
		strings.HasPrefix(code, "53") // resources: disk full, out of memory, too many connections
}

func disconnected(err error) bool {
	var (
		connect *pgconn.ConnectError
		network net.Error
	)
	return errors.As(err, &connect) || errors.As(err, &network) || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.DeadlineExceeded) || pgconn.SafeToRetry(err)
}
