package scenario

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/linkstream/linkstream/loadtest/internal/bench"
	"github.com/linkstream/linkstream/loadtest/internal/cpu"
	"github.com/linkstream/linkstream/loadtest/internal/load"
	"github.com/linkstream/linkstream/loadtest/internal/paired"
	"github.com/linkstream/linkstream/loadtest/internal/report"
	"github.com/linkstream/linkstream/loadtest/internal/rig"
	"github.com/linkstream/linkstream/loadtest/internal/zipf"
)

const (
	// skew of the load: link traffic is about Zipf's law with an exponent of 1.
	skew = 1.0
	// draws is how many links are drawn for a load that repeats. At 100,000 answers
	// a second it is ten seconds' worth.
	draws = 1 << 20
	// warmLinks is how many links are asked for beforehand at most: what an edge can
	// fetch from Redis in half of the time that it trusts an entry for.
	warmLinks = 300_000
	// connections that the load keeps, in both kinds.
	connections = 64
	// The numbers of links that are asked for once, apart from those drawn.
	firstL2     = 1_000_000_000
	firstOrigin = 1_500_000_000
	perRun      = 10_000_000
	probes      = 1000 // of them, at the end of a run's
	// The mix, in thousandths.
	mixL2, mixOrigin = 18, 2

	rampUp      = time.Second // of both servers, before the first pair
	settleLimit = 20 * time.Second
	profileFor  = 5 * time.Second
	// latencyRounds is in how many pieces latency is measured, the edge's and nginx'
	// in turn: a virtual machine that stands still for 20 ms spoils one piece of one.
	latencyRounds = 7
)

// The classes of the mix.
const (
	classL1 uint8 = iota
	classL2
	classOrigin
)

// Edge compares one edge with nginx, and measures its latency. It starts what it
// needs itself.
type Edge struct {
	Bin      string   // folder of the built programs
	Environ  []string // of the programs
	Links    []int    // how many, in growing order
	Pairs    int
	Slice    time.Duration // one measurement of throughput
	Duration time.Duration // one measurement of latency
	Profile  string        // file for the edge's CPU profile under full load, or none
	Command  string        // for the report
}

// edgeRun is Edge while it runs, with one number of links.
type edgeRun struct {
	Edge
	rig      *rig.Rig
	progress io.Writer
	number   int // of the run
	hot      []int32
	result   *report.EdgeRun
}

// Run measures.
func (e Edge) Run(ctx context.Context, progress io.Writer) (result *report.Edge, err error) {
	if err := rig.Check(e.Bin); err != nil {
		return nil, err
	}
	// One for the thread that keeps the schedule, one for those that wait for
	// answers. Set, because with one processor Go would choose one.
	runtime.GOMAXPROCS(2)
	result = &report.Edge{Stamp: report.NewStamp(ctx, "edge", e.Command), Connections: connections, Burst: load.Burst}
	fmt.Fprintln(progress, "starting an edge, its stores and nginx")
	r, err := rig.Start(ctx, e.Bin, e.Environ)
	defer func() { err = errors.Join(err, r.Close(ctx)) }()
	if err != nil {
		return nil, err
	}
	seeded := 0
	for i, links := range e.Links {
		if i > 0 {
			if err := r.StartEdge(ctx); err != nil {
				return nil, err
			}
		}
		fmt.Fprintf(progress, "%d links: writing them to redis\n", links)
		if err := r.Seed(ctx, seeded, links); err != nil {
			return nil, err
		}
		seeded = links
		run := &edgeRun{Edge: e, rig: r, progress: progress, number: i, result: &report.EdgeRun{Links: links, Warm: min(links, warmLinks)}}
		if err := run.measure(ctx); err != nil {
			return nil, err
		}
		run.result.Print(progress)
		result.Runs = append(result.Runs, *run.result)
	}
	return result, nil
}

