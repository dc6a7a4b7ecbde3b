// Package bench is what scenarios on a running stack share: links of their own on a
// domain of their own, an open load over all edges in phases, samples of what the
// processes say about themselves, and the count of clicks at the end.
//
// It promises that every answer is looked at and every redirect is in the count, and
// refuses to guess: a request without an answer is unknown and never left out.
package bench

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/linkstream/linkstream/loadtest/internal/cpu"
	"github.com/linkstream/linkstream/loadtest/internal/load"
	"github.com/linkstream/linkstream/loadtest/internal/report"
	"github.com/linkstream/linkstream/loadtest/internal/stack"
	"github.com/linkstream/linkstream/loadtest/internal/zipf"
)

// Domain is that of all links that scenarios make.
const Domain = "load.test"

// skew of drawn visits: link traffic is about Zipf's law with an exponent of 1.
const skew = 1.0

// draws is how many visits are drawn beforehand; they repeat.
const draws = 1 << 16

// Settings of a run.
type Settings struct {
	Stack    *stack.Stack
	Bin      string        // folder of the built programs
	Environ  []string      // of programs that a scenario starts
	Duration time.Duration // of the load, or of each phase under a fault
	Rate     float64       // requests a second over all edges
	Keys     string        // file of recorded visits, or none for Zipf's law
	Command  string        // for the report
	Progress io.Writer
}

// Bench is one run of a scenario.
type Bench struct {
	Settings
	API    *API
	Result *report.Result
	// Edges are those that are asked: the stack's, unless a scenario has its own.
	Edges []Edge

	clicks   tally // of everything that was asked so far
	baseline Clicks
	began    time.Time
	late     *hdrhistogram.Histogram
	cpu      time.Duration // of the generator
	process  time.Duration
	took     time.Duration

	strangers cpu.Strangers
	watched   func() // ends the watch
}

// Edge is one that is asked.
type Edge struct {
	Name, Region string
	Addr, Admin  string
	Enter        func() (leave func() error, err error) // see load.Server
}

// New begins a run: it waits until the stack is ready and makes the domain.
func New(ctx context.Context, name string, s Settings) (*Bench, error) {
	b := &Bench{
		Settings: s, API: NewAPI(s.Stack.API, s.Stack.APIKey), late: load.NewHistogram(), began: time.Now(),
		Result: &report.Result{Stamp: report.NewStamp(ctx, name, s.Command), Load: loadAverage(), Cores: runtime.NumCPU()},
	}
	for _, e := range s.Stack.Edges {
		b.Edges = append(b.Edges, Edge{Name: e.Name, Region: e.Region, Addr: e.Addr, Admin: e.Admin})
	}
	if err := s.Stack.AwaitReady(ctx, time.Minute); err != nil {
		return nil, err
	}
	if err := b.API.MakeDomain(ctx, Domain); err != nil {
		return nil, err
	}
	var err error
	b.watched = b.strangers.Watch(ctx, b.processes)
	b.baseline, err = b.API.Clicks(ctx, Domain)
	b.Result.Settings = []report.Fact{
		{Name: "edges", Value: strconv.Itoa(len(b.Edges))},
		{Name: "rate", Value: fmt.Sprintf("%.0f/s", s.Rate)},
		{Name: "duration", Value: s.Duration.String()},
		{Name: "keys", Value: cmpOr(s.Keys, "Zipf")},
	}
	if err != nil {
		b.Close()
	}
	return b, err
}

func cmpOr(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// Say tells whoever watches what happens now.
func (b *Bench) Say(format string, values ...any) {
	fmt.Fprintf(b.Progress, "%6.1f s  %s\n", time.Since(b.began).Seconds(), fmt.Sprintf(format, values...))
}

// servers are the edges as the load wants them, once for each kind of requests: those
// who wait for a slow answer keep nobody else from connecting.
func (b *Bench) servers(kinds int) []load.Server {
	servers := make([]load.Server, 0, kinds*len(b.Edges))
	for range kinds {
		for _, e := range b.Edges {
			servers = append(servers, load.Server{Addr: e.Addr, Enter: e.Enter})
		}
	}
	return servers
}

// Draw draws visits of n links: by the record if there is one, else by Zipf's law.
// The record may name fewer links than there are, and not more.
func (b *Bench) Draw(n int) ([]int32, error) {
	d := zipf.New(n, skew)
	if b.Keys != "" {
		file, err := os.Open(b.Keys)
		if err != nil {
			return nil, fmt.Errorf("reading recorded visits: %w", err)
		}
		defer func() { _ = file.Close() }()
		counts, err := zipf.ReadCounts(file)
		if err != nil {
			return nil, fmt.Errorf("reading recorded visits: %w", err)
		}
		if d, err = zipf.Recorded(counts); err != nil {
			return nil, fmt.Errorf("reading recorded visits: %w", err)
		}
	}
	ranks := d.Draws(draws, rand.Uint64())
	for i, r := range ranks {
		ranks[i] = r % int32(n)
	}
	return ranks, nil
}

// Count waits until the summary has every click, and promises that it has.
func (b *Bench) Count(ctx context.Context) error {
	answered, unknown := b.clicks.clicks, b.clicks.unknown
	b.Say("counting %d clicks", answered)
	begun := time.Now()
	now, took, err := b.API.AwaitClicks(ctx, Domain, b.baseline, answered)
	if err != nil {
		return err
	}
	b.Result.Clicks = report.ClickCount{
		Answered: answered, Unknown: unknown, Counted: now.All - b.baseline.All, Bots: now.Bots - b.baseline.Bots,
		Seconds: took.Sub(begun).Seconds(),
	}
	b.Result.Add("all clicks in the summary", "%.1f s after the last answer", b.Result.Clicks.Seconds)
	b.Result.Promise(report.CountedOnce(b.Result.Clicks))
	return nil
}

// Finish completes the result.
func (b *Bench) Finish() *report.Result {
	b.Close()
	b.Result.Strangers.Mean, b.Result.Strangers.Worst = b.strangers.Use()
	g := &b.Result.Generator
	if b.took > 0 {
		g.CPU, g.Process = b.cpu.Seconds()/b.took.Seconds(), b.process.Seconds()/b.took.Seconds()
		g.Late = report.QuantilesOf(b.late)
	}
	b.Result.Seconds = time.Since(b.began).Seconds()
	return b.Result
}

// Close ends what a run began, whatever became of it.
func (b *Bench) Close() {
	if b.watched != nil {
		b.watched()
	}
}

// processes are those of the stack, and what keeps them running.
func (b *Bench) processes() (pids []int) {
	for _, name := range b.Stack.Names() {
		pid, err := b.Stack.PID(name)
		if err != nil {
			continue // it is started again just now
		}
		pids = append(pids, pid)
		if parent, err := cpu.Parent(pid); err == nil && parent > 1 {
			pids = append(pids, parent)
		}
	}
	return pids
}

// Skip ends a scenario that this machine cannot run.
func (b *Bench) Skip(why string) error {
	b.Result.Skipped = why
	return nil
}

// ProcessTime is what this process has used so far.
func ProcessTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// loadAverage of the last minute, where there is one to read.
func loadAverage() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), " ")
	var n float64
	if _, err := fmt.Sscan(first, &n); err != nil {
		return 0
	}
	return n
}

// Pause waits, unless ctx ends first.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
