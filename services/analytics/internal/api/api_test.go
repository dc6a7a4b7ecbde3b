package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/analytics/internal/query"
	"github.com/linkstream/linkstream/services/internal/httpapi"
	"github.com/linkstream/linkstream/services/internal/testproc"
)

func TestSummaryComparesWithThePeriodBefore(t *testing.T) {
	f := newFixture(t)
	f.insert(
		click{at: "2026-11-30T10:00:00Z", visitor: 1},
		click{at: "2026-11-30T11:00:00Z", visitor: 1},
		click{at: "2026-11-24T00:00:00Z", visitor: 2},
		click{at: "2026-11-29T10:00:00Z", visitor: 3, bot: true},
		click{at: "2026-11-23T23:59:59Z", visitor: 1}, // the last instant of the period before
		click{at: "2026-11-17T00:00:00Z", visitor: 1, bot: true},
		click{at: "2026-11-16T23:59:59Z", visitor: 1}, // before both
		click{at: "2026-12-01T00:00:00Z", visitor: 9}, // after both
	)
	check := func(current, previous counts, params ...string) {
		t.Helper()
		got := ask[Summary](f, summary, params...)
		if of(got.Counts) != current || of(got.Previous.Counts) != previous {
			t.Errorf("%v: got %v, before %v; want %v, before %v", params, of(got.Counts), of(got.Previous.Counts), current, previous)
		}
	}
	check(counts{3, 2, 1}, counts{1, 1, 1}) // the week that ends today
	check(counts{3, 2, 1}, counts{1, 1, 1}, "from", "2026-11-24", "to", "2026-11-30")
	check(counts{4, 3, 1}, counts{2, 2, 1}, "bots", "include")
	check(counts{1, 1, 1}, counts{1, 1, 1}, "bots", "only")
	check(counts{2, 1, 0}, counts{0, 0, 1}, "from", "2026-11-30")
	check(counts{1, 1, 0}, counts{1, 1, 0}, "from", "2026-11-30T11:00:00Z", "to", "2026-11-30T12:00:00Z")
	check(counts{1, 1, 0}, counts{1, 1, 0}, "from", "2026-11-30T12:00:00+01:00", "to", "2026-11-30T12:00:00Z")
	check(counts{0, 0, 0}, counts{0, 0, 0}, "from", "2020-01-01", "to", "2020-01-02")

	got := ask[Summary](f, summary, "from", "2026-10-25", "to", "2026-10-25", "tz", "Europe/Berlin")
	if got.From.Format(time.RFC3339) != "2026-10-24T22:00:00Z" || got.To.Format(time.RFC3339) != "2026-10-25T23:00:00Z" ||
		got.Previous.From.Format(time.RFC3339) != "2026-10-23T22:00:00Z" {
		t.Errorf("the long day in Berlin is %v to %v, after %v", got.From, got.To, got.Previous.From)
	}
	// An unescaped + is what people send.
	if w := f.raw("mine", summary+"?from=2026-11-30T12:00:00+01:00&to=2026-11-30T12:00:00Z"); w.Code != http.StatusOK {
		t.Errorf("an offset with + answers %d: %s", w.Code, w.Body)
	}
}

// The contract's shapes, to the letter.
func TestAnswersHaveTheShapeOfTheContract(t *testing.T) {
	f := newFixture(t)
	f.insert(click{at: "2026-11-30T10:00:00Z", visitor: 1, device: "mobile"})
	check := func(want, path string, params ...string) {
		t.Helper()
		if got := strings.TrimSpace(f.get("mine", path, params...).Body.String()); got != want {
			t.Errorf("%s answers %s, want %s", path, got, want)
		}
	}
	check(`{"from":"2026-11-30T00:00:00Z","to":"2026-12-01T00:00:00Z","clicks":1,"unique_visitors":1,"bot_clicks":0,`+
		`"previous":{"from":"2026-11-29T00:00:00Z","to":"2026-11-30T00:00:00Z","clicks":0,"unique_visitors":0,"bot_clicks":0}}`,
		summary, "from", "2026-11-30")
	check(`{"data":[{"t":"2026-11-30T00:00:00Z","clicks":1,"unique_visitors":1,"bot_clicks":0}]}`, timeseries, "from", "2026-11-30")
	check(`{"data":[{"value":"mobile","clicks":1,"unique_visitors":1,"bot_clicks":0}]}`, breakdown, "from", "2026-11-30", "by", "device")
	check(`{"data":[]}`, breakdown, "from", "2020-01-01", "to", "2020-01-01", "by", "device")
}

