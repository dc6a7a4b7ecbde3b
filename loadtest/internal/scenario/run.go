package scenario

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/linkstream/linkstream/loadtest/internal/bench"
	"github.com/linkstream/linkstream/loadtest/internal/report"
	"github.com/linkstream/linkstream/loadtest/internal/stack"
)

// Scenario is one that runs on a stack.
type Scenario struct {
	Name string
	// About says in a line what it does.
	About string
	// Long is how long its load lasts (of an outage: each phase) by itself, Short as
	// one of all.
	Long, Short time.Duration
	// Rate is of redirects a second, over all edges.
	Rate float64
	run  func(ctx context.Context, b *bench.Bench) error
}

// OnStack are the scenarios that run on a stack, in the order in which all run.
func OnStack() []Scenario {
	const second = time.Second
	return []Scenario{
		{Name: "steady", About: "a fixed rate of redirects over all edges", Long: 30 * second, Short: 10 * second, Rate: 500, run: steady},
		{Name: "viral", About: "100,000 visitors of one cold link in 30 s", Long: 30 * second, Short: 30 * second, Rate: 100_000.0 / 30, run: viral},
		{Name: "crawl", About: "50,000 slugs, each tried once, beside a hot load", Long: 60 * second, Short: 30 * second, Rate: 500, run: crawl},
		{Name: "monitor", About: "18,000 links visited every minute by a monitor, beside a hot load", Long: 60 * second, Short: 20 * second, Rate: 500, run: monitor},
		{Name: "mutate", About: "edits under load: when an edge shows the old target last", Long: 60 * second, Short: 20 * second, Rate: 800, run: mutate},
		{Name: "outage-redis", About: "every region's Redis is killed, then hangs", Long: 15 * second, Short: 4 * second, Rate: 400, run: outage(everyRedis)},
		{Name: "outage-postgres", About: "Postgres is killed, then hangs", Long: 15 * second, Short: 4 * second, Rate: 400, run: outage(onlyPostgres)},
		{Name: "outage-broker", About: "the broker is killed, then hangs", Long: 15 * second, Short: 4 * second, Rate: 400, run: outage(onlyBroker)},
		{Name: "outage-clickhouse", About: "ClickHouse is killed, then hangs", Long: 15 * second, Short: 4 * second, Rate: 400, run: outage(onlyClickHouse)},
		{Name: "outage-all", About: "every store is killed, then hangs", Long: 15 * second, Short: 5 * second, Rate: 400, run: outage(everyStore)},
		{Name: "failover-redis", About: "a replica that lacks the last writes is promoted, under edits", Long: 15 * second, Short: 4 * second, Rate: 600, run: failover},
		{Name: "rolling-deploy", About: "edges, links, cacheupdaters and the ingester restarted one by one", Long: 60 * second, Short: 14 * second, Rate: 400, run: deploy},
		{Name: "bulk-import", About: "links imported 1,000 at a time beside a hot load", Long: 20 * second, Short: 8 * second, Rate: 300, run: bulkImport},
		{Name: "limits", About: "one key that calls more often than it may", Long: 20 * second, Short: 8 * second, Rate: 200, run: limits},
		{Name: "regions", About: "three regions 30, 90 and 160 ms away: how edits travel, how quick redirects are", Long: 30 * second, Short: 10 * second, Rate: 1800, run: regions},
		{Name: "soak", About: "a long load: memory and goroutines must not grow", Long: 30 * time.Minute, Short: 30 * second, Rate: 400, run: soak},
	}
}

// Options of a run.
type Options struct {
	Stack    *stack.Stack
	Bin      string
	Environ  []string
	Duration time.Duration // or none for the scenario's own
	Rate     float64       // or none for the scenario's own
	Keys     string
	Command  string
	Progress io.Writer
}

// Run runs the scenario. What it broke is mended when Run returns, also when ctx ended.
func (s Scenario) Run(ctx context.Context, o Options) (*report.Result, error) {
	settings := bench.Settings{
		Stack: o.Stack, Bin: o.Bin, Environ: o.Environ, Duration: s.Long, Rate: s.Rate, Keys: o.Keys, Command: o.Command, Progress: o.Progress,
	}
	if o.Duration > 0 {
		settings.Duration = o.Duration
	}
	if o.Rate > 0 {
		settings.Rate = o.Rate
	}
	b, err := bench.New(ctx, s.Name, settings)
	if err != nil {
		return nil, fmt.Errorf("beginning: %w", err)
	}
	defer b.Close()
	if err := s.run(ctx, b); err != nil {
		return nil, err
	}
	return b.Finish(), nil
}
