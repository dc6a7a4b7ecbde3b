package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metricsql"
)

// Who asks Prometheus for what, from this folder.
const (
	dashboardFiles = "../../compose/grafana/dashboards/*.json"
	ruleFiles      = "../../compose/prometheus/rules/*.yml"
)

// scraped are the labels and values of each metric that a running stack exposes.
type scraped map[string]map[string][]string

var (
	sample     = regexp.MustCompile(`(?m)^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{.*\})? \S+$`)
	labelPair  = regexp.MustCompile(`([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"`)
	expression = regexp.MustCompile(`(?m)^\s+expr: (.+)$`)
	recorded   = regexp.MustCompile(`(?m)^\s+- record: (\S+)$`)
	variable   = regexp.MustCompile(`\$\w+`)
)

// metrics: what dashboards, recording rules and alerts name is exposed by the
// processes that run, with the labels and the values that they name.
func (s *stack) metrics(t *testing.T) {
	s.create(t, "measured", "https://e.test/measured") // calls are not counted before the first
	exposed := scraped{}
	for _, port := range s.adminPorts() {
		text, err := s.scrape(t.Context(), port)
		if err != nil {
			t.Fatal(err)
		}
		exposed.add(text)
	}
	exposed.add(s.canary(t))
	asked := map[string]string{} // expression to who has it
	for _, path := range matching(t, ruleFiles) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range recorded.FindAllSubmatch(text, -1) {
			exposed[string(m[1])] = nil
		}
		for _, m := range expression.FindAllSubmatch(text, -1) {
			asked[string(m[1])] = filepath.Base(path)
		}
	}
	for _, path := range matching(t, dashboardFiles) {
		var dashboard struct {
			Panels []struct {
				Title   string
				Targets []struct{ Expr string }
			}
		}
		text, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(text, &dashboard)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range dashboard.Panels {
			for _, target := range p.Targets {
				asked[variable.ReplaceAllString(target.Expr, ".*")] = filepath.Base(path) + ": " + p.Title
			}
		}
	}
	if len(asked) < 50 {
		t.Fatalf("only %d expressions found", len(asked))
	}
	for expr, where := range asked {
		parsed, err := metricsql.Parse(expr)
		if err != nil {
			t.Errorf("%s: %s: %v", where, expr, err)
			continue
		}
		metricsql.VisitAll(parsed, func(e metricsql.Expr) {
			if selector, ok := e.(*metricsql.MetricExpr); ok {
				if err := exposed.has(selector); err != nil {
					t.Errorf("%s: %s: %v", where, expr, err)
				}
			}
		})
	}
}

func matching(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files match %s: %v", pattern, err)
	}
	return paths
}

func (s *stack) scrape(ctx context.Context, port int) (text []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/metrics", port), nil)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, res.Body.Close()) }()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("metrics on %d: %s", port, res.Status)
	}
	return io.ReadAll(res.Body)
}

func (s scraped) add(text []byte) {
	for _, m := range sample.FindAllSubmatch(bytes.TrimSpace(text), -1) {
		name := string(m[1])
		if s[name] == nil {
			s[name] = map[string][]string{}
		}
		for _, pair := range labelPair.FindAllSubmatch(m[2], -1) {
			s[name][string(pair[1])] = append(s[name][string(pair[1])], string(pair[2]))
		}
	}
}

// has says what is missing of what a selector names. Prometheus itself adds job,
// instance and region, and a recording rule keeps what it likes.
func (s scraped) has(selector *metricsql.MetricExpr) error {
	for _, filters := range selector.LabelFilterss {
		name := ""
		for _, f := range filters {
			if f.Label == "__name__" {
				name = f.Value
			}
		}
		labels, ok := s[name]
		switch {
		case name == "up" || ok && labels == nil:
			continue
		case !ok:
			return fmt.Errorf("nobody exposes %s", name)
		}
		for _, f := range filters {
			if slices.Contains([]string{"__name__", "job", "instance", "region"}, f.Label) {
				continue
			}
			values := labels[f.Label]
			matches := func(value string) bool { return value == f.Value }
			if f.IsRegexp {
				whole, err := regexp.Compile("^(?:" + f.Value + ")$")
				if err != nil {
					return err
				}
				matches = whole.MatchString
			}
			// That no answer was a 5xx so far is no mistake.
			if len(values) == 0 || !slices.ContainsFunc(values, matches) && !strings.HasPrefix(f.Value, "5") {
				return fmt.Errorf("%s has no %s that is %s: there are %v", name, f.Label, f.Value, values)
			}
		}
	}
	return nil
}
