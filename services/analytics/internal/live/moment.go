package live

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/internal/enrich"
)

const (
	// Window is how far back a moment looks.
	Window = 5 * time.Minute
	bucket = 5 * time.Second
	// recent and top bound the lists of a moment.
	recent = 20
	top    = 10
)

// Moment is what is going on: one event of the live stream.
type Moment struct {
	T              time.Time    `json:"t" doc:"When the event was made"`
	Clicks         uint64       `json:"clicks" doc:"Clicks of the window; without bots unless bots says otherwise"`
	UniqueVisitors uint64       `json:"unique_visitors" doc:"Visitors among them"`
	BotClicks      uint64       `json:"bot_clicks" doc:"Clicks of bots in the window"`
	WindowSeconds  int          `json:"window_seconds" doc:"How long the window is that ends with t; shorter than five minutes where there were more clicks than are kept"`
	BucketSeconds  int          `json:"bucket_seconds" doc:"How long a bucket is"`
	Buckets        []LiveBucket `json:"buckets" nullable:"false" doc:"Five minutes cut into buckets, the oldest first; the last one is not over yet"`
	Top            LiveTop      `json:"top" doc:"What had the most clicks in the window"`
	Recent         []LiveClick  `json:"recent" nullable:"false" doc:"The newest clicks, the newest first, 20 at most"`
	Delayed        bool         `json:"delayed" doc:"Clicks cannot be read right now: the figures lack the newest"`
}

// LiveBucket is a few seconds.
type LiveBucket struct {
	T         time.Time `json:"t" doc:"When the bucket starts"`
	Clicks    uint64    `json:"clicks"`
	BotClicks uint64    `json:"bot_clicks"`
}

// LiveTop are the values with the most clicks, ten of each at most.
type LiveTop struct {
	Links     []LiveValue `json:"links" nullable:"false" doc:"By the link's id"`
	Countries []LiveValue `json:"countries" nullable:"false"`
	Referrers []LiveValue `json:"referrers" nullable:"false"`
}

// LiveValue is a value and its clicks.
type LiveValue struct {
	Value  string `json:"value"`
	Clicks uint64 `json:"clicks"`
}

// LiveClick is one click.
type LiveClick struct {
	ID         uuid.UUID `json:"id"`
	T          time.Time `json:"t"`
	LinkID     uuid.UUID `json:"link_id"`
	Host       string    `json:"host"`
	Slug       string    `json:"slug" doc:"In the form that look-ups use"`
	Status     int       `json:"status"`
	EdgeRegion string    `json:"edge_region"`
	Country    string    `json:"country" doc:"Empty when it is unknown, as all texts"`
	Region     string    `json:"region"`
	City       string    `json:"city"`
	Device     string    `json:"device"`
	OS         string    `json:"os"`
	Browser    string    `json:"browser"`
	Referrer   string    `json:"referrer"`
	Source     string    `json:"source"`
	Variant    int       `json:"variant"`
	Rule       int       `json:"rule"`
	Bot        bool      `json:"bot"`
	BotKind    string    `json:"bot_kind"`
}

// momentOf looks at the rows of a workspace as a viewer wants it.
func momentOf(rows []enrich.Row, v *view, now time.Time, kept time.Duration) *Moment {
	last := now.Truncate(bucket)
	first := last.Add(bucket - Window)
	m := &Moment{
		T: now.UTC(), WindowSeconds: int(min(kept, Window) / time.Second), BucketSeconds: int(bucket / time.Second),
		Buckets: make([]LiveBucket, Window/bucket), Recent: []LiveClick{},
	}
	for i := range m.Buckets {
		m.Buckets[i].T = first.Add(time.Duration(i) * bucket).UTC()
	}
	var (
		visitors             = map[uint64]struct{}{}
		links                = map[uuid.UUID]uint64{}
		countries, referrers = map[string]uint64{}, map[string]uint64{}
		newest               []*enrich.Row
		begin, end           = first.UnixMilli(), now.UnixMilli()
	)
	for i := range rows {
		r := &rows[i]
		if r.TimeUnixMilli < begin || !v.matches(r) {
			continue
		}
		// An edge's clock that is ahead makes a click of now.
		b := &m.Buckets[min((min(r.TimeUnixMilli, end)-begin)/bucket.Milliseconds(), int64(len(m.Buckets)-1))]
		if r.Bot {
			m.BotClicks++
			b.BotClicks++
		}
		if !v.counts(r) {
			continue
		}
		m.Clicks++
		b.Clicks++
		visitors[r.Visitor] = struct{}{}
		links[r.LinkID]++
		countries[r.Place.Country]++
		referrers[r.Referrer]++
		newest = keepNewest(newest, r)
	}
	m.UniqueVisitors = uint64(len(visitors))
	m.Top = LiveTop{Links: most(links, uuid.UUID.String), Countries: most(countries, itself), Referrers: most(referrers, itself)}
	for _, r := range newest {
		m.Recent = append(m.Recent, clickOf(r))
	}
	return m
}

func itself(s string) string { return s }

// keepNewest inserts a row into a short list of the newest, the newest first.
func keepNewest(newest []*enrich.Row, r *enrich.Row) []*enrich.Row {
	if len(newest) == recent && newest[recent-1].TimeUnixMilli >= r.TimeUnixMilli {
		return newest
	}
	at, _ := slices.BinarySearchFunc(newest, r, func(a, b *enrich.Row) int { return cmp.Compare(b.TimeUnixMilli, a.TimeUnixMilli) })
	newest = slices.Insert(newest, at, r)
	return newest[:min(len(newest), recent)]
}

// most lists the keys with the highest counts.
func most[K comparable](counts map[K]uint64, text func(K) string) []LiveValue {
	out := make([]LiveValue, 0, len(counts))
	for k, n := range maps.All(counts) {
		out = append(out, LiveValue{text(k), n})
	}
	slices.SortFunc(out, func(a, b LiveValue) int {
		return cmp.Or(cmp.Compare(b.Clicks, a.Clicks), cmp.Compare(a.Value, b.Value))
	})
	return out[:min(len(out), top)]
}

func clickOf(r *enrich.Row) LiveClick {
	return LiveClick{
		ID: r.ClickID, T: time.UnixMilli(r.TimeUnixMilli).UTC(), LinkID: r.LinkID, Host: r.Host, Slug: r.Slug, Status: int(r.Status),
		EdgeRegion: r.EdgeRegion, Country: r.Place.Country, Region: r.Place.Region, City: r.Place.City, Device: r.Device, OS: r.OS, Browser: r.Browser,
		Referrer: r.Referrer, Source: r.Source, Variant: int(r.Variant), Rule: int(r.Rule), Bot: r.Bot, BotKind: r.BotKind,
	}
}