func (r *edgeRun) measure(ctx context.Context) error {
	for _, step := range []func(context.Context) error{r.warm, r.pairs, r.profile, r.hits, r.mix} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	m, err := r.rig.Settle(ctx, settleLimit)
	if err != nil {
		return err
	}
	r.result.Clicks = report.Clicks{
		Accepted: int(m[rig.ClicksAccepted]), Produced: int(m[rig.ClicksProduced]), Dropped: int(m[rig.ClicksFull] + m[rig.ClicksDisk]),
	}
	r.result.Gaps = int(m[`cache_invalidation_total{source="gap"}`])
	const mega = 1 << 20
	r.result.MemoryMB, r.result.L1MemoryMB = m["process_resident_memory_bytes"]/mega, m["cache_l1_memory_bytes"]/mega
	return nil
}

// warm asks for every link that is to be in memory, the most wanted ones last, and
// gives both servers their first second.
func (r *edgeRun) warm(ctx context.Context) error {
	fmt.Fprintf(r.progress, "%d links: warming %d\n", r.result.Links, r.result.Warm)
	sweep := make([]int32, r.result.Warm)
	for i := range sweep {
		sweep[i] = int32(len(sweep) - 1 - i)
	}
	if err := r.untilTrusted(ctx); err != nil {
		return err
	}
	count, err := r.closed(r.rig.EdgeAddr(), sweep, 0, false).Run(ctx)
	switch {
	case err != nil:
		return err
	case count.Wrong > 0:
		return fmt.Errorf("%d of %d answers were wrong while warming", count.Wrong, count.Answers)
	}
	r.hot = zipf.New(r.result.Warm, skew).Draws(draws, 1)
	if _, err := r.closed(r.rig.EdgeAddr(), r.hot, rampUp, false).Run(ctx); err != nil {
		return err
	}
	_, err = r.nginx(rampUp).Run(ctx)
	return err
}

