package scenario

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/linkstream/linkstream/loadtest/internal/madeup"
	"github.com/linkstream/linkstream/loadtest/internal/report"
	"github.com/linkstream/linkstream/loadtest/internal/rig"
)

const (
	// panelCalls is how often each panel is asked: a p95 needs some twenty.
	panelCalls = 50
	panelWarm  = 2
	panelLimit = 30 * time.Second
	// mergeLimit bounds the wait for merges after the clicks are in.
	mergeLimit = 3 * time.Minute
)

// Analytics makes clicks and measures what the dashboard's panels ask. It starts what it
// needs itself.
type Analytics struct {
	Bin     string
	Environ []string
	Clicks  int
	// Folder keeps the stores, so that clicks which were made once can be asked for again;
	// "" throws them away.
	Folder string
	// Panels chooses those whose name it matches; nil are all.
	Panels  *regexp.Regexp
	Command string
}

// Run makes, measures, and says what came of it.
func (s Analytics) Run(ctx context.Context, progress io.Writer) (result *report.Analytics, err error) {
	if err := rig.CheckAnalytics(s.Bin); err != nil {
		return nil, err
	}
	result = &report.Analytics{Stamp: report.NewStamp(ctx, "analytics", s.Command), Clicks: s.Clicks}
	fmt.Fprintln(progress, "starting stores, links and analytics")
	r, err := rig.StartAnalytics(ctx, s.Bin, s.Folder, s.Environ)
	defer func() { err = errors.Join(err, r.Close(ctx)) }()
	if err != nil {
		return nil, err
	}
	address, name, err := r.ClickHouseAddr()
	if err != nil {
		return nil, err
	}
	db := madeup.Database{Address: address, Name: name, Workspace: r.Workspace(), Now: time.Now().UTC()}
	if err := s.made(ctx, r.Folder(), db, result, progress); err != nil {
		return nil, err
	}
	if err := r.ServeAnalytics(ctx); err != nil {
		return nil, err
	}
	if err := s.settled(ctx, r.Folder(), db, result, progress); err != nil {
		return nil, err
	}
	link, err := db.LinkID(ctx, 0)
	if err != nil {
		return nil, err
	}
	for _, p := range panels(link) {
		if s.Panels != nil && !s.Panels.MatchString(p.name) {
			continue
		}
		measured, err := s.measure(ctx, r, p)
		if err != nil {
			return nil, err
		}
		result.Panels = append(result.Panels, measured)
		fmt.Fprintf(progress, "  %-44s p50 %6.1f ms   p95 %6.1f ms\n", measured.Name, measured.P50, measured.P95)
	}
	return result, nil
}

func (s Analytics) fill(ctx context.Context, db madeup.Database, result *report.Analytics, progress io.Writer) error {
	if err := db.MakeLinks(ctx); err != nil {
		return err
	}
	fmt.Fprintf(progress, "making %d clicks of %d workspaces with %d links each\n", s.Clicks, madeup.Workspaces, madeup.Links)
	began := time.Now()
	told := began
	err := db.MakeClicks(ctx, s.Clicks, func(done int) {
		if time.Since(told) > 10*time.Second {
			told = time.Now()
			fmt.Fprintf(progress, "  %d of %d, %.0f a second\n", done, s.Clicks, float64(done)/time.Since(began).Seconds())
		}
	})
	if err != nil {
		return err
	}
	result.FillSeconds = time.Since(began).Seconds()
	fmt.Fprintf(progress, "made in %.0f s; waiting for merges\n", result.FillSeconds)
	began = time.Now()
	if err := settle(ctx, db); err != nil {
		return err
	}
	result.MergeSeconds = time.Since(began).Seconds()
	return nil
}

// settle waits until no merge runs, or long enough.
func settle(ctx context.Context, db madeup.Database) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	deadline := time.After(mergeLimit)
	for quiet := 0; quiet < 5; {
		running, err := db.Query(ctx, "SELECT count() FROM system.merges", nil)
		if err != nil {
			return err
		}
		if quiet++; running != "0" {
			quiet = 0
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-deadline:
			return nil
		case <-tick.C:
		}
	}
	return nil
}

// sizes asks for the bytes on disk of each table, its projections included.
func (s Analytics) sizes(ctx context.Context, db madeup.Database, result *report.Analytics) error {
	text, err := db.Query(ctx, "SELECT table, sum(bytes_on_disk), sum(rows), count() FROM system.parts WHERE active AND database = currentDatabase() AND table LIKE 'clicks%' GROUP BY table ORDER BY table", nil)
	if err != nil {
		return err
	}
	for line := range strings.Lines(text) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if len(fields) != 4 {
			return fmt.Errorf("ClickHouse answers %q for the sizes", line)
		}
		var numbers [3]int64
		for i := range numbers {
			if numbers[i], err = strconv.ParseInt(fields[i+1], 10, 64); err != nil {
				return fmt.Errorf("reading the sizes: %w", err)
			}
		}
		result.Tables = append(result.Tables, report.Table{Name: fields[0], Bytes: numbers[0], Rows: numbers[1], Parts: numbers[2], BytesPerClick: float64(numbers[0]) / float64(s.Clicks)})
	}
	return nil
}

