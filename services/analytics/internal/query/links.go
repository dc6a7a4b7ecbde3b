package query

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
)

// Order is what a list of links is sorted by, the highest or latest first.
type Order string

// The closed list of orders.
const (
	ByClicks    Order = "clicks"
	ByLastClick Order = "last_click"
	ByCreation  Order = "created"
)

// LinkFacts are what is known of a link, as the last change said.
type LinkFacts struct {
	Host        string    `json:"host" doc:"The domain's host"`
	Slug        string    `json:"slug"`
	Title       string    `json:"title"`
	Destination string    `json:"destination"`
	Tags        []string  `json:"tags" nullable:"false"`
	Archived    bool      `json:"archived"`
	CreatedAt   time.Time `json:"created_at"`
}

// LinkFigures is a link with its figures.
type LinkFigures struct {
	LinkID uuid.UUID `json:"link_id"`
	Counts
	LastClickAt *time.Time `json:"last_click_at" doc:"When the last click came that counts, in the period or not; null when there is none"`
	Sparkline   []uint64   `json:"sparkline" nullable:"false" doc:"Clicks of each bucket; the buckets are those of the list"`
	Link        *LinkFacts `json:"link,omitempty" doc:"What the link is, some seconds after its last change at most; left out for a link that was deleted, and for a key without the scope links:read"`
}

// LinkList asks for a page of links.
type LinkList struct {
	Order    Order
	Limit    int
	Points   int // of each sparkline; 0 for none
	Text     string
	Archived *bool
	After    *LinkPosition
}

// LinkPosition is the place of a link in a list.
type LinkPosition struct {
	Figure uint64
	Link   uuid.UUID
}

// LinkPage is an answer to a LinkList.
type LinkPage struct {
	Buckets []time.Time
	Links   []LinkFigures
	Next    *LinkPosition
}

// Links returns a page of links with their figures: one statement finds the page, and
// one, however long the page is, its figures. The question's filters are of links only.
// Links that the filters name are there, deleted or not.
func (c *ClickHouse) Links(ctx context.Context, q *Question, l LinkList) (LinkPage, error) {
	page := LinkPage{Links: []LinkFigures{}, Buckets: spark(q.Period, l.Points)}
	figures := []uint64{}
	s := &sql{}
	q.writePage(s, l)
	err := c.each(ctx, s, func(rows driver.Rows) error {
		var (
			link    LinkFigures
			facts   LinkFacts
			figure  uint64
			deleted bool
		)
		if err := rows.Scan(&link.LinkID, &figure, &deleted, &facts.Host, &facts.Slug, &facts.Title, &facts.Destination,
			&facts.Tags, &facts.Archived, &facts.CreatedAt); err != nil {
			return err
		}
		if facts.CreatedAt = facts.CreatedAt.UTC(); !deleted {
			link.Link = &facts
		}
		link.Sparkline = make([]uint64, len(page.Buckets))
		page.Links, figures = append(page.Links, link), append(figures, figure)
		return nil
	})
	if err != nil || len(page.Links) == 0 {
		return page, err
	}
	if len(page.Links) > l.Limit {
		page.Links = page.Links[:l.Limit]
		page.Next = &LinkPosition{Figure: figures[l.Limit-1], Link: page.Links[l.Limit-1].LinkID}
	}
	return page, c.fill(ctx, q, &page)
}

// writePage selects the links of a page, and one more, with what they are sorted by.
func (q *Question) writePage(s *sql, l LinkList) {
	s.bind("workspace", q.Workspace.String())
	s.write("SELECT link_id, figure, deleted, host, slug, title, destination, tags, archived, created_at FROM (SELECT link_id, ")
	switch l.Order {
	case ByClicks:
		s.write("counted_clicks")
	case ByLastClick:
		s.write("counted_last")
	case ByCreation:
		s.write("toUInt64(toUnixTimestamp64Milli(created_at))")
	default:
		panic("unknown order " + string(l.Order))
	}
	s.write(" AS figure, deleted, host, slug, title, destination, tags, archived, created_at FROM ")
	q.writeLinks(s, l)
	switch l.Order {
	case ByClicks:
		of := *q
		of.Filters = nil // of links that are left out anyway
		s.write(" LEFT JOIN (")
		of.writeClicks(s, Link, linkKey("link_id"))
		s.write(") AS counted USING (link_id)")
	case ByLastClick:
		s.write(" LEFT JOIN (")
		q.writeLast(s, "")
		s.write(") AS counted USING (link_id)")
	case ByCreation:
	}
	s.write(")")
	if l.After != nil {
		s.bind("after_figure", l.After.Figure)
		s.bind("after_link", l.After.Link.String())
		s.write(" WHERE (figure, UUIDToNum(link_id)) < ({after_figure:UInt64}, UUIDToNum({after_link:UUID}))")
	}
	// ClickHouse orders UUIDs by their second half; as numbers the younger link is higher.
	s.write(" ORDER BY figure DESC, UUIDToNum(link_id) DESC LIMIT {rows:UInt32}")
	s.bind("rows", l.Limit+1)
}

