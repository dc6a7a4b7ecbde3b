package bench

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/linkstream/linkstream/loadtest/internal/load"
	"github.com/linkstream/linkstream/loadtest/internal/report"
	"github.com/linkstream/linkstream/loadtest/internal/wire"
)

const (
	// connections to each edge at most, for each kind of requests.
	connections = 256
	// answerLimit is how long after it was due a request may be answered.
	answerLimit = 5 * time.Second
	window      = 500 * time.Millisecond
	// windows is about how many there are in a long run.
	windows = 120
)

// Kind is one sort of requests.
type Kind struct {
	Name string
	// Request is for the slug number n.
	Request func(n int32) []byte
	// Right judges an answer.
	Right func(v *load.Visit) bool
	// Clicks says that a redirect of this kind is a click.
	Clicks bool
}

// Links is the kind of visits that follow links to the targets they were made with.
func Links(name string) Kind {
	request := wire.NewRequest(Domain)
	return Kind{Name: name, Clicks: true, Request: func(n int32) []byte { return request.For(int(n)) }, Right: LeadsHome}
}

// LeadsHome says whether an answer leads to the target that the link was made with.
func LeadsHome(v *load.Visit) bool { return v.Status == 302 && wire.Leads(v.Location, int(v.Key)) }

// Nothing is the kind of requests for which an edge looks nothing up.
func Nothing() Kind {
	request := wire.Plain(Domain, "/robots.txt")
	return Kind{
		Name: "no look-up", Request: func(int32) []byte { return request },
		Right: func(v *load.Visit) bool { return v.Status == 200 },
	}
}

// Ask is whom to ask for what.
type Ask struct {
	Edge int
	Kind uint8 // index
	Link int32
}

// Traffic is an open load over all edges.
type Traffic struct {
	Rate    float64
	Count   int // or none for as many as fit in until the script ends
	Balance bool
	Kinds   []Kind
	Next    func(i int) Ask
	// Seen, if any, is told of every answer as it comes.
	Seen func(v *load.Visit)
	// Plot draws how the load went.
	Plot string
}

// Run is a load while it runs.
type Run struct {
	bench *Bench
	kinds []Kind
	start time.Time
	width time.Duration // of a window

	mu      sync.Mutex
	phases  []*phase
	windows []*slot
}

type phase struct {
	name     string
	fault    bool
	from, to time.Duration
	tallies  [][]*tally // by kind and edge
}

// slot is a stretch of time, for the pictures.
type slot struct {
	latency           *hdrhistogram.Histogram // of the first kind
	right, wrong, bad int
}

// Drive sends the load while script runs, which says which phase is on. It ends when
// the script does, or after Count requests if script is nil.
func (b *Bench) Drive(ctx context.Context, t Traffic, script func(ctx context.Context, r *Run) error) (*Run, error) {
	r := &Run{bench: b, kinds: t.Kinds, start: time.Now(), width: max(window, b.Duration/windows)}
	r.Phase("load")
	edges := len(b.Edges)
	fleet := load.Fleet{
		Servers: b.servers(len(t.Kinds)), Connections: connections, Rate: t.Rate, Count: t.Count, Limit: answerLimit, Balance: t.Balance,
		Next: func(i int) load.Question {
			a := t.Next(i)
			return load.Question{Server: int(a.Kind)*edges + a.Edge, Class: a.Kind, Key: a.Link, Request: t.Kinds[a.Kind].Request(a.Link)}
		},
		Seen: func(v *load.Visit) {
			v.Server %= edges
			r.seen(v)
			if t.Seen != nil {
				t.Seen(v)
			}
		},
	}
	sending, stop := context.WithCancel(ctx)
	defer stop()
	var (
		wg     sync.WaitGroup
		course *load.Course
		failed error
	)
	used := ProcessTime()
	wg.Go(func() {
		defer stop() // the script of a load that cannot go on is over
		course, failed = fleet.Run(sending)
	})
	var err error
	if script != nil {
		err = script(sending, r)
		stop()
	}
	wg.Wait()
	r.close()
	if failed != nil {
		return r, fmt.Errorf("sending the load: %w", failed)
	}
	b.process += ProcessTime() - used
	b.cpu, b.took = b.cpu+course.CPU, b.took+course.Took
	b.late.Merge(course.Late)
	b.Result.Generator.Requests += course.Requests
	b.Result.Generator.Behind += course.Behind
	b.Result.Phases = append(b.Result.Phases, r.rows()...)
	if t.Plot != "" {
		b.Result.Plots = append(b.Result.Plots, r.plots(t.Plot)...)
	}
	if ctx.Err() != nil {
		return r, ctx.Err()
	}
	return r, err
}

// Phase begins a phase. A request belongs to the phase in which it ends.
func (r *Run) Phase(name string) { r.begin(name, false) }

// Fault begins a phase in which something is broken.
func (r *Run) Fault(name string) { r.begin(name, true) }