func TestTimeseriesFillsEveryBucket(t *testing.T) {
	f := newFixture(t)
	f.insert(
		click{at: "2026-11-30T10:00:00Z", visitor: 1}, click{at: "2026-11-30T10:59:59Z", visitor: 1},
		click{at: "2026-11-30T12:00:00Z", visitor: 2, bot: true},
		click{at: "2026-03-29T00:59:59Z"}, click{at: "2026-03-29T01:00:00Z"}, // 1:59 and 3:00 in Berlin
		click{at: "2026-10-25T00:30:00Z"}, click{at: "2026-10-25T01:30:00Z"}, // both 2:30 in Berlin
		click{at: "2026-11-29T18:29:59Z"}, click{at: "2026-11-29T18:30:00Z"}, // about midnight in Kolkata
		click{at: "2026-04-04T14:45:00Z"}, click{at: "2026-04-04T15:15:00Z"}, // both 1:45 on Lord Howe
	)
	check := func(buckets int, want map[string]counts, params ...string) {
		t.Helper()
		data := ask[list[query.Bucket]](f, timeseries, params...).Data
		if len(data) != buckets {
			t.Errorf("%v: %d buckets, want %d", params, len(data), buckets)
		}
		for i, b := range data {
			if i > 0 && !b.T.After(data[i-1].T) {
				t.Errorf("%v: bucket %d starts at %v, not after the one before", params, i, b.T)
			}
			key := b.T.Format(time.RFC3339)
			if of(b.Counts) != want[key] {
				t.Errorf("%v: %s has %v, want %v", params, key, of(b.Counts), want[key])
			}
			delete(want, key)
		}
		if len(want) > 0 {
			t.Errorf("%v: buckets are missing: %v", params, want)
		}
	}
	one := counts{1, 1, 0}
	check(24, map[string]counts{"2026-11-30T10:00:00Z": {2, 1, 0}, "2026-11-30T12:00:00Z": {0, 0, 1}},
		"from", "2026-11-30", "to", "2026-11-30", "interval", "hour")
	check(120, map[string]counts{"2026-11-30T10:00:00Z": one, "2026-11-30T10:59:00Z": one},
		"from", "2026-11-30T10:00:00Z", "to", "2026-11-30T12:00:00Z", "interval", "minute")
	check(7, map[string]counts{"2026-11-29T00:00:00Z": {2, 1, 0}, "2026-11-30T00:00:00Z": {2, 1, 1}})
	check(23, map[string]counts{"2026-03-29T00:00:00Z": one, "2026-03-29T01:00:00Z": one},
		"from", "2026-03-29", "to", "2026-03-29", "interval", "hour", "tz", "Europe/Berlin")
	check(25, map[string]counts{"2026-10-25T00:00:00Z": one, "2026-10-25T01:00:00Z": one},
		"from", "2026-10-25", "to", "2026-10-25", "interval", "hour", "tz", "Europe/Berlin")
	check(2, map[string]counts{"2026-10-24T22:00:00Z": {2, 1, 0}, "2026-10-25T23:00:00Z": {}},
		"from", "2026-10-25", "to", "2026-10-26", "interval", "day", "tz", "Europe/Berlin")
	check(2, map[string]counts{"2026-11-28T18:30:00Z": one, "2026-11-29T18:30:00Z": {3, 2, 1}},
		"from", "2026-11-29", "to", "2026-11-30", "interval", "day", "tz", "Asia/Kolkata")
	check(24, map[string]counts{"2026-11-29T18:30:00Z": one, "2026-11-30T09:30:00Z": one, "2026-11-30T10:30:00Z": one, "2026-11-30T11:30:00Z": {0, 0, 1}},
		"from", "2026-11-30", "to", "2026-11-30", "interval", "hour", "tz", "Asia/Kolkata")
	check(25, map[string]counts{"2026-04-04T14:00:00Z": one, "2026-04-04T15:00:00Z": one},
		"from", "2026-04-05", "to", "2026-04-05", "interval", "hour", "tz", "Australia/Lord_Howe")
	check(3, map[string]counts{"2026-11-23T00:00:00Z": {2, 1, 0}, "2026-11-30T00:00:00Z": {2, 1, 1}},
		"from", "2026-11-20", "to", "2026-12-06", "interval", "week")
	check(12, map[string]counts{"2026-03-01T00:00:00Z": {2, 1, 0}, "2026-04-01T00:00:00Z": {2, 1, 0}, "2026-10-01T00:00:00Z": {2, 1, 0}, "2026-11-01T00:00:00Z": {4, 2, 1}},
		"from", "2026-01-01", "to", "2026-12-31", "interval", "month")
	// The first bucket begins before the period and counts from its begin on only.
	check(1, map[string]counts{"2026-11-30T10:00:00Z": one}, "from", "2026-11-30T10:30:00Z", "to", "2026-11-30T11:00:00Z", "interval", "hour")
	check(4320, map[string]counts{"2026-11-30T10:00:00Z": one, "2026-11-30T10:59:00Z": one, "2026-11-30T12:00:00Z": {0, 0, 1}, "2026-11-29T18:29:00Z": one, "2026-11-29T18:30:00Z": one},
		"from", "2026-11-28", "to", "2026-11-30", "interval", "minute")
}

