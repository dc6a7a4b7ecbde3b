package query

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
)

// known is what is known of a workspace's days: those that have clicks, by their number,
// with the settlement whose numbers hold for the day, or 0.
type known struct {
	first, end int64 // the days that were asked about
	days       map[int64]uint64
}

// know finds out which days of the question, and of the period before, are settled.
func (c *ClickHouse) know(ctx context.Context, q *Question, by Dimension) error {
	q.oldest = c.now().Unix()/secondsOfDay - HoursKept
	t := q.settled(by)
	if t == nil {
		q.known = nil
		return nil
	}
	k := &known{first: q.Period.From.Unix() / secondsOfDay, end: ceilDiv(q.Period.To.Unix(), secondsOfDay), days: map[int64]uint64{}}
	if q.known != nil && !t.details && q.known.first <= k.first && q.known.end >= k.end {
		return nil // it is that of a question about the period after
	}
	if !t.details {
		k.first = max(q.Period.Previous().From.Unix()/secondsOfDay, 0)
	}
	key := knownKey{workspace: q.Workspace, first: k.first, end: k.end}
	if t.details {
		key.scope, key.name = t.scope, t.name
	}
	s := &sql{}
	q.writeKnown(s, t, k)
	var err error
	q.known, err = c.lately.get(ctx, key, func(ctx context.Context) (*known, error) {
		return k, c.each(ctx, s, func(rows driver.Rows) error {
			var (
				day        uint32
				settlement uint64
			)
			if err := rows.Scan(&day, &settlement); err != nil {
				return err
			}
			k.days[int64(day)] = settlement
			return nil
		})
	})
	return err
}

// knownFor is how long the answer is good for further questions: a page asks a dozen at
// once. Clicks that come late to a day that is settled are counted so much later.
const knownFor = time.Second

// lately keeps what is known for a moment. It is safe for concurrent use.
type lately struct {
	life    time.Duration
	running sync.WaitGroup
	mu      sync.Mutex
	asked   map[knownKey]*asked // also what is under way
}

// knownKey is what was asked about: days, and for a table that leaves small days out its
// scope.
type knownKey struct {
	workspace  uuid.UUID
	first, end int64
	scope      Dimension
	name       string
}

type asked struct {
	began   time.Time
	done    chan struct{} // closed when known and err are set
	known   *known
	err     error
	renewed bool // it is asked for again
}

// get returns what was asked for within the last moment, or asks. Whoever asks does so for
// those who come meanwhile as well, and it goes on when nobody waits any more. An error is
// that of those who waited for it, and of no other. What is half as old as it may get is
// asked for again behind the back of whoever finds it so.
func (l *lately) get(ctx context.Context, key knownKey, ask func(ctx context.Context) (*known, error)) (*known, error) {
	l.mu.Lock()
	now := time.Now()
	for k, a := range l.asked {
		if now.Sub(a.began) >= l.life {
			delete(l.asked, k)
		}
	}
	a := l.asked[key]
	switch {
	case a == nil:
		a = l.begin(ctx, key, now, ask)
		l.asked[key] = a
	case now.Sub(a.began) >= l.life/2 && !a.renewed:
		a.renewed = true
		l.begin(ctx, key, now, ask)
	}
	l.mu.Unlock()
	select {
	case <-a.done:
		return a.known, a.err
	case <-ctx.Done():
		return nil, translate(ctx.Err())
	}
}

// begin asks. It ends within queryTimeout.
func (l *lately) begin(ctx context.Context, key knownKey, now time.Time, ask func(ctx context.Context) (*known, error)) *asked {
	a := &asked{began: now, done: make(chan struct{})}
	l.running.Go(func() {
		defer close(a.done)
		a.known, a.err = ask(context.WithoutCancel(ctx))
		l.mu.Lock()
		defer l.mu.Unlock()
		switch {
		case a.err == nil:
			l.asked[key] = a
		case l.asked[key] == a:
			delete(l.asked, key)
		}
	})
	return a
}

// writeKnown selects the days that have clicks, with the settlement that is of as many.
func (q *Question) writeKnown(s *sql, t *settled, k *known) {
	s.bind("workspace", q.Workspace.String())
	s.bind("known_first", uint32(k.first))
	s.bind("known_end", uint32(k.end))
	const days = " WHERE workspace_id = {workspace:UUID} AND day >= toDate({known_first:UInt32}) AND day < toDate({known_end:UInt32})"
	s.write("SELECT toUInt32(day), best FROM (SELECT toDate(hour) AS day, sum(clicks) AS n FROM clicks_by_link WHERE workspace_id = {workspace:UUID} AND link_id = '", noLink,
		"' AND toDate(hour) >= toDate({known_first:UInt32}) AND toDate(hour) < toDate({known_end:UInt32}) GROUP BY day) AS counted LEFT JOIN (SELECT day, clicks AS n, max(settlement) AS best FROM clicks_settled_days", days)
	if t.details {
		s.write(" AND (day, settlement) NOT IN (SELECT day, settlement FROM clicks_settled", days, " AND scope = ", s.value("String", string(t.scope)), " AND name = ", s.value("String", t.name), " AND NOT detailed)")
	}
	s.write(" GROUP BY day, n) AS settled USING (day, n)")
}

func (k *known) inOrder() []int64 {
	out := make([]int64, 0, len(k.days))
	for day := range k.days {
		out = append(out, day)
	}
	slices.Sort(out)
	return out
}

// wholly says that every day with clicks of the month that the days are of is settled
// as they are.
func (k *known) wholly(days []uint32, settlement uint64) bool {
	first := time.Unix(int64(days[0])*secondsOfDay, 0).UTC()
	begin := time.Date(first.Year(), first.Month(), 1, 0, 0, 0, 0, time.UTC)
	for day := begin.Unix() / secondsOfDay; day < begin.AddDate(0, 1, 0).Unix()/secondsOfDay; day++ {
		if s, ok := k.days[day]; ok && s != settlement {
			return false
		}
	}
	return true
}

// unsettled is how many of the question's days are not settled.
func (q *Question) unsettled() int {
	n := 0
	for day, settlement := range q.known.days {
		if settlement == 0 && (day+1)*secondsOfDay > q.Period.From.Unix() && day*secondsOfDay < q.Period.To.Unix() {
			n++
		}
	}
	return n
}
