// Package settle writes down days that are over.
//
// It promises that a day's numbers are those of its clicks, to the unit: a settlement is
// marked as whole only after everything was written, with the number of clicks that it is of,
// and readers take it only as long as the day has as many. A day to which clicks come late is settled again.
// Any number of processes may do it at once: each settlement has an id of its own. It refuses to hurry:
// one thread, a few days after the other, the newest first.
package settle

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/linkstream/linkstream/services/internal/clickhouseconn"
)

const (
	// maxConns: one settles, and one is left for a slow one that was given up.
	maxConns = 2
	// grace is how long after its end a day is settled: clicks that were on their way come in.
	grace = time.Hour
	// batchClicks bounds the clicks of days that are settled together, when it is more than
	// one. Clicks are ordered by their link, so that a statement looks at much of a month
	// however few of its days it is of. A million took 2.2 GiB.
	batchClicks = 1_000_000
	// batchLimit is for one statement. A million clicks take seconds.
	batchLimit = 10 * time.Minute
	// DetailedFrom is from how many clicks a day a link, a domain or a campaign is written
	// down by the values of each dimension. A year of one with fewer is some 300,000 clicks,
	// which are quick to ask.
	DetailedFrom = 1000
	// hoursKept is longer than query.HoursKept, so that no question under way misses them.
	hoursKept = 100
	// maxMemory is for one statement, in bytes, and spillFrom what its groups may take of it
	// before the server moves them to disk. How large a day that carries was not measured.
	maxMemory = 4 << 30
	spillFrom = maxMemory / 2
	// maxTries bounds what is tried again and again, until the process is started anew.
	maxTries = 5
)

// Options say how days are settled.
type Options struct {
	Every        time.Duration // between two looks for days
	DetailedFrom int           // clicks of a day, DetailedFrom in production
	Now          func() time.Time
}

// Settler settles days.
type Settler struct {
	conn driver.Conn
	Options
	log   *slog.Logger
	id    uint64          // of the settlements of this process
	tries map[attempt]int // how often a day was settled that had so many clicks
	used  map[uint32]bool // days that were settled under the id
}

// attempt is a day with a number of clicks.
type attempt struct {
	day    uint32
	clicks uint64
}

// New returns a Settler. It connects lazily: a server that is away is not an error here.
func New(url string, options Options, log *slog.Logger) (*Settler, error) {
	conn, err := clickhouseconn.Open(url, maxConns)
	if err != nil {
		return nil, err
	}
	s := &Settler{conn: conn, Options: options, log: log, tries: map[attempt]int{}}
	s.renew()
	return s, nil
}

// Close closes the connections, after Run has returned.
func (s *Settler) Close() error { return s.conn.Close() }

