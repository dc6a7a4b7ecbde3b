package report

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// Plot is a picture with time, in seconds, or a quantile across.
type Plot struct {
	Title  string   `json:"title"`
	Across string   `json:"across"` // what is across
	Up     string   `json:"up"`     // the unit of what is up
	Log    bool     `json:"log,omitempty"`
	Series []Series `json:"series"`
	Bands  []Band   `json:"bands,omitempty"`
	Limits []Line   `json:"limits,omitempty"`
}

// Series is a line.
type Series struct {
	Name   string       `json:"name"`
	Points [][2]float64 `json:"points"`
}

// Band is a stretch of time that has a name.
type Band struct {
	Name string  `json:"name"`
	From float64 `json:"from"`
	To   float64 `json:"to"`
}

// Line is a limit.
type Line struct {
	Name string  `json:"name"`
	Y    float64 `json:"y"`
}

// The picture's measures, in its own units.
const (
	plotWidth, plotHeight                 = 860.0, 280.0
	plotLeft, plotRight, plotTop, plotLow = 64.0, 12.0, 26.0, 44.0
	plotColors                            = 6 // --c0 to --c5 of the page
	plotTicks                             = 5
	letterWidth                           = 6.5
)

// scale maps values to a stretch of the picture.
type scale struct {
	low, high float64 // values, or their logarithms
	from, to  float64
	log       bool
}

func (s scale) at(v float64) float64 {
	if s.log {
		v = math.Log10(max(v, 1e-9))
	}
	v = min(max(v, s.low), s.high)
	return s.from + (v-s.low)/(s.high-s.low)*(s.to-s.from)
}

// ticks are round values inside the scale.
func (s scale) ticks() []float64 {
	var values []float64
	if s.log {
		for e := math.Ceil(s.low); e <= s.high; e++ {
			values = append(values, math.Pow(10, e))
		}
		return values
	}
	step := niceStep((s.high - s.low) / plotTicks)
	for v := math.Ceil(s.low/step) * step; v <= s.high+step/1e6; v += step {
		values = append(values, v)
	}
	return values
}

// niceStep is 1, 2 or 5 times a power of ten, at least as large as step.
func niceStep(step float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(step)))
	for _, m := range []float64{1, 2, 5} {
		if step <= m*power {
			return m * power
		}
	}
	return 10 * power
}

// SVG draws the plot. Its colours are the page's.
func (p *Plot) SVG() string {
	x, y, ok := p.scales()
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %.0f %.0f" role="img" aria-label="%s">`, plotWidth, plotHeight, html.EscapeString(p.Title))
	if !ok {
		fmt.Fprintf(&b, `<text class="t" x="%.0f" y="%.0f">nothing was measured</text></svg>`, plotLeft, plotHeight/2)
		return b.String()
	}
	free := 0.0 // where the last name in the first line ends
	for _, band := range p.Bands {
		from, to := x.at(band.From), x.at(band.To)
		height := plotTop - 6
		if from < free {
			height += 20 // inside the picture
		} else {
			free = from + letterWidth*float64(len(band.Name))
		}
		fmt.Fprintf(&b, `<rect class="band" x="%.1f" y="%.0f" width="%.1f" height="%.0f"/><text class="t" x="%.1f" y="%.0f">%s</text>`,
			from, plotTop, max(1, to-from), plotHeight-plotTop-plotLow, from+3, height, html.EscapeString(band.Name))
	}
	for _, v := range y.ticks() {
		fmt.Fprintf(&b, `<line class="g" x1="%.0f" x2="%.0f" y1="%.1f" y2="%.1f"/><text class="t e" x="%.0f" y="%.1f">%s</text>`,
			plotLeft, plotWidth-plotRight, y.at(v), y.at(v), plotLeft-6, y.at(v)+4, number(v))
	}
	for _, v := range x.ticks() {
		fmt.Fprintf(&b, `<text class="t m" x="%.1f" y="%.0f">%s</text>`, x.at(v), plotHeight-plotLow+16, number(v))
	}
	fmt.Fprintf(&b, `<text class="t e" x="%.0f" y="%.0f">%s</text>`, plotWidth-plotRight, plotHeight-8, html.EscapeString(p.Across))
	fmt.Fprintf(&b, `<text class="t" x="4" y="14">%s</text>`, html.EscapeString(p.Up))
	for _, l := range p.Limits {
		fmt.Fprintf(&b, `<line class="l" x1="%.0f" x2="%.0f" y1="%.1f" y2="%.1f"/><text class="t e" x="%.0f" y="%.1f">%s</text>`,
			plotLeft, plotWidth-plotRight, y.at(l.Y), y.at(l.Y), plotWidth-plotRight, y.at(l.Y)-4, html.EscapeString(l.Name))
	}
	for i, s := range p.Series {
		fmt.Fprintf(&b, `<polyline class="s" style="stroke:var(--c%d)" points="`, i%plotColors)
		for _, point := range s.Points {
			fmt.Fprintf(&b, "%.1f,%.1f ", x.at(point[0]), y.at(point[1]))
		}
		fmt.Fprintf(&b, `"><title>%s</title></polyline>`, html.EscapeString(s.Name))
	}
	b.WriteString("</svg>")
	return b.String()
}

// scales are those that everything fits into; false when there is nothing.
func (p *Plot) scales() (x, y scale, ok bool) {
	lowX, highX, lowY, highY := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for _, s := range p.Series {
		for _, point := range s.Points {
			lowX, highX = min(lowX, point[0]), max(highX, point[0])
			if !p.Log || point[1] > 0 {
				lowY, highY = min(lowY, point[1]), max(highY, point[1])
			}
		}
	}
	if math.IsInf(lowX, 0) || math.IsInf(lowY, 0) {
		return x, y, false
	}
	for _, l := range p.Limits {
		lowY, highY = min(lowY, l.Y), max(highY, l.Y)
	}
	if p.Log {
		lowY, highY = math.Floor(math.Log10(lowY)), math.Ceil(math.Log10(highY)+1e-9)
	} else {
		lowY, highY = min(0, lowY), highY*1.05
	}
	if highX <= lowX {
		highX = lowX + 1
	}
	if highY <= lowY {
		highY = lowY + 1
	}
	x = scale{low: lowX, high: highX, from: plotLeft, to: plotWidth - plotRight}
	y = scale{low: lowY, high: highY, from: plotHeight - plotLow, to: plotTop, log: p.Log}
	return x, y, true
}

// number is short: 1500000 is 1.5M.
func number(v float64) string {
	if v == 0 {
		return "0" // also what is less than nothing by a sign
	}
	for _, unit := range []struct {
		of   float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if math.Abs(v) >= unit.of {
			return fmt.Sprintf("%.4g%s", v/unit.of, unit.name)
		}
	}
	return fmt.Sprintf("%.4g", v)
}