func (r *Run) begin(name string, fault bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Since(r.start)
	if n := len(r.phases); n > 0 {
		r.phases[n-1].to = now
		if r.phases[n-1].empty() {
			r.phases = r.phases[:n-1]
		}
	}
	p := &phase{name: name, fault: fault, from: now}
	for range r.kinds {
		edges := make([]*tally, len(r.bench.Edges))
		for i := range edges {
			edges[i] = newTally()
		}
		p.tallies = append(p.tallies, edges)
	}
	r.phases = append(r.phases, p)
}

func (r *Run) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.phases[len(r.phases)-1].to = time.Since(r.start)
}

func (p *phase) empty() bool {
	return !slices.ContainsFunc(p.tallies, func(edges []*tally) bool {
		return slices.ContainsFunc(edges, func(t *tally) bool { return t.sent > 0 })
	})
}

func (r *Run) seen(v *load.Visit) {
	kind := &r.kinds[v.Class]
	right := v.Outcome == load.Answered && kind.Right(v)
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.phases[len(r.phases)-1].tallies[v.Class][v.Server]
	t.add(v, right, kind.Clicks)
	if !right && len(t.examples) < examplesKept {
		t.examples = append(t.examples, example(v, r.bench.Edges[v.Server].Name, v.Ended.Sub(r.start)))
	}
	all := &r.bench.clicks
	if kind.Clicks {
		all.add(v, right, true)
	}
	for at := int(v.Ended.Sub(r.start) / r.width); at >= len(r.windows); {
		r.windows = append(r.windows, &slot{latency: hdrhistogram.New(1, (10 * time.Second).Microseconds(), 2)})
	}
	s := r.windows[len(r.windows)-1]
	switch {
	case right:
		s.right++
	case v.Outcome == load.Answered:
		s.wrong++
	default:
		s.bad++
	}
	if v.Class == 0 {
		_ = s.latency.RecordValue(min(max(1, v.Took().Microseconds()), (10 * time.Second).Microseconds())) // in its range
	}
}

// Row is what became of the requests of a kind in all phases of that name, at one
// edge or, with -1, at all.
func (r *Run) Row(phase string, kind, edge int) report.Row {
	r.mu.Lock()
	defer r.mu.Unlock()
	sum := newTally()
	for _, p := range r.phases {
		if p.name != phase {
			continue
		}
		for i, t := range p.tallies[kind] {
			if edge < 0 || edge == i {
				sum.merge(t)
			}
		}
	}
	return sum.row(r.kinds[kind].Name)
}

func (r *Run) rows() []report.Phase {
	var phases []report.Phase
	for _, p := range r.phases {
		out := report.Phase{Name: p.name, From: p.from.Seconds(), Seconds: (p.to - p.from).Seconds()}
		for k, edges := range p.tallies {
			sum := newTally()
			for _, t := range edges {
				sum.merge(t)
			}
			if sum.sent > 0 {
				out.Rows = append(out.Rows, sum.row(r.kinds[k].Name))
			}
		}
		phases = append(phases, out)
	}
	return phases
}

// plots show latency and answers over time.
func (r *Run) plots(title string) []report.Plot {
	lines := map[string]*report.Series{}
	order := []string{"p50", "p99", "longest", "right", "wrong", "failed"}
	for _, name := range order {
		lines[name] = &report.Series{Name: name}
	}
	add := func(name string, at, value float64) {
		lines[name].Points = append(lines[name].Points, [2]float64{at, value})
	}
	for i, w := range r.windows {
		at := (time.Duration(i) * r.width).Seconds()
		if w.latency.TotalCount() > 0 {
			add("p50", at, float64(w.latency.ValueAtQuantile(50))/1000)
			add("p99", at, float64(w.latency.ValueAtQuantile(99))/1000)
			add("longest", at, float64(w.latency.Max())/1000)
		}
		add("right", at, float64(w.right)/r.width.Seconds())
		add("wrong", at, float64(w.wrong)/r.width.Seconds())
		add("failed", at, float64(w.bad)/r.width.Seconds())
	}
	var bands []report.Band
	for _, p := range r.phases {
		if p.fault {
			bands = append(bands, report.Band{Name: p.name, From: p.from.Seconds(), To: p.to.Seconds()})
		}
	}
	pick := func(names ...string) (series []report.Series) {
		for _, name := range names {
			series = append(series, *lines[name])
		}
		return series
	}
	var spectra []report.Row
	for i, p := range r.phases {
		if slices.ContainsFunc(r.phases[:i], func(earlier *phase) bool { return earlier.name == p.name }) {
			continue // it is in the line of the first of that name
		}
		row := r.Row(p.name, 0, -1)
		row.Name = p.name
		spectra = append(spectra, row)
	}
	return []report.Plot{
		{Title: title + ": latency of " + r.kinds[0].Name, Across: "s", Up: "ms", Log: true, Series: pick("p50", "p99", "longest"), Bands: bands},
		{Title: title + ": answers", Across: "s", Up: "a second", Series: pick("right", "wrong", "failed"), Bands: bands},
		report.SpectrumPlot(title+": latency of "+r.kinds[0].Name+" by phase", spectra),
	}
}
