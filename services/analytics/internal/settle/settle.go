// Package settle writes down days that are over.
//
// It promises that a day's numbers are those of its clicks, to the unit: a settlement is
// marked as whole only after everything was written, with the number of clicks that it is of,
// and readers take it only as long as the day has as many. A day to which clicks come late is settled again.
// Any number of processes may do it at once: each settlement has an id of its own. It refuses to hurry:
// one thread, one day after the other, the newest first.
package settle

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"log/slog"
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
	// dayLimit is for one statement. A day of a hundred million clicks a year takes seconds.
	dayLimit = 10 * time.Minute
	// DetailedFrom is from how many clicks a day a link, a domain or a campaign is written
	// down by the values of each dimension. A year of one with fewer is some 300,000 clicks,
	// which are quick to ask.
	DetailedFrom = 1000
	// hoursKept is longer than query.HoursKept, so that no question under way misses them.
	hoursKept = 100
	// maxMemory is for one statement, in bytes. A guess.
	maxMemory = 4 << 30
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
// day to which clicks still come waits for the next pass. It asks again before each
// day, because another process may have been there.
func (s *Settler) Pass(ctx context.Context) error {
	done := map[uint32]bool{}
	for {
		day, found, err := s.next(ctx, done)
		if err != nil {
			return err
		}
		if !found {
			return s.retire(ctx)
		}
		done[day] = true
		if err := s.settle(ctx, day); err != nil {
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

// next is the newest day that should be settled and was not done: some workspace has clicks
// on it, and no settlement of as many.
func (s *Settler) next(ctx context.Context, done map[uint32]bool) (uint32, bool, error) {
	today := uint32(s.Now().Add(-grace).Unix() / secondsOfDay)
	rows, err := s.conn.Query(ctx, pending, clickhouse.Named("today", today))
	if err != nil {
		return 0, false, fmt.Errorf("looking for days to settle: %w", clickhouseconn.WithoutURL(err))
	}
	defer func() { _ = rows.Close() }() // its errors come from rows.Err
	var found *attempt
	for rows.Next() {
		var a attempt
		if err := rows.Scan(&a.day, &a.clicks); err != nil {
			return 0, false, fmt.Errorf("looking for days to settle: %w", err)
		}
		// Clicks that are kept for a shorter time than sums cannot be settled any more.
		if found == nil && !done[a.day] && s.tries[a] < maxTries {
			found = &a
		}
	}
	if err := rows.Err(); err != nil {
		return 0, false, fmt.Errorf("looking for days to settle: %w", clickhouseconn.WithoutURL(err))
	}
	if found == nil {
		return 0, false, nil
	}
	s.tries[*found]++
	return found.day, true, nil
}

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

// settle writes a day's numbers, and then the marks.
func (s *Settler) settle(ctx context.Context, day uint32) error {
	if s.used[day] {
		s.renew()
	}
	s.used[day] = true
	for _, statement := range []string{totals, values(), marks} {
		if err := s.exec(ctx, statement, day); err != nil {
			return fmt.Errorf("settling %s: %w", time.Unix(int64(day)*secondsOfDay, 0).UTC().Format(time.DateOnly), clickhouseconn.WithoutURL(err))
		}
	}
	return nil
}

func (s *Settler) exec(ctx context.Context, statement string, day uint32) error {
	ctx, cancel := context.WithTimeout(ctx, dayLimit)
	defer cancel()
	return s.conn.Exec(clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{
		"max_threads":                   1,
		"priority":                      10, // whoever asks goes first
		"max_memory_usage":              maxMemory,
		"async_insert":                  0,
		"distributed_foreground_insert": 1, // on a cluster: the numbers are everywhere before the marks
	})), statement, clickhouse.Named("day", day), clickhouse.Named("settlement", s.id), clickhouse.Named("detailed", uint32(s.DetailedFrom)))
}
