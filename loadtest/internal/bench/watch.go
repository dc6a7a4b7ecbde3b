package bench

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/linkstream/linkstream/loadtest/internal/load"
	"github.com/linkstream/linkstream/loadtest/internal/report"
	"github.com/linkstream/linkstream/loadtest/internal/wire"
)

// Watch edits links and knows from the answers when each edge showed the new target
// first and the one before last, counted from the acknowledgment of the edit.
type Watch struct {
	api   *API
	links []Link
	edges []Edge
	start time.Time
	focus atomic.Int32 // index of the link that was edited last

	mu      sync.Mutex
	acked   map[int32][]time.Time // by link: when target number n was acknowledged
	late    map[sighting]time.Duration
	first   map[sighting]time.Duration
	refused int
}

// sighting is an edit as seen at one edge.
type sighting struct {
	edge int
	link int32
	n    int
}

// Watch returns a watch of links that were just made.
func (b *Bench) Watch(links []Link) *Watch {
	w := &Watch{
		api: b.API, links: links, edges: b.Edges, start: time.Now(),
		acked: map[int32][]time.Time{}, late: map[sighting]time.Duration{}, first: map[sighting]time.Duration{},
	}
	for _, l := range links {
		w.acked[l.Number] = []time.Time{w.start}
	}
	return w
}

const editMark = "?edit="

// targetOf edit number n of a link. Number 0 is the target that the link was made with.
func targetOf(link int32, n int) string {
	slug := wire.Slug(int(link))
	if n == 0 {
		return wire.Target(slug)
	}
	return "https://www.example.com/articles/" + slug + editMark + strconv.Itoa(n)
}

// editIn is the number of the edit that a Location is the target of; false for what is
// none of this link.
func editIn(location []byte, link int32) (int, bool) {
	if wire.Leads(location, int(link)) {
		return 0, true
	}
	at := bytes.Index(location, []byte(editMark))
	if at < wire.SlugLen {
		return 0, false
	}
	var slug [wire.SlugLen]byte
	wire.PutSlug(slug[:], int(link))
	n, err := strconv.Atoi(string(location[at+len(editMark):]))
	return n, err == nil && n > 0 && string(location[at-wire.SlugLen:at]) == string(slug[:])
}

// Kind is that of visits of watched links: every target they ever had is right, and
// how old it may be is another question.
func (w *Watch) Kind(name string) Kind {
	k := Links(name)
	k.Right = func(v *load.Visit) bool {
		_, ok := editIn(v.Location, v.Key)
		return v.Status == 302 && ok
	}
	return k
}

// Next asks all edges in turn, every other time for the link that was edited last.
func (w *Watch) Next(i int) Ask {
	turn := i / len(w.edges)
	link := int(w.focus.Load())
	if turn%2 == 1 {
		link = turn / 2 % len(w.links)
	}
	return Ask{Edge: i % len(w.edges), Link: w.links[link].Number}
}

