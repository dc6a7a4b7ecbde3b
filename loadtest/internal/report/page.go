package report

import (
	"bytes"
	"fmt"
	"html/template"
	"math"
)

// page is the whole report in one file: it loads nothing from anywhere.
const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{{.Scenario}} {{.Started.Format "2006-01-02 15:04"}}</title>
<style>
:root{color-scheme:light dark;--bg:#fff;--fg:#1b2430;--dim:#5c6b7d;--line:#dde3ea;--band:#f1f4f8;--good:#17703f;--bad:#b3261e;
--c0:#1f5fbf;--c1:#c2571a;--c2:#2c7a4b;--c3:#8a3fa0;--c4:#8c6d00;--c5:#0f7d86}
@media (prefers-color-scheme:dark){:root{--bg:#12171d;--fg:#e4eaf1;--dim:#93a1b1;--line:#2b343e;--band:#1b222b;--good:#5fd08f;--bad:#ff8a80;
--c0:#7fb0ff;--c1:#ffa368;--c2:#74d39a;--c3:#d79be8;--c4:#e2c14d;--c5:#63d3db}}
body{margin:2rem auto;max-width:960px;padding:0 1rem;background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,sans-serif}
h1{font-size:1.5rem;margin:0}h2{font-size:1.1rem;margin:2rem 0 .5rem}p,dd{margin:.2rem 0}
.dim{color:var(--dim);font-size:.87rem}.good{color:var(--good)}.bad{color:var(--bad);font-weight:600}
.scroll{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.87rem}
th,td{padding:.25rem .6rem;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap}
th:first-child,td:first-child,.w{text-align:left}.w{white-space:normal}
svg{width:100%;height:auto;display:block}.t{fill:var(--dim);font-size:11px}.e{text-anchor:end}.m{text-anchor:middle}
.g{stroke:var(--line)}.l{stroke:var(--bad);stroke-dasharray:5 4}.s{fill:none;stroke-width:1.7}.band{fill:var(--band)}
.key{display:inline-block;width:.9em;height:.25em;margin:0 .35em 0 1em;vertical-align:middle}
</style>
<h1>{{.Scenario}}: {{if .Held}}<span class="good">no promise broken</span>{{else}}<span class="bad">{{.BrokenCount}} of {{len .Promises}} broken</span>{{end}}</h1>
<p class="dim">{{.Started.Format "2006-01-02 15:04:05"}} UTC, {{printf "%.0f" .Seconds}} s, commit {{.Commit}}, {{.Machine}}{{if .Load}}, {{printf "%.1f" .Load}} threads wanted a processor before it began{{end}}<br><code>{{.Command}}</code></p>
<h2>Promises</h2>
<div class="scroll"><table>
{{range .Promises}}<tr><td class="{{if .Broken}}bad{{else if .Doubtful}}dim{{else}}good{{end}}">{{if .Broken}}broken{{else if .Doubtful}}doubtful{{else}}held{{end}}</td><td>{{if .Number}}{{.Number}}{{end}}</td><td class="w">{{.What}}</td><td class="w">{{.Measured}}</td></tr>
{{end}}</table></div>
{{if .Facts}}<h2>Measured</h2>
<div class="scroll"><table>{{range .Facts}}<tr><td>{{.Name}}</td><td class="w">{{.Value}}</td></tr>{{end}}</table></div>{{end}}
{{range $p := .Plots}}<h2>{{.Title}}</h2>
{{svg $p}}
<p class="dim">{{range $i, $s := .Series}}<span class="key" style="background:var(--c{{color $i}})"></span>{{$s.Name}}{{end}}</p>
{{end}}
<h2>Answers</h2>
<div class="scroll"><table>
<tr><th>phase</th><th>s</th><th></th><th>sent</th><th>right</th><th>wrong</th><th>failed</th><th>unknown</th><th>moved</th><th>p50</th><th>p95</th><th>p99</th><th>p99.9</th><th>max ms</th></tr>
{{range $p := .Phases}}{{range .Rows}}<tr><td>{{$p.Name}}</td><td>{{printf "%.1f" $p.Seconds}}</td><td class="w">{{.Name}}</td><td>{{.Sent}}</td><td>{{.Right}}</td><td>{{.Wrong}}</td><td>{{.Failed}}</td><td>{{.Unknown}}</td><td>{{.Moved}}</td><td>{{ms .Latency.P50}}</td><td>{{ms .Latency.P95}}</td><td>{{ms .Latency.P99}}</td><td>{{ms .Latency.P999}}</td><td>{{ms .Latency.Max}}</td></tr>
{{end}}{{end}}</table></div>
<p class="dim">Latencies are counted from the time at which a request was due. Unknown: sent, and no answer came.</p>
<h2>The generator</h2>
<p>{{.Generator.Requests}} requests with {{printf "%.2f" .Generator.CPU}} processors ({{printf "%.2f" .Generator.Process}} with everything else in its process); late by p50 {{ms .Generator.Late.P50}}, p99 {{ms .Generator.Late.P99}}, at most {{ms .Generator.Late.Max}} ms; {{.Generator.Behind}} requests waited for a connection.</p>
{{if .Settings}}<p class="dim">{{range .Settings}}{{.Name}} {{.Value}}; {{end}}</p>{{end}}
</html>
`

// Held is whether every promise did.
func (r *Result) Held() bool { return r.BrokenCount() == 0 }

// BrokenCount is how many promises were broken.
func (r *Result) BrokenCount() (n int) {
	for _, p := range r.Promises {
		if p.Broken {
			n++
		}
	}
	return n
}

// Page is the report as a page.
func (r *Result) Page() ([]byte, error) {
	t, err := template.New("page").Funcs(template.FuncMap{
		"ms":    func(us float64) string { return fmt.Sprintf("%.2f", us/1000) },
		"color": func(i int) int { return i % plotColors },
		"svg":   func(p Plot) template.HTML { return template.HTML(p.SVG()) }, //nolint:gosec // every text in it is escaped
	}).Parse(page)
	if err != nil {
		return nil, fmt.Errorf("reading the page's template: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, r); err != nil {
		return nil, fmt.Errorf("making the page: %w", err)
	}
	return b.Bytes(), nil
}

// SpectrumPlot shows latencies by quantile, a line for each row.
func SpectrumPlot(title string, rows []Row) Plot {
	p := Plot{Title: title, Across: "quantile in nines: 1 is 90 %, 2 is 99 %, at 4 the longest", Up: "ms", Log: true}
	for _, r := range rows {
		if len(r.Spectrum) > 0 {
			p.Series = append(p.Series, Series{Name: r.Name, Points: nines(r.Spectrum)})
		}
	}
	return p
}

// nines spreads the quantiles that matter: the 90th percentile is at 1, the 99th at 2.
func nines(spectrum [][2]float64) [][2]float64 {
	const most = 4.0 // where the longest wait is drawn
	var points [][2]float64
	for _, p := range spectrum {
		x := most
		if p[0] < 100 {
			x = min(most, -math.Log10(1-p[0]/100))
		}
		points = append(points, [2]float64{x, p[1] / 1000})
	}
	return points
}