// writeLinks selects the links that the list is of.
func (q *Question) writeLinks(s *sql, l LinkList) {
	var named []string
	for _, f := range q.Filters {
		if f.Dimension == Link && !f.Not {
			named = append(named, f.Values...)
		}
	}
	s.write("(SELECT link_id, deleted, host, slug, title, destination, tags, archived, created_at FROM ")
	if len(named) > 0 {
		slices.Sort(named)
		list := make([]string, 0, len(named))
		for _, id := range slices.Compact(named) {
			list = append(list, s.value("UUID", id))
		}
		s.write("(SELECT arrayJoin([", strings.Join(list, ", "), "]) AS link_id) AS named LEFT JOIN ")
	}
	s.write("(SELECT link_id, deleted, host, slug, title, destination, tags, archived, created_at FROM links FINAL WHERE workspace_id = {workspace:UUID}")
	if len(named) == 0 {
		s.write(" AND NOT deleted")
	}
	s.write(") AS facts")
	if len(named) > 0 {
		s.write(" USING (link_id)")
	}
	s.write(" WHERE 1")
	for _, f := range q.Filters {
		if f.Dimension == Tag {
			has := "arrayExists(tag -> " + s.among("tag", "String", f.Values, false) + ", tags)"
			if f.Not {
				has = "NOT " + has
			}
			s.write(" AND ", has)
			continue
		}
		s.write(" AND ", f.condition(s))
	}
	if l.Archived != nil {
		s.bind("archived", *l.Archived)
		s.write(" AND archived = {archived:Bool}")
	}
	if l.Text != "" {
		s.bind("text", strings.ToLower(l.Text))
		s.write(" AND (position(lowerUTF8(title), {text:String}) > 0 OR position(lowerUTF8(slug), {text:String}) > 0 OR position(lowerUTF8(destination), {text:String}) > 0)")
	}
	s.write(") AS listed")
}

func linkKey(name string) key {
	return key{name: name, day: "link_id", hour: "link_id", raw: "link_id", settled: "toUUID(name)"}
}

// writeLast selects when the last click came that counts, in milliseconds since 1970,
// for each link that was ever clicked, as the projection by month has it.
func (q *Question) writeLast(s *sql, more string) {
	s.write("SELECT link_id, toUInt64(toUnixTimestamp64Milli(maxIf(last, ", q.Bots.counted(), "))) AS counted_last FROM (SELECT link_id, bot, max(last_click) AS last FROM clicks_by_link WHERE workspace_id = {workspace:UUID} AND link_id != '",
		noLink, "'", more, " GROUP BY link_id, bot) GROUP BY link_id")
}

// fill sets the figures of a page's links.
func (c *ClickHouse) fill(ctx context.Context, q *Question, page *LinkPage) error {
	ids := make([]string, len(page.Links))
	at := make(map[uuid.UUID]*LinkFigures, len(page.Links))
	for i := range page.Links {
		ids[i] = page.Links[i].LinkID.String()
		at[page.Links[i].LinkID] = &page.Links[i]
	}
	of := *q
	of.Filters = []Filter{{Dimension: Link, Values: ids}}
	bounds := []uint32{uint32(max(q.Period.From.Unix(), 0))} // one bucket, when there are no sparklines
	for n, t := range page.Buckets {
		bounds = append(bounds[:n], uint32(t.Unix()))
	}
	if err := c.know(ctx, &of, Link); err != nil {
		return err
	}
	s := &sql{}
	s.bind("workspace", q.Workspace.String())
	s.bind("bounds", bounds)
	s.write("SELECT link_id, counted_last, clicks, visitors, bots, points.1, points.2 FROM (")
	q.writeLast(s, " AND "+of.Filters[0].condition(s))
	s.write(") AS last LEFT JOIN (SELECT counted_link AS link_id, sum(counted_clicks) AS clicks, sum(counted_visitors) AS visitors, sum(counted_bots) AS bots, sumMap([bucket], [counted_clicks]) AS points FROM (")
	of.writeCounts(s, Link, []key{linkKey("counted_link"), bucketKey("bucket")}, bounds)
	s.write(") GROUP BY link_id) AS counted USING (link_id)")
	return c.each(ctx, s, func(rows driver.Rows) error {
		var (
			id     uuid.UUID
			last   uint64
			counts Counts
			starts []uint32
			values []uint64
		)
		if err := rows.Scan(&id, &last, &counts.Clicks, &counts.UniqueVisitors, &counts.BotClicks, &starts, &values); err != nil {
			return err
		}
		link := at[id]
		if link == nil {
			return fmt.Errorf("the answer has the link %s, which was not asked for", id)
		}
		link.Counts = counts
		if last > 0 {
			t := time.UnixMilli(int64(last)).UTC()
			link.LastClickAt = &t
		}
		for i, start := range starts {
			if n := slices.Index(bounds, start); n >= 0 && n < len(link.Sparkline) {
				link.Sparkline[n] = values[i]
			}
		}
		return nil
	})
}

// spark cuts a period into at most so many buckets of whole hours of UTC (but for the
// first one's beginning), as even as that allows.
func spark(p Period, points int) []time.Time {
	out := []time.Time{}
	if points == 0 {
		return out
	}
	length := p.To.Sub(p.From)
	for i := range points {
		t := p.From.Add(length / time.Duration(points) * time.Duration(i))
		if i > 0 {
			t = t.Truncate(time.Hour)
		}
		if i == 0 || t.After(out[len(out)-1]) {
			out = append(out, t.UTC())
		}
	}
	return out
}

// LinksWith returns the links that have one of the tags now.
func (c *ClickHouse) LinksWith(ctx context.Context, workspace uuid.UUID, tags []string) ([]uuid.UUID, error) {
	s := &sql{}
	s.bind("workspace", workspace.String())
	s.write("SELECT link_id FROM links FINAL WHERE workspace_id = {workspace:UUID} AND NOT deleted AND arrayExists(tag -> ", s.among("tag", "String", tags, false), ", tags)")
	var out []uuid.UUID
	err := c.each(ctx, s, func(rows driver.Rows) error {
		var id uuid.UUID
		if err := rows.Scan(&id); err != nil {
			return err
		}
		out = append(out, id)
		return nil
	})
	return out, err
}
