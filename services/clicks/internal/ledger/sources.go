package ledger

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/services/internal/clickhouseconn"
)

// Sources are where the accounts are kept.
type Sources struct {
	Brokers     []string
	TopicPrefix string
	Group       string
	ClickHouse  driver.Conn
	Edges       map[string]string // admin address by the edge's name
}

// Read takes all accounts, the edges' first: what arrives meanwhile is then too
// much at worst, never missing.
func (s Sources) Read(ctx context.Context) (Ledger, error) {
	var l Ledger
	for _, name := range slices.Sorted(maps.Keys(s.Edges)) {
		edge, err := s.edge(ctx, name, s.Edges[name])
		if err != nil {
			return l, fmt.Errorf("asking the edge %s: %w", name, err)
		}
		l.Edges = append(l.Edges, edge)
	}
	if err := s.topic(ctx, &l.Topic); err != nil {
		return l, fmt.Errorf("reading the topics: %w", err)
	}
	if err := s.store(ctx, &l); err != nil {
		return l, fmt.Errorf("asking ClickHouse: %w", clickhouseconn.WithoutURL(err))
	}
	return l, nil
}

func (s Sources) edge(ctx context.Context, name, admin string) (Edge, error) {
	e := Edge{Name: name}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+admin+"/metrics", http.NoBody)
	if err != nil {
		return e, fmt.Errorf("building the request: %w", err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return e, fmt.Errorf("getting its metrics: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		return e, fmt.Errorf("getting its metrics: status %d: %w", answer.StatusCode, err)
	}
	started, found := sum(string(text), "process_start_time_seconds")
	accepted, counted := sum(string(text), "clicks_accepted_total")
	if !found || !counted {
		return e, errors.New("its metrics lack process_start_time_seconds or clicks_accepted_total")
	}
	dropped, _ := sum(string(text), "clicks_dropped_total")
	waiting, _ := sum(string(text), "clicks_journal_clicks")
	e.Accepted, e.Dropped, e.Waiting = int64(accepted), int64(dropped), int64(waiting)
	if _, journal := sum(string(text), "clicks_journal_bytes"); !journal {
		e.Since = time.UnixMilli(int64(started * 1000))
	}
	return e, nil
}

// sum adds a metric's samples up, whatever their labels.
func sum(text, name string) (total float64, found bool) {
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), name)
		if !ok || rest == "" || rest[0] != ' ' && rest[0] != '{' {
			continue
		}
		value, err := strconv.ParseFloat(rest[strings.LastIndexByte(rest, ' ')+1:], 64)
		if err != nil {
			continue
		}
		total, found = total+value, true
	}
	return total, found
}

func (s Sources) store(ctx context.Context, l *Ledger) error {
	var rows, clicks uint64
	if err := s.ClickHouse.QueryRow(ctx, "SELECT count(), uniqExact(click_id) FROM clicks").Scan(&rows, &clicks); err != nil {
		return err
	}
	l.Store = Store{Rows: int64(rows), Duplicates: int64(rows - clicks), Rollups: map[string]int64{}}
	for name, query := range map[string]string{
		"clicks_by_link": "SELECT sum(clicks) FROM clicks_by_link WHERE link_id = '00000000-0000-0000-0000-000000000000'",
		// Of months whose hours were removed, what is written down of their days.
		"clicks_by_value": `SELECT sum(n) FROM (
			SELECT toYYYYMM(hour) AS month, sum(clicks) AS n FROM clicks_by_value WHERE dimension = 'country' GROUP BY month
			UNION ALL
			SELECT toYYYYMM(day) AS month, sum(n) FROM (SELECT workspace_id, day, max(clicks) AS n FROM clicks_settled_days GROUP BY workspace_id, day)
			WHERE month NOT IN (SELECT toYYYYMM(hour) FROM clicks_by_value WHERE dimension = 'country') AND day < today() - 92 GROUP BY month)`,
	} {
		var held uint64
		if err := s.ClickHouse.QueryRow(ctx, query).Scan(&held); err != nil {
			return err
		}
		l.Store.Rollups[name] = int64(held)
	}
	var expiring uint64
	if err := s.ClickHouse.QueryRow(ctx, `SELECT count() FROM system.tables WHERE database = currentDatabase()
		AND name IN ('clicks', 'clicks_local') AND engine_full LIKE '% TTL %'`).Scan(&expiring); err != nil {
		return err
	}
	l.Store.Expires = expiring > 0
	for i := range l.Edges {
		e := &l.Edges[i]
		since := int64(0)
		if !e.Since.IsZero() {
			since = e.Since.UnixMilli()
		}
		var rows uint64
		if err := s.ClickHouse.QueryRow(ctx, "SELECT count() FROM clicks WHERE edge = {edge:String} AND ts >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')",
			clickhouse.Named("edge", e.Name), clickhouse.Named("since", since)).Scan(&rows); err != nil {
			return err
		}
		e.Rows = int64(rows)
	}
	return nil
}

