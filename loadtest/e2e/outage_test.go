package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Lengths of what is measured. A hanging broker is noticed by the cacheupdater after
// 1.5 s, and by the edges 1.5 s later: each fault lasts longer than both.
const (
	healthyFor = 4 * time.Second
	deadFor    = 4 * time.Second
	hungFor    = 5 * time.Second
)

// What an outage may cost a visitor of a link that the edge knows: twice the healthy
// p99, which counts as 2 ms at least, and as what answers that look nothing up take at
// the same time, if that is more. Below 2 ms a two-core machine that runs the whole
// system, its stores and this test measures its own scheduler; and a store that starts
// again or gives up takes processor time from every process, which no edge can help.
const quickEnough = 2 * time.Millisecond

// waited is how much longer a visit takes than an answer without a look-up that the same
// edge was asked for at the same moment, when it was made to wait for something: the
// noise of the machine hits both. Where it is louder than this, its own p99 counts.
const waited = 20 * time.Millisecond

// TestWarmLinksRedirectInEveryOutage stops what is behind the edges, piece by piece and
// all together, dead and hanging, while visitors come at a steady rate.
//
// Guards I11, I57.
func TestWarmLinksRedirectInEveryOutage(t *testing.T) {
	s := newStack(t)
	o := &outage{stack: s}
	for i := range 3 {
		slug := fmt.Sprint("warm", i)
		o.links = append(o.links, s.create(t, slug, target(slug, 0)))
	}
	o.awaitTargets(t)
	o.healthy = make([]time.Duration, len(s.edges()))
	o.measureHealthy(t)

	stores := []string{"postgres", "broker", "clickhouse", "redis-fra", "redis-ash"}
	faults := []struct {
		name  string
		names []string
	}{
		{"Postgres", stores[:1]},
		{"the broker", stores[1:2]},
		{"ClickHouse", stores[2:3]},
		{"Redis", stores[3:]},
		{"everything", stores},
	}
	for _, f := range faults {
		t.Run(f.name+" is dead", func(t *testing.T) { o.dead(t, f.names) })
	}
	for _, f := range faults {
		t.Run(f.name+" hangs", func(t *testing.T) { o.hung(t, f.names) })
	}
	t.Run("the clicks of all that add up", o.addUp)
}

type outage struct {
	*stack
	links   []link
	version int
	healthy []time.Duration // p99 by edge, the worst of all healthy times
	clicked int             // answers to GET, on the first link
}

func (o *outage) dead(t *testing.T, names []string) {
	t.Helper()
	var releases []func()
	for _, name := range names {
		releases = append(releases, o.hold(t, name))
		o.kill(t, name)
	}
	o.underFault(t, deadFor)
	for _, release := range releases {
		release()
	}
	o.recovered(t)
}

// hung stops processes without ending them: connections stand, and nothing answers.
func (o *outage) hung(t *testing.T, names []string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("finds the processes of PostgreSQL in /proc")
	}
	var pids []int
	resume := func() {
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGCONT) // a process of PostgreSQL may have ended
		}
	}
	defer resume()
	stop := func(family ...int) {
		for _, pid := range family {
			pids = append(pids, pid)
			if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil && !errors.Is(err, syscall.ESRCH) {
				t.Fatal(err)
			}
		}
	}
	for _, name := range names {
		pid, err := o.pid(name)
		if err != nil {
			t.Fatal(err)
		}
		stop(pid) // first: a child that it makes while the others are looked for would go on answering
		stop(children(t, pid)...)
	}
	o.underFault(t, hungFor)
	resume()
	o.recovered(t)
}

// children are those of a process, which of PostgreSQL are those that answer.
func children(t *testing.T, parent int) (pids []int) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		// "pid (name) state parent ...", and the name may hold anything.
		_, rest, _ := strings.Cut(string(text[strings.LastIndexByte(string(text), ')')+1:]), " ")
		fields := strings.Fields(rest)
		if len(fields) < 2 || fields[1] != strconv.Itoa(parent) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

// recovered waits until all is well again by itself, and an edit goes its way.
func (o *outage) recovered(t *testing.T) {
	t.Helper()
	took := o.eventually(t, time.Minute, "everything is ready again", func(ctx context.Context) error {
		for _, port := range o.adminPorts() {
			if status, body, err := get(ctx, fmt.Sprintf("http://127.0.0.1:%d/readyz", port)); err != nil || status != http.StatusOK {
				return fmt.Errorf("port %d: %d %s %w", port, status, body, err)
			}
		}
		return nil
	})
	o.version++
	for _, l := range o.links {
		body := fmt.Sprintf(`{"destination":%q}`, target(l.Slug, o.version))
		if status := o.call(t, http.MethodPatch, "/v1/links/"+l.ID, body, nil); status != http.StatusOK {
			t.Fatalf("editing %s: status %d", l.Slug, status)
		}
	}
	o.awaitTargets(t)
	t.Logf("ready after %v", took.Round(time.Millisecond))
	o.measureHealthy(t)
}