// Saw takes an answer of a watched link.
func (w *Watch) Saw(v *load.Visit) {
	if v.Outcome != load.Answered || v.Status != 302 {
		return
	}
	n, ok := editIn(v.Location, v.Key)
	if !ok {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	acked := w.acked[v.Key]
	if n > 0 && n < len(acked) {
		at := sighting{v.Server, v.Key, n}
		if _, seen := w.first[at]; !seen {
			w.first[at] = max(0, v.Ended.Sub(acked[n]))
		}
	}
	if n+1 < len(acked) {
		// The edge decides after the request was sent: measured from there no answer
		// seems older than it was.
		at := sighting{v.Server, v.Key, n + 1}
		w.late[at] = max(w.late[at], v.Sent.Sub(acked[n+1]))
	}
}

// Edit changes links, chosen by chance, one every time for a while. An edit that the
// API does not take is tried again.
func (w *Watch) Edit(ctx context.Context, every, length time.Duration) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for begun := time.Now(); time.Since(begun) < length; {
		if err := w.editOne(ctx, rand.IntN(len(w.links))); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}

// EditAll changes each link once, and waits until no old target may be served any more.
func (w *Watch) EditAll(ctx context.Context) error {
	for i := range w.links {
		if err := w.editOne(ctx, i); err != nil {
			return err
		}
	}
	return Pause(ctx, report.FreshWorst+report.FreshWorst/10)
}

func (w *Watch) editOne(ctx context.Context, i int) error {
	l := w.links[i]
	w.focus.Store(int32(i))
	w.mu.Lock()
	n := len(w.acked[l.Number])
	w.mu.Unlock()
	for {
		err := w.api.Edit(ctx, l.ID, targetOf(l.Number, n))
		now := time.Now()
		w.mu.Lock()
		if err == nil {
			w.acked[l.Number] = append(w.acked[l.Number], now)
			w.mu.Unlock()
			return nil
		}
		w.refused++
		w.mu.Unlock()
		if pause := Pause(ctx, pollEvery); pause != nil {
			return fmt.Errorf("editing: %w", err)
		}
	}
}

// Sighted is what an edge showed of all edits.
type Sighted struct {
	Edge                        string
	Edits                       int
	FirstP50, FirstP99          time.Duration
	LastP50, LastP99, LastWorst time.Duration
}

// Sighted says what each edge showed. An edit of which an edge showed nothing old
// counts as followed at once.
func (w *Watch) Sighted() []Sighted {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make([]Sighted, len(w.edges))
	for e := range w.edges {
		var last, first []time.Duration
		for link, acked := range w.acked {
			for n := 1; n < len(acked); n++ {
				at := sighting{e, link, n}
				last = append(last, max(0, w.late[at]))
				if seen, ok := w.first[at]; ok {
					first = append(first, seen)
				}
			}
		}
		slices.Sort(last)
		slices.Sort(first)
		all[e] = Sighted{
			Edge: w.edges[e].Name, Edits: len(last), FirstP50: quantile(first, 50), FirstP99: quantile(first, 99),
			LastP50: quantile(last, 50), LastP99: quantile(last, 99), LastWorst: quantile(last, 100),
		}
	}
	return all
}

// quantile of values in order, by rank; 0 of none.
func quantile(sorted []time.Duration, q int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(0, (len(sorted)*q+99)/100-1)]
}

// Report notes what each edge showed; how quickly is promised only where asked for.
func (w *Watch) Report(r *report.Result, quickly bool) {
	plot := report.Plot{
		Title: "The last old target after an edit was acknowledged", Across: "s", Up: "ms",
		Limits: []report.Line{{Name: "50 ms", Y: float64(report.FreshP99.Milliseconds())}},
	}
	for e, s := range w.Sighted() {
		r.Add("edits at "+s.Edge, "new target first seen after p50 %s, p99 %s; old one last after p50 %s, p99 %s, at most %s; %d edits",
			report.Duration(s.FirstP50), report.Duration(s.FirstP99), report.Duration(s.LastP50), report.Duration(s.LastP99), report.Duration(s.LastWorst), s.Edits)
		if quickly {
			r.Promise(report.Fresh(s.Edge, s.Edits, s.LastP99))
		}
		r.Promise(report.NeverOld(s.Edge, s.Edits, s.LastWorst))
		plot.Series = append(plot.Series, report.Series{Name: s.Edge, Points: w.course(e)})
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refused > 0 {
		r.Add("edits that the API did not take at first", "%d", w.refused)
	}
	r.Plots = append(r.Plots, plot)
}

// course is how old the last old target was, by the time of the edit.
func (w *Watch) course(edge int) [][2]float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	var points [][2]float64
	for link, acked := range w.acked {
		for n := 1; n < len(acked); n++ {
			late := max(0, w.late[sighting{edge, link, n}])
			points = append(points, [2]float64{acked[n].Sub(w.start).Seconds(), float64(late) / float64(time.Millisecond)})
		}
	}
	slices.SortFunc(points, func(a, b [2]float64) int {
		if a[0] < b[0] {
			return -1
		}
		return 1
	})
	return points
}