// silence ends the reading of a topic: its last offsets may be those of aborted
// transactions, of which a reader never hears.
const silence = 2 * time.Second

func (s Sources) topic(ctx context.Context, t *Topic) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(s.Brokers...))
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	clicks, dead := events.Clicks.Name(s.TopicPrefix), events.DeadClicks.Name(s.TopicPrefix)
	starts, err := admin.ListStartOffsets(ctx, clicks)
	if err != nil {
		return fmt.Errorf("asking for the first offsets: %w", err)
	}
	t.Whole = true
	starts.Each(func(o kadm.ListedOffset) { t.Whole = t.Whole && o.Err == nil && o.Offset == 0 })
	committed, err := admin.FetchOffsets(ctx, s.Group)
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) { // nobody has ever ingested
		return fmt.Errorf("asking for the group's offsets: %w", err)
	}
	if err := s.read(ctx, clicks, func(r *kgo.Record) {
		t.Records++
		if at, ok := committed.Lookup(clicks, r.Partition); !ok || r.Offset >= at.At {
			t.Pending++
		}
	}); err != nil {
		return err
	}
	// A dead record may have been written twice.
	seen := map[string]bool{}
	return s.read(ctx, dead, func(r *kgo.Record) {
		source := map[string]string{}
		for _, h := range r.Headers {
			source[h.Key] = string(h.Value)
		}
		if source["source_partition"] == "" || source["source_offset"] == "" {
			t.Malformed++
			return
		}
		if key := source["source_partition"] + "/" + source["source_offset"]; !seen[key] {
			seen[key] = true
			t.Dead++
		}
	})
}

// read calls each for every committed record of a topic.
func (s Sources) read(ctx context.Context, topic string, each func(*kgo.Record)) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(s.Brokers...), kgo.ConsumeTopics(topic), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	defer client.Close()
	ends, err := kadm.NewClient(client).ListCommittedOffsets(ctx, topic)
	if err != nil {
		return fmt.Errorf("asking for the last offsets of %s: %w", topic, err)
	}
	left := map[int32]int64{}
	ends.Each(func(o kadm.ListedOffset) {
		if o.Offset > 0 {
			left[o.Partition] = o.Offset
		}
	})
	for len(left) > 0 {
		poll, cancel := context.WithTimeout(ctx, silence)
		fetches := client.PollFetches(poll)
		cancel()
		if ctx.Err() != nil {
			return fmt.Errorf("reading %s: %w", topic, ctx.Err())
		}
		if fetches.NumRecords() == 0 {
			return nil // what is left are the broker's own records
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if end, ok := left[r.Partition]; ok && r.Offset < end {
				each(r)
			}
			if r.Offset >= left[r.Partition]-1 {
				delete(left, r.Partition)
			}
		})
	}
	return nil
}