func (o *outage) awaitTargets(t *testing.T) {
	t.Helper()
	for _, l := range o.links {
		o.eventually(t, freshness, "all edges follow", func(ctx context.Context) error {
			for _, edge := range o.edges() { // by HEAD, which does not count
				status, location, _, err := visit(ctx, http.MethodHead, edge, l.Slug)
				if want := target(l.Slug, o.version); err != nil || status != http.StatusFound || location != want {
					return fmt.Errorf("%s: %d %s %w, want %s", edge, status, location, err, want)
				}
			}
			return nil
		})
	}
}

func (o *outage) measureHealthy(t *testing.T) {
	t.Helper()
	for i, got := range o.measure(t, healthyFor/time.Duration(1+o.version)) {
		o.healthy[i] = max(o.healthy[i], percentile(got.links, 99))
	}
}

func (o *outage) underFault(t *testing.T, length time.Duration) {
	t.Helper()
	for i, got := range o.measure(t, length) {
		p99, nothing := percentile(got.links, 99), percentile(got.nothing, 99)
		limit := 2 * max(o.healthy[i], nothing, quickEnough)
		t.Logf("edge %d: %d visits, p99 %v, longest %v, %d waited; healthy p99 %v, without a look-up %v",
			i, len(got.links), p99, got.links[len(got.links)-1], got.waited, o.healthy[i], nothing)
		if got.waited*100 > len(got.links) {
			t.Errorf("edge %d: %d of %d visits waited for something: %v", i, got.waited, len(got.links), got.waiting)
		}
		if p99 > limit {
			t.Errorf("edge %d: p99 is %v, want %v at most", i, p99, limit)
		}
	}
}

func (o *outage) addUp(t *testing.T) {
	first := o.links[0]
	o.eventually(t, time.Minute, "every redirect is a click", func(ctx context.Context) error {
		dropped, err := metric(ctx, "clicks_dropped_total", 9080+o.base, 9081+o.base, 9180+o.base, 9181+o.base)
		if err != nil || dropped != 0 {
			return fmt.Errorf("%v clicks were dropped %w", dropped, err)
		}
		if got := o.clicks(t, first.ID); got != o.clicked {
			return fmt.Errorf("%d clicks, want %d", got, o.clicked)
		}
		return nil
	})
	t.Logf("%d visits of one link are as many clicks", o.clicked)
}

// waits are how long an edge's answers took, in order.
type waits struct {
	links   []time.Duration
	nothing []time.Duration // those to what no look-up is made for
	waited  int             // how many were much longer than the one beside it
	waiting map[string]int  // the same by link, source and second
}

// measure visits all edges at a steady rate, whether they answer or not, and wants
// redirects to the right target alone. A wait begins when the visit was due.
func (o *outage) measure(t *testing.T, length time.Duration) []waits {
	t.Helper()
	const every = 10 * time.Millisecond // 100 a second to each edge, and as many beside
	ctx := context.WithoutCancel(t.Context())
	type answers struct {
		link, nothing time.Duration
		from          string
	}
	edges, turns := o.edges(), int(length/every)
	took := make([][]answers, len(edges)) // by edge and turn
	for i := range took {
		took[i] = make([]answers, turns)
	}
	var asked sync.WaitGroup
	tick := time.NewTicker(every / 2)
	defer tick.Stop()
	begun := time.Now()
	for turn := range turns {
		due := begun.Add(time.Duration(turn) * every)
		for time.Until(due) > 0 {
			<-tick.C
		}
		l := o.links[turn%len(o.links)]
		if turn%len(o.links) == 0 {
			o.clicked += len(edges)
		}
		for edge, url := range edges {
			asked.Go(func() {
				status, location, cache, err := visit(ctx, http.MethodGet, url, l.Slug)
				if err != nil || status != http.StatusFound || location != target(l.Slug, o.version) {
					t.Errorf("edge %d: %s: %d %q from %s: %v", edge, l.Slug, status, location, cache, err)
				}
				took[edge][turn].link, took[edge][turn].from = time.Since(due), cache
			})
			asked.Go(func() {
				if status, _, err := get(ctx, url+"/robots.txt"); err != nil || status != http.StatusOK {
					t.Errorf("edge %d: robots.txt: %d %v", edge, status, err)
				}
				took[edge][turn].nothing = time.Since(due)
			})
		}
	}
	asked.Wait()
	got := make([]waits, len(edges))
	for edge := range edges {
		w := &got[edge]
		w.waiting = map[string]int{}
		for _, a := range took[edge] {
			w.links, w.nothing = append(w.links, a.link), append(w.nothing, a.nothing)
		}
		slices.Sort(w.links)
		slices.Sort(w.nothing)
		for turn, a := range took[edge] {
			if a.link-a.nothing > max(waited, percentile(w.nothing, 99)) {
				w.waited++
				w.waiting[fmt.Sprintf("%s from %s, second %d", o.links[turn%len(o.links)].Slug, a.from, turn*int(every)/int(time.Second))]++
			}
		}
	}
	return got
}
