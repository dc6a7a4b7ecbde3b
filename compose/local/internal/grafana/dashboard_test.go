package grafana_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/VictoriaMetrics/metricsql"

	"github.com/linkstream/linkstream/compose/local/internal/grafana"
)

// folder of the files that Grafana provisions.
const folder = "../../../grafana/dashboards"

func TestFilesAreCurrent(t *testing.T) {
	fresh := t.TempDir()
	if err := grafana.Write(fresh); err != nil {
		t.Fatal(err)
	}
	want, got := read(t, fresh), read(t, folder)
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s is not what the program says: run make generate", name)
		}
		delete(got, name)
	}
	for name := range got {
		t.Errorf("%s is no dashboard of ours", name)
	}
}

func read(t *testing.T, folder string) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(path)] = string(text)
	}
	return texts
}

func TestPanelsCanBeAskedAndSayWhatTheyMean(t *testing.T) {
	uids := map[string]bool{}
	variable := regexp.MustCompile(`\$\w+`)
	for _, d := range grafana.All() {
		if uids[d.UID] || d.About == "" {
			t.Errorf("%s: the uid is there twice, or nothing is said about it", d.UID)
		}
		uids[d.UID] = true
		for _, row := range d.Rows {
			for _, p := range row.Panels {
				if p.Unit == "" || !strings.HasSuffix(p.About, ".") || len(p.Queries) == 0 {
					t.Errorf("%s / %s: needs a unit, a sentence and queries", d.Title, p.Title)
				}
				for _, q := range p.Queries {
					if _, err := metricsql.Parse(variable.ReplaceAllString(q.Expr, "x")); err != nil {
						t.Errorf("%s / %s: %s: %v", d.Title, p.Title, q.Expr, err)
					}
				}
			}
		}
	}
}
