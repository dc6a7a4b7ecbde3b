package chhttp_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"
	"github.com/pressly/goose/v3"
)

type sample struct {
	ID     uuid.UUID
	At     time.Time
	Lang   string
	Note   *string
	Tags   []string
	Counts map[string]uint64
	Raw    []byte
	Amount int64
	Ok     bool
}

func TestTypesComeBackAsTheyWent(t *testing.T) {
	addr, database := start(t)
	for name, change := range map[string]func(*clickhouse.Options){
		"plain": nil,
		"lz4": func(o *clickhouse.Options) {
			o.Compression = &clickhouse.Compression{Method: clickhouse.CompressionLZ4}
		},
		"zstd": func(o *clickhouse.Options) {
			o.Compression = &clickhouse.Compression{Method: clickhouse.CompressionZSTD}
		},
		"gzip": func(o *clickhouse.Options) {
			o.Compression = &clickhouse.Compression{Method: clickhouse.CompressionGZIP, Level: 1}
		},
	} {
		t.Run(name, func(t *testing.T) {
			conn := open(t, addr, database, change)
			must(t, conn.Exec(t.Context(), `CREATE TABLE types_`+name+` (
				id UUID, at DateTime64(6, 'UTC'), lang LowCardinality(String), note Nullable(String), tags Array(String),
				counts Map(LowCardinality(String), UInt64), raw String, amount Int64, ok Bool
			) ENGINE = MergeTree ORDER BY id`))

			note := "a\nb\t'c'\\"
			want := []sample{{
				ID: uuid.New(), At: time.Date(2026, 11, 30, 23, 59, 59, 123456000, time.UTC), Lang: "de", Note: &note,
				Tags: []string{"x", "", "ü"}, Counts: map[string]uint64{"a": 1, "b": 1 << 63}, Raw: everyByte(), Amount: -5, Ok: true,
			}, {
				ID: uuid.New(), At: time.Unix(0, 0).UTC(), Lang: "", Tags: []string{}, Counts: map[string]uint64{}, Raw: []byte{},
			}}
			batch, err := conn.PrepareBatch(t.Context(), "INSERT INTO types_"+name)
			must(t, err)
			defer func() { _ = batch.Close() }()
			for _, s := range want {
				must(t, batch.Append(s.ID, s.At, s.Lang, s.Note, s.Tags, s.Counts, s.Raw, s.Amount, s.Ok))
			}
			must(t, batch.Send())

			rows, err := conn.Query(t.Context(), "SELECT * FROM types_"+name+" ORDER BY amount")
			must(t, err)
			defer func() { _ = rows.Close() }()
			var got []sample
			for rows.Next() {
				var s sample
				must(t, rows.Scan(&s.ID, &s.At, &s.Lang, &s.Note, &s.Tags, &s.Counts, &s.Raw, &s.Amount, &s.Ok))
				got = append(got, s)
			}
			must(t, rows.Err())
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func everyByte() []byte {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	return bytes.Repeat(all, 3)
}

func TestManyRowsOfManyBlocksArrive(t *testing.T) {
	addr, database := start(t)
	conn := open(t, addr, database, nil)
	const n = 300_000
	must(t, conn.Exec(t.Context(), "CREATE TABLE many (n UInt64, s String) ENGINE = MergeTree ORDER BY n"))
	batch, err := conn.PrepareBatch(t.Context(), "INSERT INTO many")
	must(t, err)
	defer func() { _ = batch.Close() }()
	numbers, texts := make([]uint64, n), make([]string, n)
	for i := range numbers {
		numbers[i], texts[i] = uint64(i), fmt.Sprint("row ", i)
	}
	must(t, batch.Column(0).Append(numbers))
	must(t, batch.Column(1).Append(texts))
	must(t, batch.Send())

	rows, err := conn.Query(t.Context(), "SELECT n, s FROM many ORDER BY n")
	must(t, err)
	defer func() { _ = rows.Close() }()
	var next, number uint64
	var text string
	for ; rows.Next(); next++ {
		must(t, rows.Scan(&number, &text))
		if number != next || text != texts[next] {
			t.Fatalf("row %d is %d %q", next, number, text)
		}
	}
	must(t, rows.Err())
	if next != n {
		t.Errorf("%d rows came back, want %d", next, n)
	}
}

func TestErrorsCarryTheServersCode(t *testing.T) {
	addr, database := start(t)
	conn := open(t, addr, database, nil)
	must(t, conn.Exec(t.Context(), "CREATE TABLE numbers (n UInt8) ENGINE = Memory"))
	check := func(what string, err error, code int32, text string) {
		t.Helper()
		var exception *clickhouse.Exception
		if !errors.As(err, &exception) || exception.Code != code || !strings.Contains(exception.Message, text) {
			t.Errorf("%s: got %v, want code %d with %q", what, err, code, text)
		}
	}
	check("unknown table", conn.Exec(t.Context(), "SELECT * FROM nowhere"), 60, "nowhere")
	check("syntax", conn.Exec(t.Context(), "SELEC 1"), 62, "Syntax error")
	check("bad value", conn.Exec(t.Context(), "INSERT INTO numbers VALUES ('x')"), 6, "")
	check("exists", conn.Exec(t.Context(), "CREATE TABLE numbers (n UInt8) ENGINE = Memory"), 57, "already exists")
	check("unknown setting", conn.Exec(clickhouse.Context(t.Context(), clickhouse.WithSettings(clickhouse.Settings{"no_such": 1})), "SELECT 1"), 115, "no_such")
	other := open(t, addr, "no_such_database", nil)
	check("unknown database", other.Ping(t.Context()), 81, "no_such_database")
	check("missing parameter", conn.Exec(t.Context(), "SELECT {x:UInt8}"), 456, "x")
	must(t, conn.Exec(t.Context(), "INSERT INTO numbers VALUES (1)")) // and the next request works
}

func TestParametersAreBound(t *testing.T) {
	addr, database := start(t)
	conn := open(t, addr, database, nil)
	check := func(value string) {
		t.Helper()
		var bound, inlined string
		must(t, conn.QueryRow(t.Context(), "SELECT {v:String}", clickhouse.Named("v", value)).Scan(&bound))
		must(t, conn.QueryRow(t.Context(), "SELECT ?", value).Scan(&inlined))
		if bound != value || inlined != value {
			t.Errorf("%q came back as %q and %q", value, bound, inlined)
		}
	}
	check("plain")
	check("")
	check("it's \"quoted\" `and` \\escaped\\")
	check("'; DROP TABLE x; --")
	check("line\nend\ttab")
	check("über 🚀")
	var database2 string
	must(t, conn.QueryRow(t.Context(), "SELECT name FROM system.databases WHERE name = {name:String}", clickhouse.Named("name", database)).Scan(&database2))
	if database2 != database {
		t.Errorf("got %q", database2)
	}
}

func TestNothingLeaksIntoTheNextRequest(t *testing.T) {
	addr, database := start(t)
	conn := open(t, addr, database, nil)
	read := func(ctx context.Context, sql string) string {
		t.Helper()
		var value string
		must(t, conn.QueryRow(ctx, sql).Scan(&value))
		return value
	}
	const threads = "SELECT toString(getSetting('max_threads'))"
	before := read(t.Context(), threads)
	with := clickhouse.Context(t.Context(), clickhouse.WithSettings(clickhouse.Settings{"max_threads": 3}))
	if got := read(with, threads); got != "3" {
		t.Errorf("max_threads is %s under the setting", got)
	}
	if got := read(t.Context(), threads); got != before {
		t.Errorf("max_threads is %s in the next request, was %s", got, before)
	}
	must(t, conn.Exec(t.Context(), "SET max_threads = 5"))
	must(t, conn.Exec(t.Context(), "USE system"))
	if got := read(t.Context(), threads); got != before {
		t.Errorf("max_threads is %s after a SET in an earlier request", got)
	}
	if got := read(t.Context(), "SELECT currentDatabase()"); got != database {
		t.Errorf("database is %s after a USE in an earlier request", got)
	}
	if err := conn.QueryRow(clickhouse.Context(t.Context(), clickhouse.WithParameters(clickhouse.Parameters{"p": "1"})), "SELECT {p:String}").Err(); err != nil {
		t.Error(err)
	}
	if err := conn.QueryRow(t.Context(), "SELECT {p:String}").Err(); err == nil {
		t.Error("a parameter of the last request is still there")
	}
}

func TestRequestsRunSideBySide(t *testing.T) {
	addr, database := start(t)
	conn := open(t, addr, database, func(o *clickhouse.Options) { o.MaxOpenConns, o.MaxIdleConns = 16, 16 })
	must(t, conn.Exec(t.Context(), "CREATE TABLE shared (worker UInt32, n UInt32) ENGINE = MergeTree ORDER BY (worker, n)"))
	const workers, rounds = 12, 10
	var all sync.WaitGroup
	for worker := range workers {
		all.Go(func() {
			for n := range rounds {
				batch, err := conn.PrepareBatch(t.Context(), "INSERT INTO shared")
				if err == nil {
					err = batch.Append(uint32(worker), uint32(n))
				}
				if err == nil {
					err = batch.Send()
				}
				var count uint64
				if err == nil {
					err = conn.QueryRow(t.Context(), "SELECT count() FROM shared WHERE worker = ?", worker).Scan(&count)
				}
				if err != nil || count != uint64(n+1) {
					t.Errorf("worker %d, round %d: %d rows, %v", worker, n, count, err)
					return
				}
			}
		})
	}
	all.Wait()
}

func TestRepeatedTokenInsertsNothing(t *testing.T) {
	addr, database := start(t)
	conn := open(t, addr, database, nil)
	for _, statement := range []string{
		`CREATE TABLE base (k String, n UInt64) ENGINE = MergeTree ORDER BY k SETTINGS non_replicated_deduplication_window = 1000`,
		`CREATE TABLE rollup (k String, total SimpleAggregateFunction(sum, UInt64)) ENGINE = AggregatingMergeTree ORDER BY k
			SETTINGS non_replicated_deduplication_window = 1000`,
		`CREATE MATERIALIZED VIEW to_rollup TO rollup AS SELECT k, sum(n) AS total FROM base GROUP BY k`,
	} {
		must(t, conn.Exec(t.Context(), statement))
	}
	insert := func(token string) {
		t.Helper()
		ctx := clickhouse.Context(t.Context(), clickhouse.WithSettings(clickhouse.Settings{
			"insert_deduplication_token":                         token,
			"deduplicate_blocks_in_dependent_materialized_views": 1,
		}))
		batch, err := conn.PrepareBatch(ctx, "INSERT INTO base (k, n)")
		must(t, err)
		defer func() { _ = batch.Close() }()
		must(t, batch.Append("a", uint64(1)))
		must(t, batch.Append("b", uint64(10)))
		must(t, batch.Send())
	}
	check := func(wantRows, wantTotal uint64) {
		t.Helper()
		var rows, total uint64
		must(t, conn.QueryRow(t.Context(), "SELECT count() FROM base").Scan(&rows))
		must(t, conn.QueryRow(t.Context(), "SELECT sum(total) FROM rollup").Scan(&total))
		if rows != wantRows || total != wantTotal {
			t.Errorf("%d rows, rollup %d; want %d and %d", rows, total, wantRows, wantTotal)
		}
	}
	insert("clicks-0-1-2")
	check(2, 11)
	insert("clicks-0-1-2")
	insert("clicks-0-1-2")
	check(2, 11)
	insert("clicks-0-3-4") // the same rows under another token are other rows
	check(4, 22)
}

func TestCancelledQueryStops(t *testing.T) {
	addr, database := start(t)
	conn := open(t, addr, database, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	const slow = "SELECT sum(sleepEachRow(0.01)) AS cancel_me FROM numbers(1000000) SETTINGS max_block_size = 1, function_sleep_max_microseconds_per_block = 0"
	if err := conn.QueryRow(ctx, slow).Err(); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v, want the deadline", err)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(10 * time.Second); ; <-tick.C {
		var running uint64
		must(t, conn.QueryRow(t.Context(), "SELECT count() FROM system.processes WHERE query LIKE '%AS cancel_me%' AND query NOT LIKE '%processes%'").Scan(&running))
		if running == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the query still runs")
		}
	}
}

// A writer that is gone (killed, or out of patience) does not stop its insert between the table and those of views.
func TestAnInsertGoesOnWithoutItsClient(t *testing.T) {
	addr, database := start(t)
	conn := open(t, addr, database, nil)
	must(t, conn.Exec(t.Context(), "CREATE TABLE events (n UInt64) ENGINE = MergeTree ORDER BY n"))
	must(t, conn.Exec(t.Context(), "CREATE TABLE sums (n UInt64) ENGINE = MergeTree ORDER BY n"))
	must(t, conn.Exec(t.Context(), "CREATE MATERIALIZED VIEW sums_view TO sums AS SELECT n + sleepEachRow(0.5) AS n FROM events"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	batch, err := conn.PrepareBatch(ctx, "INSERT INTO events")
	must(t, err)
	defer func() { _ = batch.Close() }()
	must(t, batch.Append(uint64(1)))
	must(t, batch.Append(uint64(2)))
	ended := make(chan error, 1)
	go func() { ended <- batch.Send() }()
	count := func(query string) (n uint64) {
		must(t, conn.QueryRow(t.Context(), query).Scan(&n))
		return n
	}
	eventually(t, "the insert runs", func() bool { return count("SELECT count() FROM events") == 2 })
	if n := count("SELECT count() FROM sums"); n != 0 {
		t.Fatalf("the view has %d rows already: the insert cannot be left on its way", n)
	}
	cancel()
	if err := <-ended; err == nil {
		t.Fatal("the insert was not cancelled")
	}
	eventually(t, "the view's rows are there", func() bool { return count("SELECT count() FROM sums") == 2 })
}

// eventually polls until check says so.
func eventually(t *testing.T, what string, check func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(10 * time.Second); !check(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("not within ten seconds: %s", what)
		}
	}
}

func TestGooseMigrates(t *testing.T) {
	addr, database := start(t)
	db := clickhouse.OpenDB(&clickhouse.Options{
		Protocol: clickhouse.HTTP, Addr: []string{addr}, Auth: clickhouse.Auth{Database: database},
	})
	defer func() { _ = db.Close() }()
	files := fstest.MapFS{
		"00001_clicks.sql": {Data: []byte("-- +goose Up\nCREATE TABLE clicks (n UInt64) ENGINE = MergeTree ORDER BY n;\n")},
		"00002_rows.sql":   {Data: []byte("-- +goose Up\nINSERT INTO clicks VALUES (1), (2);\nALTER TABLE clicks ADD COLUMN s String DEFAULT 'x;y';\n")},
	}
	provider, err := goose.NewProvider(goose.DialectClickHouse, db, files)
	must(t, err)
	results, err := provider.Up(t.Context())
	if err != nil || len(results) != 2 {
		t.Fatalf("applied %v, %v", results, err)
	}
	results, err = provider.Up(t.Context())
	if err != nil || len(results) != 0 {
		t.Fatalf("applied again: %v, %v", results, err)
	}
	var count int
	var text string
	must(t, db.QueryRowContext(t.Context(), "SELECT count(), any(s) FROM clicks WHERE n > ?", 0).Scan(&count, &text))
	if count != 2 || text != "x;y" {
		t.Errorf("got %d rows, %q", count, text)
	}
}
