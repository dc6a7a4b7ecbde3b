package migrations

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strings"
	"time"

	"github.com/pressly/goose/v3"
)

// ClickHouseSettings say how the tables of clicks are to be.
type ClickHouseSettings struct {
	// Cluster is the name of a cluster of the server's configuration; "" is a single
	// server. On a cluster each table T is a replicated table T_local on every node, a
	// distributed table T in front of it spreads clicks over the shards by link, and the
	// macros {shard} and {replica} must be defined. A cluster is always migrated by the
	// same node: which files were applied is written down there alone.
	Cluster string
	// ClickDays and RollupDays are for how many days of their time clicks and rollups
	// are kept: 0 is for ever, nil as it was.
	ClickDays, RollupDays *int
}

// ClickHouse applies what is missing in the connection's database, a single
// server's, and returns the names of the files it applied. ClickHouse has no
// transactions and no session locks: a file holds one statement, and only one process
// may migrate.
func ClickHouse(ctx context.Context, db *sql.DB) ([]string, error) {
	return ClickHouseWith(ctx, db, ClickHouseSettings{})
}

// ClickHouseWith is ClickHouse with settings.
func ClickHouseWith(ctx context.Context, db *sql.DB, s ClickHouseSettings) ([]string, error) {
	applied, err := up(ctx, goose.DialectClickHouse, db, renderedFiles{clickhouseFiles, s.Cluster}, "clickhouse")
	if err := errors.Join(err, reload(ctx, db, s.Cluster, applied, err == nil)); err != nil {
		return applied, err
	}
	for _, t := range []struct {
		name, time string
		days       *int
	}{
		{"clicks", "toDateTime(ts)", s.ClickDays},
		{"clicks_by_link", "hour", s.RollupDays},
		{"clicks_by_value", "hour", s.RollupDays},
		{"clicks_settled_days", "day", s.RollupDays},
		{"clicks_settled", "day", s.RollupDays},
		{"clicks_settled_values", "day", s.RollupDays},
	} {
		if t.days == nil {
			continue
		}
		changed, err := retain(ctx, db, s.Cluster, t.name, t.time, *t.days)
		if err != nil {
			return applied, fmt.Errorf("setting how long %s is kept: %w", t.name, err)
		}
		if changed {
			applied = append(applied, fmt.Sprintf("retention of %s: %d days", t.name, *t.days))
		}
	}
	return applied, nil
}

// retain sets or removes a table's TTL, if it is another.
func retain(ctx context.Context, db *sql.DB, cluster, table, column string, days int) (bool, error) {
	on := ""
	if cluster != "" {
		table, on = table+localSuffix, onCluster(cluster)
	}
	var engine string
	if err := db.QueryRowContext(ctx, "SELECT engine_full FROM system.tables WHERE database = currentDatabase() AND name = ?", table).Scan(&engine); err != nil {
		return false, fmt.Errorf("asking for the table: %w", err)
	}
	has := strings.Contains(engine, " TTL ")
	wanted := fmt.Sprintf("%s + toIntervalDay(%d)", column, days)
	statement := "ALTER TABLE " + table + on + " MODIFY TTL " + wanted
	switch {
	case days == 0 && !has, days > 0 && strings.Contains(engine, " TTL "+wanted):
		return false, nil
	case days == 0:
		statement = "ALTER TABLE " + table + on + " REMOVE TTL"
	}
	if _, err := db.ExecContext(ctx, statement); err != nil {
		return false, fmt.Errorf("changing the table: %w", err)
	}
	return true, nil
}

// localSuffix is what a cluster's tables have that hold a shard's rows.
const localSuffix = "_local"

func onCluster(name string) string { return " ON CLUSTER '" + name + "'" }

var (
	createTable = regexp.MustCompile(`(?s)CREATE TABLE (\w+) \((.*)\) ENGINE = (\w*)(.*);`)
	createView  = regexp.MustCompile(`(?s)CREATE MATERIALIZED VIEW (\w+) TO (\w+) AS(.*)    FROM (\w+)\n(.*);`)
	alterTable  = regexp.MustCompile(`(?s)ALTER TABLE (\w+)\n(.*);`)
	alterView   = regexp.MustCompile(`(?s)ALTER TABLE (\w+) MODIFY QUERY\n(.*)    FROM (\w+)\n(.*);`)
	arguments   = regexp.MustCompile(`^\((\w+)\)`)
	addColumn   = regexp.MustCompile(`(?m)^    ADD COLUMN.*?([,;])$`)
)