// panel is one question of the dashboard.
type panel struct{ name, path string }

// panels lists what the dashboard asks on its pages. The link is the most popular one.
func panels(link string) []panel {
	var out []panel
	today := time.Now().UTC()
	period := func(days int) string {
		return "from=" + today.AddDate(0, 0, 1-days).Format(time.DateOnly) + "&to=" + today.Format(time.DateOnly) + "&tz=Europe/Berlin"
	}
	add := func(name, call, params string) {
		out = append(out, panel{name, "/v1/analytics/" + call + "?" + params})
	}
	pages := []struct{ name, filter string }{
		{"workspace", ""},
		{"link", "&link_id=" + link},
		{"domain", "&domain=go.test"},
		{"tag", "&tag=tag-3"},
		{"campaign", "&utm_campaign=campaign-0"},
	}
	for _, p := range pages {
		add(p.name+", totals", "totals", strings.TrimPrefix(p.filter, "&"))
		for _, days := range []int{1, 7, 30, 365} {
			interval := map[int]string{1: "hour", 7: "hour", 30: "day", 365: "week"}[days]
			name := fmt.Sprintf("%s, %d days, ", p.name, days)
			add(name+"summary", "summary", period(days)+p.filter)
			add(name+interval+"s", "timeseries", period(days)+p.filter+"&compare=previous&interval="+interval)
		}
		for _, by := range []string{"country", "city", "device", "browser", "os", "referrer", "utm_campaign", "language", "link"} {
			add(p.name+", 30 days, by "+by, "breakdown", period(30)+p.filter+"&by="+by)
		}
		add(p.name+", 365 days, by country", "breakdown", period(365)+p.filter+"&by=country")
		add(p.name+", 365 days, by referrer", "breakdown", period(365)+p.filter+"&by=referrer")
	}
	add("workspace, 30 days, by region", "breakdown", period(30)+"&by=region&limit=100")
	add("workspace, 365 days, by city", "breakdown", period(365)+"&by=city&limit=100")
	add("workspace, 365 days, by link", "breakdown", period(365)+"&by=link")
	add("workspace, 30 days, by tag", "breakdown", period(30)+"&by=tag")
	add("workspace, 90 days, days", "timeseries", period(90)+"&interval=day&compare=previous")
	add("workspace, 365 days, months", "timeseries", period(365)+"&interval=month&compare=previous")
	add("link, 30 days, by variant", "breakdown", period(30)+"&by=variant&link_id="+link)
	add("links, 30 days, by clicks", "links", period(30)+"&sort=clicks&sparkline=30")
	add("links, 365 days, by clicks", "links", period(365)+"&sort=clicks&sparkline=52")
	add("links, 30 days, by last click", "links", period(30)+"&sort=last_click&sparkline=30")
	add("links, 30 days, searched", "links", period(30)+"&sort=clicks&sparkline=30&q=number%20123")
	add("one country, 30 days, days", "timeseries", period(30)+"&country=AA&interval=day&compare=previous")
	add("one country, 30 days, by device", "breakdown", period(30)+"&country=AA&by=device")
	add("one country, mobile, 30 days, by browser", "breakdown", period(30)+"&country=AA&device=mobile&by=browser")
	add("one link and country, 30 days, by city", "breakdown", period(30)+"&country=AA&by=city&link_id="+link)
	return out
}

func (s Analytics) measure(ctx context.Context, r *rig.Rig, p panel) (report.Panel, error) {
	times := hdrhistogram.New(1, panelLimit.Microseconds(), 3)
	for n := range panelWarm + panelCalls {
		took, err := ask(ctx, r, p.path)
		if err != nil {
			return report.Panel{}, fmt.Errorf("asking for %s: %w", p.name, err)
		}
		if n >= panelWarm {
			_ = times.RecordValue(max(1, took.Microseconds())) // longer than the limit is an error already
		}
	}
	ms := func(q float64) float64 { return float64(times.ValueAtQuantile(q)) / 1000 }
	return report.Panel{Name: p.name, Path: p.path, P50: ms(50), P95: ms(95), P99: ms(99), Max: ms(100)}, nil
}

func ask(ctx context.Context, r *rig.Rig, path string) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, panelLimit)
	defer cancel()
	if _, err := url.Parse(path); err != nil {
		return 0, fmt.Errorf("building the address: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.AnalyticsURL()+path, http.NoBody)
	if err != nil {
		return 0, fmt.Errorf("building the request: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+r.Key())
	began := time.Now()
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	took := time.Since(began)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %.300s", answer.StatusCode, text)
	}
	return took, err
}
