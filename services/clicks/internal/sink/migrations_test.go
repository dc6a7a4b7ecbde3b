package sink

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/linkstream/linkstream/migrations"
	"github.com/linkstream/linkstream/services/internal/clickhousetest"
)

// What a cluster would be told is at least well formed, and names no table that holds
// a shard's rows without saying so.
func TestStatementsForAClusterParse(t *testing.T) {
	ch := newClickHouse(t)
	single, err := migrations.RenderClickHouse("")
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := migrations.RenderClickHouse("main")
	if err != nil {
		t.Fatal(err)
	}
	// Each table that is spread needs a second statement, and so does changing it.
	if len(cluster) < len(single)+5 {
		t.Errorf("%d statements for a cluster, %d for a server", len(cluster), len(single))
	}
	for _, statement := range append(single, cluster...) {
		if err := ch.conn.Exec(t.Context(), "EXPLAIN AST "+statement); err != nil {
			t.Errorf("%v:\n%s", err, statement)
		}
	}
	for _, statement := range cluster {
		insert := strings.HasPrefix(statement, "INSERT")
		if !insert && !strings.Contains(statement, " ON CLUSTER 'main'") {
			t.Errorf("runs on one node only:\n%s", statement)
		}
		if strings.Contains(statement, "= MergeTree") || strings.Contains(statement, "= AggregatingMergeTree") || strings.Contains(statement, "non_replicated") {
			t.Errorf("is not replicated:\n%s", statement)
		}
	}
}

func TestRetentionIsASetting(t *testing.T) {
	options, err := clickhouse.ParseDSN(clickhousetest.New(t))
	if err != nil {
		t.Fatal(err)
	}
	db := clickhouse.OpenDB(options)
	defer func() { _ = db.Close() }()
	migrate := func(days int, want string) {
		t.Helper()
		applied, err := migrations.ClickHouseWith(t.Context(), db, migrations.ClickHouseSettings{ClickDays: &days})
		if got := strings.Join(applied, ", "); err != nil || got != want {
			t.Errorf("%d days: %q, %v; want %q", days, got, err, want)
		}
	}
	ttl := func(want bool) {
		t.Helper()
		if got := hasTTL(t, db); got != want {
			t.Errorf("has a TTL: %v, want %v", got, want)
		}
	}
	migrate(0, "")
	ttl(false)
	migrate(400, "retention of clicks: 400 days")
	migrate(400, "")
	ttl(true)
	if _, err := migrations.ClickHouse(t.Context(), db); err != nil { // nothing said: as it was
		t.Fatal(err)
	}
	ttl(true)
	migrate(30, "retention of clicks: 30 days")
	migrate(0, "retention of clicks: 0 days")
	ttl(false)
}

func hasTTL(t *testing.T, db *sql.DB) bool {
	t.Helper()
	var engine string
	if err := db.QueryRowContext(t.Context(), "SELECT engine_full FROM system.tables WHERE database = currentDatabase() AND name = 'clicks'").Scan(&engine); err != nil {
		t.Fatal(err)
	}
	return strings.Contains(engine, " TTL ")
}