func TestBreakdown(t *testing.T) {
	f := newFixture(t)
	a, b := uuid.New(), uuid.New()
	f.insert(
		click{at: "2026-11-30T10:00:00Z", link: a, visitor: 1, country: "DE", device: "mobile", browser: "Safari", language: "de", referrer: "a.test", source: "news", edgeRegion: "fra", host: "go.test"},
		click{at: "2026-11-30T10:00:00Z", link: a, visitor: 1, country: "DE", device: "desktop", referrer: "b.test", edgeRegion: "fra", host: "go.test", status: 301},
		click{at: "2026-11-30T10:00:00Z", link: b, visitor: 2, country: "US", device: "mobile", referrer: "", edgeRegion: "ash", host: "xn--bcher-kva.test"},
		click{at: "2026-11-30T10:00:00Z", link: b, visitor: 3, country: "US", device: "", bot: true, edgeRegion: "ash", host: "go.test"},
		click{at: "2026-11-30T10:00:00Z", link: b, visitor: 4, country: "FR", device: "", bot: true, edgeRegion: "ash", host: "go.test"},
	)
	f.insertLinks(linkRow{id: a, revision: 1, tags: []string{"spring"}})
	check := func(want string, params ...string) {
		t.Helper()
		var got []string
		for _, g := range ask[list[query.Group]](f, breakdown, append([]string{"from", "2026-11-30"}, params...)...).Data {
			text, _ := json.Marshal(of(g.Counts))
			got = append(got, g.Value+string(text))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%v: got %s, want %s", params, strings.Join(got, " "), want)
		}
	}
	check("DE[2,1,0] US[1,1,1]", "by", "country")
	check("DE[2,1,0] US[2,2,1] FR[1,1,1]", "by", "country", "bots", "include")
	check("FR[1,1,1] US[1,1,1]", "by", "country", "bots", "only")
	check("DE[2,1,0]", "by", "country", "limit", "1")
	check(a.String()+"[2,1,0] "+b.String()+"[1,1,2]", "by", "link")
	check("mobile[2,2,0] desktop[1,1,0]", "by", "device")
	check("302[2,2,2] 301[1,1,0]", "by", "status")
	check("false[3,2,0] true[2,2,2]", "by", "bot", "bots", "include")
	check("fra[2,1,0] ash[1,1,2]", "by", "edge_region")
	check("[1,1,2] a.test[1,1,0] b.test[1,1,0]", "by", "referrer")
	for _, by := range query.Dimensions() {
		if len(ask[list[query.Group]](f, breakdown, "by", string(by)).Data) == 0 {
			t.Errorf("by %s has no values", by)
		}
	}

	filter := func(want counts, params ...string) {
		t.Helper()
		if got := of(ask[Summary](f, summary, params...).Counts); got != want {
			t.Errorf("%v: got %v, want %v", params, got, want)
		}
	}
	filter(counts{2, 1, 0}, "link_id", a.String())
	filter(counts{2, 1, 0}, "link", strings.ToUpper(a.String()))
	filter(counts{0, 0, 0}, "link", a.String(), "link_id", b.String())
	filter(counts{2, 1, 2}, "domain", "Go.Test:8080")
	filter(counts{1, 1, 1}, "country", "US")
	filter(counts{1, 1, 0}, "country", "DE", "device", "mobile")
	filter(counts{1, 1, 2}, "referrer", "") // given and empty: the direct ones
	filter(counts{1, 1, 0}, "status", "301")
	filter(counts{0, 0, 2}, "bot", "true")
	filter(counts{2, 2, 2}, "bot", "true", "bots", "only")
	filter(counts{1, 1, 0}, "utm_source", "news", "language", "de", "browser", "Safari", "edge_region", "fra")
	filter(counts{0, 0, 0}, "os", "iOS")
	// Several values are alternatives, several filters hold together, not_ turns one round.
	filter(counts{3, 2, 1}, "country", "DE", "country", "US")
	filter(counts{1, 1, 1}, "not_country", "DE", "not_country", "FR")
	filter(counts{1, 1, 2}, "not_country", "DE")
	filter(counts{1, 1, 1}, "not_country", "US", "not_device", "desktop")
	filter(counts{1, 1, 1}, "country", "DE", "country", "US", "not_link_id", a.String())
	filter(counts{3, 2, 2}, "link_id", a.String(), "link_id", b.String())
	filter(counts{1, 1, 0}, "status", "301", "status", "404", "not_bot", "true")
}

