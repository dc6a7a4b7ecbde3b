package api

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
)

const export = "/v1/analytics/export"

// lines reads an export.
func (f *fixture) lines(params ...string) [][]string {
	f.t.Helper()
	w := f.get("mine", export, params...)
	if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/csv") || !strings.Contains(w.Header().Get("Content-Disposition"), "attachment") {
		f.t.Fatalf("%v answers %d %s: %s", params, w.Code, w.Header(), w.Body)
	}
	if !strings.HasSuffix(w.Body.String(), "\r\n") {
		f.t.Errorf("%v: the last line has no end", params)
	}
	out, err := csv.NewReader(w.Body).ReadAll()
	if err != nil {
		f.t.Fatal(err)
	}
	return out
}

// Guards I74.
func TestExportsAreSafeForSpreadsheets(t *testing.T) {
	f := newFixture(t)
	values := []string{"=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "'=1", "a=1", `=cmd|' /C calc'!A0`, `a"b,c`, "été\nzwei", ""}
	for i, v := range values {
		f.insert(click{at: fmt.Sprintf("2026-11-30T10:00:%02dZ", i), visitor: uint64(i), referrer: v, source: v, country: v, host: v})
	}
	got := f.lines("from", "2026-11-30", "tz", "Asia/Kolkata")
	if len(got) != len(values)+1 || got[0][0] != "t" || got[0][18] != "referrer" || got[1][0] != "2026-11-30T15:30:00.000+05:30" {
		t.Fatalf("%d lines, the first ones %v", len(got), got[:2])
	}
	for _, what := range [][][]string{got, f.lines("what", "breakdown", "by", "referrer")} {
		for _, line := range what[1:] {
			for _, field := range line {
				if field != "" && strings.ContainsAny(field[:1], "=+-@\t\r\n") {
					t.Errorf("the field %q begins like a formula", field)
				}
			}
		}
	}
	for i, v := range values {
		want := v
		if i < 6 || i == 8 {
			want = "'" + strings.ReplaceAll(v, "\r", "") // CSV with CRLF keeps no single CR
		}
		if got[i+1][18] != want {
			t.Errorf("%q is written as %q", v, got[i+1][18])
		}
	}
}

func TestExportsAreOfWhatIsAsked(t *testing.T) {
	f := newFixture(t)
	a, b := uuid.UUID{0: 1}, uuid.UUID{0: 2}
	f.insert(
		click{at: "2026-11-30T10:00:01Z", link: a, visitor: 1, country: "DE"}, click{at: "2026-11-30T10:00:00Z", link: a, visitor: 1, country: "FR"},
		click{at: "2026-11-29T10:00:00Z", link: b, visitor: 2, country: "DE"}, click{at: "2026-11-30T11:00:00Z", link: b, visitor: 3, bot: true},
		click{at: "2026-11-30T11:00:00Z", link: b, visitor: 3, workspace: f.other},
	)
	check := func(lines int, params ...string) {
		t.Helper()
		if got := f.lines(params...); len(got) != lines {
			t.Errorf("%v: %d lines with the names, want %d: %v", params, len(got), lines, got)
		}
	}
	check(4)
	check(5, "bots", "include")
	check(2, "bots", "only")
	check(3, "country", "DE")
	check(3, "link_id", a.String())
	check(1, "country", "XX")
	check(1, "what", "breakdown", "by", "country", "country", "XX")
	check(3, "what", "breakdown", "by", "country")
	check(8, "what", "timeseries", "from", "2026-11-24")
	if got := f.lines("what", "breakdown", "by", "country"); fmt.Sprint(got) != "[[country clicks unique_visitors bot_clicks] [DE 2 2 0] [FR 1 1 0]]" {
		t.Errorf("by country: %v", got)
	}
	if got := f.lines("link_id", a.String()); got[1][10] != "FR" || got[2][10] != "DE" || got[1][7] != got[2][7] || !strings.HasPrefix(got[1][7], "v") {
		t.Errorf("the clicks of a link in their order: %v", got)
	}
	fail := func(want string, params ...string) {
		t.Helper()
		if got := wrong(t, f.get("mine", export, params...)); got != want {
			t.Errorf("%v: %s, want %s", params, got, want)
		}
	}
	fail("by:required", "what", "breakdown")
	fail("by:invalid", "what", "breakdown", "by", "visitor")
	fail("what:invalid", "what", "everything")
	fail("interval:too_many_buckets", "what", "timeseries", "interval", "minute", "from", "2026-01-01")
	fail("from:range_too_long", "from", "2025-01-01")
	fail("from:range_too_long", "what", "breakdown", "by", "country", "device", "mobile", "from", "2025-01-01")
}

// More lines than are asked for at once, with equal times: none is left out or twice.
//
// Guards I74.
func TestALongExportIsWhole(t *testing.T) {
	f := newFixture(t)
	const n = 45_000
	err := f.conn.Exec(t.Context(), fmt.Sprintf(`INSERT INTO clicks (ts, click_id, workspace_id, link_id, status, visitor)
		SELECT toDateTime64('2026-11-30 10:00:00', 3, 'UTC') + intDiv(number, 5000), generateUUIDv4(), toUUID('%s'), toUUID('00000000-0000-0000-0000-00000000000%d'), 302, number FROM numbers(%d)`,
		f.mine, 1, n))
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, line := range f.lines()[1:] {
		ids[line[1]] = true
	}
	if len(ids) != n {
		t.Errorf("%d clicks, want %d", len(ids), n)
	}
}

func TestPeriodsThatAreTooLong(t *testing.T) {
	f := newFixture(t)
	check := func(want, path string, params ...string) {
		t.Helper()
		w := f.get("mine", path, append([]string{"from", "2024-01-01", "to", "2026-11-30"}, params...)...)
		if want == "" {
			if w.Code != http.StatusOK {
				t.Errorf("%s %v: %d %s", path, params, w.Code, w.Body)
			}
			return
		}
		if got := wrong(t, w); got != want {
			t.Errorf("%s %v: %s, want %s", path, params, got, want)
		}
	}
	check("", summary)
	check("", summary, "country", "DE")
	check("from:range_too_long", summary, "country", "DE", "device", "mobile")
	check("from:range_too_long", timeseries, "interval", "month", "link_id", uuid.NewString(), "country", "DE")
	check("", breakdown, "by", "country")
	check("from:range_too_long", breakdown, "by", "country", "link_id", uuid.NewString())
	check("from:range_too_long", breakdown, "by", "variant")
}
