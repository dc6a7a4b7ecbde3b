package scenario

import (
	"context"
	"time"

	"github.com/linkstream/linkstream/loadtest/internal/bench"
	"github.com/linkstream/linkstream/loadtest/internal/load"
	"github.com/linkstream/linkstream/loadtest/internal/report"
	"github.com/linkstream/linkstream/loadtest/internal/wire"
)

const (
	hotLinks = 500
	// calmFor is how long the hot links are visited alone, to compare with.
	calmFor = 4 * time.Second
	// crawlSlugs is how many slugs a crawler tries, each once, and crawlKnown is how
	// many of a thousand are links. Who asks for the others asks the origin.
	crawlSlugs, crawlKnown = 50_000, 800
	// monitored is how many links a monitor visits every minute.
	monitored   = 18_000
	monitorName = "Mozilla/5.0+(compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)"
)

// crowd is visited beside hot links, each link at a time of its own.
type crowd struct {
	kinds []bench.Kind
	rate  float64 // a second
	count int
	link  func(i int) (kind uint8, link int32)
	while string
}

// crawl tries 50,000 slugs, each once, of which most are links, beside a hot load.
func crawl(ctx context.Context, b *bench.Bench) error {
	known, err := b.API.MakeLinks(ctx, crawlSlugs*crawlKnown/1000)
	if err != nil {
		return err
	}
	// Numbers behind those of the links are slugs that nobody has.
	first, isLink := known[0].Number, int32(len(known))
	unknown := bench.Links("unknown slugs")
	unknown.Clicks = false
	// An edge puts only so many questions to the origin at the same time. What it does
	// not ask for is told to come again.
	unknown.Right = func(v *load.Visit) bool { return v.Status == 404 || v.Status == 503 }
	return beside(ctx, b, crowd{
		kinds: []bench.Kind{bench.Links("one-off links"), unknown},
		rate:  crawlSlugs / b.Duration.Seconds(), count: crawlSlugs, while: "a crawler comes by",
		link: func(i int) (uint8, int32) {
			const step = 7_919 // prime to the number: known and unknown ones in turn
			n := int32(i * step % crawlSlugs)
			if n < isLink {
				return 0, first + n
			}
			return 1, first + n
		},
	})
}

// monitor visits 18,000 links every minute, as uptime monitors do, beside a hot load.
func monitor(ctx context.Context, b *bench.Bench) error {
	rate := monitored / time.Minute.Seconds()
	count := int(rate * b.Duration.Seconds())
	links, err := b.API.MakeLinks(ctx, min(monitored, count))
	if err != nil {
		return err
	}
	kind, request := bench.Links("monitored links"), wire.NewRequestBy(monitorName, bench.Domain)
	kind.Request = func(n int32) []byte { return request.For(int(n)) }
	if err := beside(ctx, b, crowd{
		kinds: []bench.Kind{kind}, rate: rate, count: count, while: "monitors come by",
		link: func(i int) (uint8, int32) { return 0, links[i%len(links)].Number },
	}); err != nil {
		return err
	}
	b.Result.Promise(report.Done("visits of monitors are counted as robots'", b.Result.Clicks.Bots, count))
	return nil
}

// beside sends a crowd beside the load of hot links, and compares what the hot ones
// get from memory with what they got before.
func beside(ctx context.Context, b *bench.Bench, c crowd) error {
	hot, err := b.API.MakeLinks(ctx, hotLinks)
	if err != nil {
		return err
	}
	if err := b.Warm(ctx, bench.Numbers(hot)); err != nil {
		return err
	}
	next, err := b.Hot(bench.Numbers(hot))
	if err != nil {
		return err
	}
	kinds := append([]bench.Kind{bench.Links("hot links")}, c.kinds...)
	b.Say("hot links alone")
	before, err := b.Drive(ctx, bench.Traffic{Rate: b.Rate, Count: int(b.Rate * calmFor.Seconds()), Kinds: kinds, Next: next}, nil)
	if err != nil {
		return err
	}
	b.Result.Phases[len(b.Result.Phases)-1].Name = "alone"
	memory, err := b.Stack.EdgeSum(ctx, "cache_l1_memory_bytes")
	if err != nil {
		return err
	}
	b.Say("and now %s: %d visits, %.0f a second", c.while, c.count, c.rate)
	total := b.Rate + c.rate
	asked, edges := 0, len(b.Edges)
	during, err := b.Drive(ctx, bench.Traffic{
		Rate: total, Count: int(float64(c.count) * total / c.rate), Kinds: kinds, Plot: "beside a crowd",
		Next: func(i int) bench.Ask {
			// The crowd's share so far decides whose turn it is.
			if asked < c.count && float64(asked) < float64(i+1)*c.rate/total {
				kind, link := c.link(asked)
				asked++
				return bench.Ask{Edge: asked % edges, Kind: kind + 1, Link: link}
			}
			return next(i)
		},
	}, nil)
	if err != nil {
		return err
	}
	now, err := b.Stack.EdgeSum(ctx, "cache_l1_memory_bytes")
	if err != nil {
		return err
	}
	sent := 0
	b.Result.Promise(report.Redirected(b.Result.Phases, "hot links"), report.HitsHold(c.while, before.Row("load", 0, -1), during.Row("load", 0, -1)))
	for k, kind := range c.kinds {
		row := during.Row("load", k+1, -1)
		sent += row.Sent
		b.Result.Add(kind.Name+" were answered from", "memory %d, Redis %d, the origin %d", row.ByCache["l1"], row.ByCache["l2"], row.ByCache["origin"])
		b.Result.Promise(report.Redirected(b.Result.Phases, kind.Name))
	}
	b.Result.Add("the edges' caches took", "%s, then %s", report.Megabytes(memory), report.Megabytes(now))
	b.Result.Promise(report.Done("visits of the crowd", sent, c.count))
	return b.Count(ctx)
}