// Guards I17.
func TestWorkspacesDoNotSeeEachOther(t *testing.T) {
	f := newFixture(t)
	link := uuid.New()
	f.insert(
		click{at: "2026-11-30T10:00:00Z", visitor: 1, link: link},
		click{at: "2026-11-30T10:00:00Z", visitor: 2, link: link, workspace: f.other},
		click{at: "2026-11-30T10:00:00Z", visitor: 3, link: link, workspace: f.other},
	)
	for token, want := range map[string]string{"mine": `"clicks":1,`, "admin": `"clicks":1,`, "other": `"clicks":2,`} {
		for path, params := range map[string][]string{
			summary: {"link_id", link.String()}, timeseries: {"link_id", link.String(), "from", "2026-11-30"}, breakdown: {"by", "link"},
		} {
			if w := f.get(token, path, params...); !strings.Contains(w.Body.String(), want) {
				t.Errorf("%s as %s answers %s, want %s", path, token, w.Body, want)
			}
		}
	}
	if w := f.get("mine", summary, "workspace_id", f.other.String()); w.Code != http.StatusUnprocessableEntity {
		t.Errorf("naming another workspace answers %d", w.Code)
	}
}

// Values are compared, whatever they look like.
func TestFilterValuesAreNoSQL(t *testing.T) {
	f := newFixture(t)
	values := []string{
		`' OR 1=1 --`, `"`, "`", `\`, `\\`, `\'`, `a\tb`, "a\tb", "a\nb", "{workspace:UUID}", "?", "$1", "@p1", "%", "NULL", `\N`, "été", "')) UNION ALL SELECT 1,1,1 --", "+", " ", "'", "\xff\xfe", "a\x00b", "\r",
	}
	for i, v := range values {
		f.insert(click{at: "2026-11-30T10:00:00Z", visitor: uint64(i), referrer: v})
	}
	for _, v := range values {
		if got := of(ask[Summary](f, summary, "referrer", v).Counts); got != (counts{1, 1, 0}) {
			t.Errorf("referrer %q: got %v, want the one click that has it", v, got)
		}
	}
	if got := len(ask[list[query.Group]](f, breakdown, "by", "referrer", "limit", "100").Data); got != len(values) {
		t.Errorf("%d referrers, want %d", got, len(values))
	}
	for _, by := range []string{"visitor", "workspace_id", "1; DROP TABLE clicks", "link_id", "Country", ""} {
		if w := f.get("mine", breakdown, "by", by); w.Code != http.StatusUnprocessableEntity {
			t.Errorf("by %q answers %d", by, w.Code)
		}
	}
}

