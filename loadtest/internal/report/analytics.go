package report

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// PanelP95 is what every panel of the dashboard promises, in milliseconds on two cores.
const PanelP95 = 100

// Analytics is what the scenario of that name measured.
type Analytics struct {
	Stamp
	Clicks       int       `json:"clicks"`
	Made         time.Time `json:"made"` // the last click's time
	FillSeconds  float64   `json:"fill_seconds"`
	MergeSeconds float64   `json:"merge_seconds"` // until no merge ran any more
	// SettleSeconds is how long it took to write all days that are over down in numbers.
	SettleSeconds float64 `json:"settle_seconds"`
	Tables        []Table `json:"tables"`
	Panels        []Panel `json:"panels"`
}

// Table is a table's size, projections included.
type Table struct {
	Name          string  `json:"name"`
	Bytes         int64   `json:"bytes"`
	Rows          int64   `json:"rows"`
	Parts         int64   `json:"parts"`
	BytesPerClick float64 `json:"bytes_per_click"`
}

// Panel is one question of the dashboard, in milliseconds over HTTP.
type Panel struct {
	Name string  `json:"name"`
	Path string  `json:"path"`
	P50  float64 `json:"p50_ms"`
	P95  float64 `json:"p95_ms"`
	P99  float64 `json:"p99_ms"`
	Max  float64 `json:"max_ms"`
}

// Verdict is nil when every promise held.
func (r *Analytics) Verdict() error {
	var errs []error
	for _, p := range r.Panels {
		if p.P95 >= PanelP95 {
			errs = append(errs, fmt.Errorf("%s: p95 %.1f ms, promised are %d", p.Name, p.P95, PanelP95))
		}
	}
	return errors.Join(errs...)
}

// Write prints a summary and writes the report into folder.
func (r *Analytics) Write(folder string, stdout io.Writer) error {
	fmt.Fprintf(stdout, "\n  %d clicks made in %.0f s, merged in %.0f s; days settled in %.0f s\n", r.Clicks, r.FillSeconds, r.MergeSeconds, r.SettleSeconds)
	sum := 0.0
	for _, t := range r.Tables {
		sum += t.BytesPerClick
		fmt.Fprintf(stdout, "  %-18s %7.2f bytes a click   %10d rows   %d parts\n", t.Name, t.BytesPerClick, t.Rows, t.Parts)
	}
	fmt.Fprintf(stdout, "  %-18s %7.2f bytes a click\n", "together", sum)
	if len(r.Panels) == 0 {
		return nil // nothing was measured: somebody wanted the clicks only
	}
	slowest := slices.MaxFunc(r.Panels, func(a, b Panel) int { return int(a.P95*1000) - int(b.P95*1000) })
	fmt.Fprintf(stdout, "\n  %d panels, the slowest: %s, p50 %.1f ms, p95 %.1f ms\n", len(r.Panels), slowest.Name, slowest.P50, slowest.P95)
	path, err := r.save(folder, r)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".md", []byte(r.table()), 0o644); err != nil {
		return fmt.Errorf("writing the table: %w", err)
	}
	fmt.Fprintf(stdout, "\n  report: %s.json, table: %[1]s.md\n", path)
	return nil
}

// table has the figures for people.
func (r *Analytics) table() string {
	var b strings.Builder
	late := 0
	for _, p := range r.Panels {
		if p.P95 >= PanelP95 {
			late++
		}
	}
	fmt.Fprintf(&b, "# The dashboard's panels over %d clicks\n\n- commit %s, %s\n- %s\n- `%s`\n- %d of %d panels answered within %d ms (p95), one after the other, over HTTP from the analytics API\n"+
		"- made in %.0f s (%.0f clicks a second), merged in %.0f s, days settled in %.0f s\n\n",
		r.Clicks, r.Commit, r.Started.Format(time.RFC3339), r.Machine, r.Command, len(r.Panels)-late, len(r.Panels), PanelP95,
		r.FillSeconds, float64(r.Clicks)/max(r.FillSeconds, 1), r.MergeSeconds, r.SettleSeconds)
	b.WriteString("| table | bytes a click | rows |\n|---|--:|--:|\n")
	sum := 0.0
	for _, t := range r.Tables {
		sum += t.BytesPerClick
		fmt.Fprintf(&b, "| %s | %.2f | %d |\n", t.Name, t.BytesPerClick, t.Rows)
	}
	fmt.Fprintf(&b, "| together | %.2f | |\n\n| panel | p50 ms | p95 ms | p99 ms | slowest ms |\n|---|--:|--:|--:|--:|\n", sum)
	for _, p := range r.Panels {
		mark := ""
		if p.P95 >= PanelP95 {
			mark = " (late)"
		}
		fmt.Fprintf(&b, "| %s%s | %.1f | %.1f | %.1f | %.1f |\n", p.Name, mark, p.P50, p.P95, p.P99, p.Max)
	}
	return b.String()
}