// Run settles until the context ends.
func (s *Settler) Run(ctx context.Context) error {
	tick := time.NewTicker(s.Every)
	defer tick.Stop()
	for {
		if err := s.Pass(ctx); err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "days were not settled; trying again", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// Pass settles every day that is over and is not settled, or not any more, each once: a
// day to which clicks still come waits for the next pass. It asks again each
// time, because another process may have been there.
func (s *Settler) Pass(ctx context.Context) error {
	done := map[uint32]bool{}
	for {
		days, err := s.next(ctx, done)
		if err != nil {
			return err
		}
		if len(days) == 0 {
			return s.retire(ctx)
		}
		for _, day := range days {
			done[day] = true
		}
		if err := s.settle(ctx, days); err != nil {
			return err
		}
	}
}

// renew takes another id: numbers of a day that were written under one are never mixed
// with others. The time is in it for people who look.
func (s *Settler) renew() {
	var random [4]byte
	_, _ = rand.Read(random[:]) // it never fails
	s.id = uint64(s.Now().Unix())<<32 | uint64(binary.BigEndian.Uint32(random[:]))
	s.used = map[uint32]bool{}
}

// next are the newest days that should be settled and were not done: some workspace has
// clicks on them, and no settlement of as many. They are of one month, as the parts of
// tables are.
func (s *Settler) next(ctx context.Context, done map[uint32]bool) ([]uint32, error) {
	today := uint32(s.Now().Add(-grace).Unix() / secondsOfDay)
	rows, err := s.conn.Query(ctx, pending, clickhouse.Named("today", today))
	if err != nil {
		return nil, fmt.Errorf("looking for days to settle: %w", clickhouseconn.WithoutURL(err))
	}
	defer func() { _ = rows.Close() }() // its errors come from rows.Err
	var (
		found []uint32
		tried []attempt
		sum   uint64
		alone bool // what was tried before takes nobody with it
	)
	for full := false; rows.Next(); {
		var a attempt
		if err := rows.Scan(&a.day, &a.clicks); err != nil {
			return nil, fmt.Errorf("looking for days to settle: %w", err)
		}
		// Clicks that are kept for a shorter time than sums cannot be settled any more.
		if full || done[a.day] || s.tries[a] >= maxTries {
			continue
		}
		if len(found) > 0 && (alone || s.tries[a] > 0 || sum+a.clicks > batchClicks || month(a.day) != month(found[0])) {
			full = true
			continue
		}
		alone = s.tries[a] > 0
		found, tried, sum = append(found, a.day), append(tried, a), sum+a.clicks
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("looking for days to settle: %w", clickhouseconn.WithoutURL(err))
	}
	for _, a := range tried {
		s.tries[a]++
	}
	return found, nil
}

func dateOf(day uint32) time.Time { return time.Unix(int64(day)*secondsOfDay, 0).UTC() }

func month(day uint32) string { return dateOf(day).Format("2006-01") }

// retire removes the hours of dimensions' values of months that nobody asks for them any
// more and that are settled: they were most of what a click took on disk. A cluster's
// tables are left alone: there it is for whoever runs it.
func (s *Settler) retire(ctx context.Context) error {
	rows, err := s.conn.Query(ctx, retired, clickhouse.Named("oldest", uint32(s.Now().Unix()/secondsOfDay-hoursKept)))
	if err != nil {
		return fmt.Errorf("looking for hours to remove: %w", clickhouseconn.WithoutURL(err))
	}
	defer func() { _ = rows.Close() }() // its errors come from rows.Err
	var months []string
	for rows.Next() {
		var month uint32
		if err := rows.Scan(&month); err != nil {
			return fmt.Errorf("looking for hours to remove: %w", err)
		}
		months = append(months, strconv.FormatUint(uint64(month), 10))
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("looking for hours to remove: %w", clickhouseconn.WithoutURL(err))
	}
	for _, month := range months {
		if err := s.conn.Exec(ctx, "ALTER TABLE clicks_by_value DROP PARTITION "+month); err != nil {
			return fmt.Errorf("removing the hours of %s: %w", month, clickhouseconn.WithoutURL(err))
		}
	}
	return nil
}

// settle writes the numbers of days, and then the marks.
func (s *Settler) settle(ctx context.Context, days []uint32) error {
	if slices.ContainsFunc(days, func(day uint32) bool { return s.used[day] }) {
		s.renew()
	}
	for _, day := range days {
		s.used[day] = true
	}
	for _, statement := range []string{totals, values(), marks} {
		if err := s.exec(ctx, statement, days); err != nil {
			return fmt.Errorf("settling %d days from %s: %w", len(days), dateOf(slices.Min(days)).Format(time.DateOnly), clickhouseconn.WithoutURL(err))
		}
	}
	return nil
}

func (s *Settler) exec(ctx context.Context, statement string, days []uint32) error {
	ctx, cancel := context.WithTimeout(ctx, batchLimit)
	defer cancel()
	return s.conn.Exec(clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{
		"max_threads":                   1,
		"priority":                      10, // whoever asks goes first
		"max_memory_usage":              maxMemory,
		"async_insert":                  0,
		"distributed_foreground_insert": 1, // on a cluster: the numbers are everywhere before the marks

		"max_bytes_before_external_group_by": spillFrom,
	})), statement, clickhouse.Named("days", days), clickhouse.Named("first", slices.Min(days)), clickhouse.Named("last", slices.Max(days)),
		clickhouse.Named("settlement", s.id), clickhouse.Named("detailed", uint32(s.DetailedFrom)))
}
