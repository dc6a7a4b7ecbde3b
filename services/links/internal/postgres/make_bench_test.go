package postgres_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/internal/pgtest"
	"github.com/linkstream/linkstream/services/links/internal/link"
	"github.com/linkstream/linkstream/services/links/internal/postgres"
)

// BenchmarkMakeMany makes 500 links at a time, on top of 50,000, and says what one costs
// the database's processes. Their time is read from /proc: without it, they cost nothing.
func BenchmarkMakeMany(b *testing.B) {
	pool, err := postgres.Open(b.Context(), pgtest.New(b), 4)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(pool.Close)
	store, workspace := postgres.New(pool, "go.test", tombstoneGrace), uuid.New()
	for _, statement := range []string{
		`INSERT INTO workspaces (id, name) VALUES ('` + workspace.String() + `', 'w')`,
		`INSERT INTO domains (id, host) VALUES (gen_random_uuid(), 'go.test')`,
	} {
		if _, err := pool.Exec(b.Context(), statement); err != nil {
			b.Fatal(err)
		}
	}
	const together, before = 500, 100
	n := 0
	once := func() {
		for _, o := range store.MakeMany(b.Context(), campaign(b, workspace, n*together, together)) {
			if o.Err != nil {
				b.Fatal(o.Err)
			}
		}
		if n++; n%16 == 0 { // as the relay does
			if _, err := pool.Exec(b.Context(), `DELETE FROM outbox`); err != nil {
				b.Fatal(err)
			}
		}
	}
	for range before {
		once()
	}
	var backend int
	if err := pool.QueryRow(b.Context(), `SELECT pg_backend_pid()`).Scan(&backend); err != nil {
		b.Fatal(err)
	}
	server := parent(backend)
	began := spent(server)
	for b.Loop() {
		once()
	}
	made := float64((n - before) * together)
	b.ReportMetric(float64((spent(server)-began).Microseconds())/made, "postgres-us/link")
	b.ReportMetric(float64(b.Elapsed().Microseconds())/made, "us/link")
}

// campaign is links as campaigns have them, numbered from first on.
func campaign(b *testing.B, workspace uuid.UUID, first, count int) []link.New {
	b.Helper()
	seed, err := uuid.NewV7()
	if err != nil {
		b.Fatal(err)
	}
	rules, rows := link.Rules{}, make([]link.New, count)
	for i := range rows {
		c, err := rules.CheckNew(link.Change{
			Destination: link.Some(fmt.Sprintf("https://www.example.com/landing/%d?utm_source=newsletter&utm_campaign=spring", first+i)),
			Title:       link.Some(fmt.Sprintf("Spring sale %d", first+i)), Tags: link.Some([]string{"load", "spring"}),
		})
		if err != nil {
			b.Fatal(err)
		}
		rows[i] = link.New{WorkspaceID: workspace, ID: link.DerivedID(seed, i), Checked: c}
	}
	return rows
}

// parent is the process that started one, 0 if that cannot be told.
func parent(pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	id, _ := strconv.Atoi(fields[1]) // the format is the kernel's
	return id
}

// spent is the processor time of a process and its children.
func spent(pid int) (sum time.Duration) {
	all, _ := filepath.Glob("/proc/[0-9]*") // the pattern is well formed
	for _, folder := range all {
		id, err := strconv.Atoi(filepath.Base(folder))
		if err != nil || pid == 0 || id != pid && parent(id) != pid {
			continue
		}
		if text, err := os.ReadFile(filepath.Join(folder, "schedstat")); err == nil {
			ns, _ := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
			sum += time.Duration(ns)
		}
	}
	return sum
}