// untilTrusted waits until the edge trusts Redis: before the first heartbeats it
// asks the origin, which does not know these links, and remembers for seconds that
// there is none. So every probe is another link.
func (r *edgeRun) untilTrusted(ctx context.Context) error {
	last := firstL2 + (r.number+1)*perRun
	if err := r.rig.Seed(ctx, last-probes, last); err != nil {
		return err
	}
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for n := last - probes; n < last; n++ {
		probe := r.closed(r.rig.EdgeAddr(), []int32{int32(n)}, 0, false)
		probe.Connections = 1
		count, err := probe.Run(ctx)
		if err != nil || count.Wrong == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return errors.New("the edge does not come to trust redis")
}

func (r *edgeRun) closed(addr string, slugs []int32, length time.Duration, constant bool) load.Closed {
	return load.Closed{Addr: addr, Host: rig.Domain, Connections: connections, Duration: length, Slugs: slugs, Constant: constant}
}

// nginx is the load of the edge, but for the answer that is expected: the target of
// link 0, whatever was asked for.
func (r *edgeRun) nginx(length time.Duration) load.Closed {
	return r.closed(r.rig.NginxAddr(), r.hot, length, true)
}

func (r *edgeRun) pairs(ctx context.Context) error {
	fmt.Fprintf(r.progress, "%d links: %d pairs of %v each\n", r.result.Links, r.Pairs, r.Slice)
	for i := range r.Pairs {
		var pair report.Pair
		edge := func() error {
			before, err := r.rig.Settle(ctx, settleLimit)
			if err != nil {
				return err
			}
			if pair.Edge, err = r.slice(ctx, r.closed(r.rig.EdgeAddr(), r.hot, r.Slice, false), r.rig.EdgePID()); err != nil {
				return err
			}
			after, err := r.rig.Settle(ctx, settleLimit)
			pair.Hits = shares(before, after).L1
			return err
		}
		nginx := func() (err error) {
			pair.Nginx, err = r.slice(ctx, r.nginx(r.Slice), r.rig.NginxPID())
			return err
		}
		order := []func() error{edge, nginx}
		if !paired.FirstIsOurs(i) {
			slices.Reverse(order)
		}
		for _, measure := range order {
			if err := measure(); err != nil {
				return err
			}
		}
		r.result.Pairs = append(r.result.Pairs, pair)
	}
	r.result.Compare()
	return nil
}

// slice measures throughput, and who used the processors meanwhile.
func (r *edgeRun) slice(ctx context.Context, l load.Closed, server int) (report.Slice, error) {
	var s report.Slice
	begun, err := r.usage(server)
	if err != nil {
		return s, err
	}
	count, err := l.Run(ctx)
	if err != nil {
		return s, err
	}
	ended, err := r.usage(server)
	if err != nil {
		return s, err
	}
	u := ended.since(begun)
	s.Rate, s.Wrong = count.Rate(), count.Wrong
	s.ServerCPU, s.OthersCPU, s.GeneratorCPU = u.server, max(0, u.target-u.server), u.generator
	if s.ServerCPU > 0 {
		s.PerCPU = s.Rate / s.ServerCPU
	}
	return s, nil
}

// usage is how much processor time has been used so far.
type usage struct {
	at                              time.Time
	server, generator, target, home time.Duration
}

// cores are processors used, of one each.
type cores struct{ server, generator, target, home float64 }

func (u usage) since(earlier usage) cores {
	wall := u.at.Sub(earlier.at).Seconds()
	return cores{
		server: (u.server - earlier.server).Seconds() / wall, generator: (u.generator - earlier.generator).Seconds() / wall,
		target: (u.target - earlier.target).Seconds() / wall, home: (u.home - earlier.home).Seconds() / wall,
	}
}

func (r *edgeRun) usage(server int) (u usage, err error) {
	u = usage{at: time.Now(), generator: bench.ProcessTime()}
	var errs [3]error
	u.server, errs[0] = cpu.Used(server)
	u.target, errs[1] = cpu.Busy(r.rig.Target)
	u.home, errs[2] = cpu.Busy(r.rig.Home)
	return u, errors.Join(errs[:]...)
}

// profile takes the edge's profile under full load.
func (r *edgeRun) profile(ctx context.Context) error {
	if r.Profile == "" {
		return nil
	}
	fmt.Fprintf(r.progress, "%d links: profiling the edge into %s\n", r.result.Links, r.Profile)
	done := make(chan error, 1)
	go func() {
		text, err := r.rig.Profile(ctx, profileFor)
		if err == nil {
			err = os.WriteFile(r.Profile, text, 0o644)
		}
		done <- err
	}()
	_, err := r.closed(r.rig.EdgeAddr(), r.hot, profileFor, false).Run(ctx)
	return errors.Join(err, <-done)
}

// hits measures the latency of answers from memory, the edge's and nginx', in turn.
func (r *edgeRun) hits(ctx context.Context) error {
	rate := r.result.MaxRate() / 2
	asks := make([]load.Ask, int(rate*r.Duration.Seconds()/latencyRounds))
	fmt.Fprintf(r.progress, "%d links: %.0f requests a second, from memory, %d times %v each\n",
		r.result.Links, rate, latencyRounds, r.Duration/latencyRounds)
	for round := range latencyRounds {
		for i := range asks {
			asks[i] = load.Ask{Slug: r.hot[(round*len(asks)+i)%len(r.hot)], Class: classL1}
		}
		var edge report.Waits
		var nginx report.Microseconds
		order := []func() error{
			func() (err error) { edge, _, err = r.open(ctx, rate, asks); return err },
			func() (err error) { nginx, err = r.reference(ctx, rate, len(asks)); return err },
		}
		if !paired.FirstIsOurs(round) {
			slices.Reverse(order)
		}
		for _, measure := range order {
			if err := measure(); err != nil {
				return err
			}
		}
		r.result.AddHits(edge, nginx)
	}
	return nil
}

// reference measures the same of nginx, at the same rate: what is in both is the
// load's, the machine's and the kernel's.
func (r *edgeRun) reference(ctx context.Context, rate float64, n int) (report.Microseconds, error) {
	measured, err := load.Open{
		Addr: r.rig.NginxAddr(), Host: rig.Domain, Connections: connections, Rate: rate, Asks: make([]load.Ask, n),
	}.Run(ctx)
	if err != nil {
		return report.Microseconds{}, err
	}
	return report.QuantilesOf(measured.All()), nil
}

// mix measures the latency when a part is in no memory: links that nobody asked
// for before, of which a part is not even in Redis. What is drawn by Zipf's law is
// drawn from all links, warm or not. A quarter of the maximum rate, because Redis and
// the origin, which are asked thousands of times a second, share the load's processor:
// half of the maximum leaves them too little of it.
func (r *edgeRun) mix(ctx context.Context) error {
	rate := r.result.MaxRate() / 4
	asks := make([]load.Ask, int(rate*r.Duration.Seconds()))
	l2, origin := firstL2+r.number*perRun, firstOrigin+r.number*perRun
	nextL2, nextOrigin := l2, origin
	for i, slug := range zipf.New(r.result.Links, skew).Draws(len(asks), 2) {
		switch class := mixed(i); class {
		case classL2:
			asks[i] = load.Ask{Slug: int32(nextL2), Class: class}
			nextL2++
		case classOrigin:
			asks[i] = load.Ask{Slug: int32(nextOrigin), Class: class}
			nextOrigin++
		default:
			asks[i] = load.Ask{Slug: slug, Class: class}
		}
	}
	if err := errors.Join(r.rig.Seed(ctx, l2, nextL2), r.rig.SeedOrigin(ctx, origin, nextOrigin)); err != nil {
		return err
	}
	fmt.Fprintf(r.progress, "%d links: %.0f requests a second, mixed, for %v\n", r.result.Links, rate, r.Duration)
	waits, measured, err := r.open(ctx, rate, asks)
	if err != nil {
		return err
	}
	r.result.Mix = report.Mix{
		Waits:    waits,
		ByL1:     report.QuantilesOf(measured.Latency[classL1]),
		ByL2:     report.QuantilesOf(measured.Latency[classL2]),
		ByOrigin: report.QuantilesOf(measured.Latency[classOrigin]),
	}
	return nil
}

// mixed is the class of a request of the mix: of every fifty, one that is not
// drawn, and of these every tenth for the origin.
func mixed(i int) uint8 {
	const every, originEvery = 1000 / (mixL2 + mixOrigin), (mixL2 + mixOrigin) / mixOrigin
	switch {
	case i%every != 0:
		return classL1
	case i/every%originEvery == 0:
		return classOrigin
	}
	return classL2
}

func (r *edgeRun) open(ctx context.Context, rate float64, asks []load.Ask) (report.Waits, *load.Waits, error) {
	before, err := r.rig.Settle(ctx, settleLimit)
	if err != nil {
		return report.Waits{}, nil, err
	}
	begun, err := r.usage(r.rig.EdgePID())
	if err != nil {
		return report.Waits{}, nil, err
	}
	measured, err := load.Open{Addr: r.rig.EdgeAddr(), Host: rig.Domain, Connections: connections, Rate: rate, Asks: asks}.Run(ctx)
	if err != nil {
		return report.Waits{}, nil, err
	}
	ended, err := r.usage(r.rig.EdgePID())
	if err != nil {
		return report.Waits{}, nil, err
	}
	after, err := r.rig.Settle(ctx, settleLimit)
	if err != nil {
		return report.Waits{}, nil, err
	}
	w := shares(before, after)
	w.Rate, w.Answers, w.Wrong, w.Late = rate, measured.Answers, measured.Wrong, measured.Late
	u := ended.since(begun)
	w.ServerCPU, w.OthersCPU = u.server, max(0, u.target-u.server)
	w.GeneratorCPU, w.StoresCPU = u.generator, max(0, u.home-u.generator)
	w.Latency = report.QuantilesOf(measured.All())
	return w, measured, nil
}

// shares says who answered the look-ups between two looks at the metrics.
func shares(before, after rig.Metrics) (w report.Waits) {
	l1 := after.Since(before, "cache_l1_hit_total")
	all := l1 + after.Since(before, "cache_l1_miss_total")
	if all == 0 {
		return w
	}
	w.L1 = l1 / all
	w.L2 = after.Since(before, "cache_l2_hit_total") / all
	w.Origin = after.Since(before, "cache_origin_request_total") / all
	return w
}