// forCluster turns the statement of a file into those of a cluster. It knows the
// shapes that the files have and leaves others (INSERT) as they are. Each statement
// may run twice, since a file that was interrupted is run again.
func forCluster(text, cluster string) string {
	on := onCluster(cluster)
	if m := createTable.FindStringSubmatch(text); m != nil {
		name, columns, engine, rest := m[1], m[2], m[3], m[4]
		rest = strings.ReplaceAll(rest, "non_replicated_deduplication_window", "replicated_deduplication_window")
		if name == "visitor_keys" || name == "links" { // the same on all nodes
			more := ""
			if a := arguments.FindStringSubmatch(rest); a != nil {
				more, rest = ", "+a[1], strings.TrimPrefix(rest, a[0])
			}
			return replace(text, createTable, "CREATE TABLE IF NOT EXISTS "+name+on+" ("+columns+") ENGINE = Replicated"+engine+
				"('/clickhouse/tables/all/{database}/"+name+"', '{replica}'"+more+")"+rest+";")
		}
		if engine != "Null" {
			engine = "Replicated" + engine + "('/clickhouse/tables/{shard}/{database}/" + name + localSuffix + "', '{replica}')"
		}
		local := name + localSuffix
		shard := "cityHash64(link_id)"
		if !strings.Contains(columns, " link_id ") {
			shard = "rand()" // nothing is inserted through it
		}
		return replace(text, createTable, "CREATE TABLE IF NOT EXISTS "+local+on+" ("+columns+") ENGINE = "+engine+rest+";\n"+
			"CREATE TABLE IF NOT EXISTS "+name+on+" AS "+local+" ENGINE = Distributed('"+cluster+"', currentDatabase(), '"+local+"', "+shard+");")
	}
	if m := createView.FindStringSubmatch(text); m != nil {
		return replace(text, createView, "CREATE MATERIALIZED VIEW IF NOT EXISTS "+m[1]+on+" TO "+m[2]+localSuffix+" AS"+m[3]+"    FROM "+m[4]+localSuffix+"\n"+m[5]+";")
	}
	if m := alterView.FindStringSubmatch(text); m != nil {
		return replace(text, alterView, "ALTER TABLE "+m[1]+on+" MODIFY QUERY\n"+m[2]+"    FROM "+m[3]+localSuffix+"\n"+m[4]+";")
	}
	if m := alterTable.FindStringSubmatch(text); m != nil {
		var columns []string
		for _, line := range addColumn.FindAllString(m[2]+";", -1) {
			line, _, _ = strings.Cut(strings.TrimRight(line, ",;"), " CODEC(")
			columns = append(columns, line)
		}
		local := "ALTER TABLE " + m[1] + localSuffix + on + "\n" + m[2] + ";"
		if len(columns) == 0 {
			return replace(text, alterTable, local)
		}
		return replace(text, alterTable, local+"\nALTER TABLE "+m[1]+on+"\n"+strings.Join(columns, ",\n")+";")
	}
	return text
}

func replace(text string, pattern *regexp.Regexp, with string) string {
	at := pattern.FindStringIndex(text)
	return text[:at[0]] + with + text[at[1]:]
}

// RenderClickHouse returns the statements of every file as they would run, for tests
// and for people who want to see them first.
func RenderClickHouse(cluster string) ([]string, error) {
	files, err := fs.Glob(clickhouseFiles, "clickhouse/*.sql")
	if err != nil {
		return nil, fmt.Errorf("listing the clickhouse migrations: %w", err)
	}
	var out []string
	for _, file := range files {
		text, err := fs.ReadFile(renderedFiles{clickhouseFiles, cluster}, file)
		if err != nil {
			return nil, fmt.Errorf("rendering %s: %w", file, err)
		}
		_, statements, _ := strings.Cut(string(text), "-- +goose Up\n")
		for statement := range strings.SplitSeq(statements, ";\n") {
			if statement = strings.TrimSpace(statement); statement != "" {
				out = append(out, strings.TrimSuffix(statement, ";"))
			}
		}
	}
	return out, nil
}

// renderedFiles are the files as a cluster needs them; without one as they are.
type renderedFiles struct {
	fs.FS
	cluster string
}

// Open implements fs.FS.
func (r renderedFiles) Open(name string) (fs.File, error) {
	file, err := r.FS.Open(name)
	if err != nil || r.cluster == "" || !strings.HasSuffix(name, ".sql") {
		return file, err
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	rendered := forCluster(string(text), r.cluster)
	return &renderedFile{Reader: bytes.NewReader([]byte(rendered)), name: name, size: int64(len(rendered))}, nil
}

// renderedFile implements fs.File and its own fs.FileInfo.
type renderedFile struct {
	*bytes.Reader
	name string
	size int64
}

func (f *renderedFile) Stat() (fs.FileInfo, error) { return f, nil }
func (f *renderedFile) Close() error               { return nil }
func (f *renderedFile) Name() string               { return f.name }
func (f *renderedFile) Size() int64                { return f.size }
func (f *renderedFile) Mode() fs.FileMode          { return 0o444 }
func (f *renderedFile) ModTime() time.Time         { return time.Time{} }
func (f *renderedFile) IsDir() bool                { return false }
func (f *renderedFile) Sys() any                   { return nil }
