package report_test

import (
	"encoding/xml"
	"strings"
	"testing"

	"github.com/linkstream/linkstream/loadtest/internal/report"
)

func TestAPageLoadsNothingAndSaysEverything(t *testing.T) {
	r := report.Result{
		Stamp:  report.Stamp{Scenario: "steady", Command: "<b>make</b>"},
		Phases: []report.Phase{{Name: "load", Seconds: 1, Rows: []report.Row{{Name: "links", Sent: 3, Right: 3, Spectrum: [][2]float64{{0, 10}, {50, 20}, {100, 900}}}}}},
		Plots: []report.Plot{{
			Title: "a < b", Across: "s", Up: "ms", Log: true, Series: []report.Series{{Name: "<x>", Points: [][2]float64{{0, 0.2}, {1, 30}}}},
			Bands: []report.Band{{Name: "down & out", From: 0.2, To: 0.4}}, Limits: []report.Line{{Name: "limit", Y: 50}},
		}},
	}
	r.Promise(report.Done("links", 2, 3))
	r.Plots = append(r.Plots, report.SpectrumPlot("by phase", r.Phases[0].Rows))
	page, err := r.Page()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1 of 1 broken", "&lt;b&gt;make", "a &lt; b", "by phase", "prefers-color-scheme:dark", "down &amp; out"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, bad := range []string{"http://", "https://", "src=", "url(", "<script", "@import"} {
		if strings.Contains(string(page), bad) {
			t.Errorf("the page has %q", bad)
		}
	}
}

func TestAPlotIsWellFormed(t *testing.T) {
	check := func(p report.Plot) {
		t.Helper()
		svg := p.SVG()
		if err := xml.Unmarshal([]byte(svg), new(struct{})); err != nil {
			t.Errorf("%v in %s", err, svg)
		}
		if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
			t.Errorf("numbers that are none: %s", svg)
		}
	}
	line := func(points ...[2]float64) []report.Series { return []report.Series{{Name: "a&b", Points: points}} }
	check(report.Plot{Title: `"quoted"`})
	check(report.Plot{Series: line()})
	check(report.Plot{Series: line([2]float64{0, 0})})
	check(report.Plot{Series: line([2]float64{0, 0}), Log: true}) // nothing above zero
	check(report.Plot{Series: line([2]float64{0, 0}, [2]float64{1, 5}, [2]float64{2, 0}), Log: true})
	check(report.Plot{Series: line([2]float64{5, 7}, [2]float64{5, 7})})
	check(report.Plot{Series: line([2]float64{0, 1e9}, [2]float64{100, -3})})
	check(report.Plot{Series: line([2]float64{0, 10}), Log: true, Limits: []report.Line{{Name: "<", Y: 10}}})
}