func TestWrongParametersAreNamed(t *testing.T) {
	f := newFixture(t)
	check := func(want, path string, params ...string) {
		t.Helper()
		if got := wrong(t, f.get("mine", path, params...)); got != want {
			t.Errorf("%s %v: %s, want %s", path, params, got, want)
		}
	}
	check("tz:unknown_timezone", summary, "tz", "Mars/Olympus")
	check("tz:unknown_timezone", summary, "tz", "Local")
	check("tz:unknown_timezone", summary, "tz", "../../etc/passwd")
	check("from:invalid", summary, "from", "yesterday")
	check("to:invalid", summary, "to", "2026-02-30")
	check("from:not_before_to", summary, "from", "2026-11-30", "to", "2026-11-29")
	check("from:not_before_to", summary, "from", "2026-11-30T10:00:00Z", "to", "2026-11-30T10:00:00Z")
	check("from:not_before_to", summary, "from", "2027-01-01")
	check("from:out_of_range", summary, "from", "1999-12-31", "to", "2000-01-02")
	check("to:out_of_range", summary, "from", "2026-01-01", "to", "2100-01-01")
	check("link_id:invalid", summary, "link_id", "7")
	check("link_id:invalid", summary, "link_id", "")
	check("status:invalid", summary, "status", "ok")
	check("rule:invalid", summary, "rule", "256")
	check("not_variant:invalid", summary, "not_variant", "-1")
	check("country:too_many", summary, strings.Split("country,x"+strings.Repeat(",country,x", maxValues), ",")...)
	check("compare:invalid", timeseries, "compare", "yesterday")
	check("bot:invalid", summary, "bot", "maybe")
	check("country:invalid", summary, "country", strings.Repeat("x", maxValue+1))
	check("from:repeated", summary, "from", "2026-11-30", "from", "2026-11-29")
	check("bots:invalid", summary, "bots", "some")
	check("interval:invalid", timeseries, "interval", "year")
	check("interval:too_many_buckets", timeseries, "interval", "minute", "from", "2026-11-01", "to", "2026-11-30")
	check("by:invalid", breakdown, "by", "shoe_size")
	check("limit:invalid", breakdown, "by", "link", "limit", "0")
	check("limit:invalid", breakdown, "by", "link", "limit", "1001")
	check("limit:invalid", breakdown, "by", "link", "limit", "many")
	// all at once
	check("tz:unknown_timezone from:invalid link_id:invalid status:invalid", summary,
		"tz", "x", "from", "x", "link_id", "x", "status", "x")
	check("contry:unknown", summary, "contry", "DE")
	check("by:unknown", timeseries, "by", "country")
	check("interval:unknown", breakdown, "by", "link", "interval", "day")
	check("by:invalid", breakdown)
}

func TestOnlyReadersMayAsk(t *testing.T) {
	f := newFixture(t)
	check := func(token string, status int, code string) {
		t.Helper()
		for _, path := range []string{summary, timeseries, breakdown + "?by=link", totals, links, export, liveStream, "/v1/analytics/definitions"} {
			w := f.raw(token, path)
			var p httpapi.Problem
			if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
				t.Fatal(err)
			}
			if w.Code != status || p.Code != code || w.Header().Get("X-Request-Id") == "" {
				t.Errorf("%s as %q answers %d %s, want %d %s", path, token, w.Code, p.Code, status, code)
			}
		}
	}
	check("", http.StatusUnauthorized, "unauthenticated")
	check("nobody", http.StatusUnauthorized, "unauthenticated")
	check("noscope", http.StatusForbidden, "forbidden")
	check("away", http.StatusServiceUnavailable, "unavailable")
	if w := f.raw("mine", "/v1/analytics"); w.Code != http.StatusNotFound {
		t.Errorf("the folder answers %d, want 404", w.Code)
	}
	if w := f.raw("mine", "/v1/analytics/definitions"); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"term":"unique_visitor"`) {
		t.Errorf("the definitions: %d %s", w.Code, w.Body)
	}
}

func TestStoreAwayIs503(t *testing.T) {
	f := newFixture(t)
	f.handler = f.serve("http://" + testproc.FreeAddr(t) + "/linkstream")
	for _, path := range []string{summary, timeseries, breakdown + "?by=link", totals, links, export, export + "?what=timeseries"} {
		w := f.raw("mine", path)
		var p httpapi.Problem
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
			t.Fatal(err)
		}
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" || p.Code != "unavailable" || p.RequestID == "" {
			t.Errorf("%s answers %d %s (Retry-After %q)", path, w.Code, w.Body, w.Header().Get("Retry-After"))
		}
		if strings.Contains(w.Body.String(), "refused") {
			t.Errorf("%s tells what is inside: %s", path, w.Body)
		}
	}
}
