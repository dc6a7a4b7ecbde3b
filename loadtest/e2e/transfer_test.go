package e2e

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

const transferRows = 2000

// TestImportAndExport brings links in from a file while the service is killed, and out
// again.
//
// Guards I84, I85.
func TestImportAndExport(t *testing.T) {
	s := newStack(t)
	t.Run("an import outlives the service", s.imported)
	t.Run("the command imports and exports", s.transferred)
}

type importJob struct {
	ID, State                             string
	Total, Read, Created, Skipped, Failed int
}

// importFile has transferRows rows: of each ten one is refused, and one repeats the slug
// of the row before it.
func importFile() []byte {
	var file bytes.Buffer
	w := csv.NewWriter(&file)
	_ = w.Write([]string{"Destination URL", "Slug", "Title"})
	for i := range transferRows {
		slug, destination := fmt.Sprintf("imp-%d", i), fmt.Sprintf("https://e.test/import/%d", i)
		switch i % 10 {
		case 3:
			destination = "ftp://e.test/"
		case 7:
			slug = fmt.Sprintf("imp-%d", i-1)
		case 9:
			slug = "" // nobody can tell from the address whether it was made before
		}
		_ = w.Write([]string{destination, slug, "=imported"})
	}
	w.Flush()
	return file.Bytes()
}

// imported kills the service in the middle of an import, more than once.
func (s *stack) imported(t *testing.T) {
	var job importJob
	s.upload(t, "/v1/imports", importFile(), &job)
	if job.Total != transferRows {
		t.Fatalf("%+v", job)
	}
	for kills := range 3 {
		// At once, and then whenever some more rows are done.
		if kills > 0 {
			had := job.Read
			s.eventually(t, time.Minute, "some more rows are done", func(context.Context) error {
				if s.call(t, http.MethodGet, "/v1/imports/"+job.ID, "", &job) == http.StatusOK && job.Read == had && job.State != "done" {
					return fmt.Errorf("%d rows", job.Read)
				}
				return nil
			})
		}
		t.Logf("killing links at %d rows", job.Read)
		s.kill(t, "links")
		s.eventually(t, time.Minute, "links is back", func(ctx context.Context) error {
			status, _, err := get(ctx, fmt.Sprintf("http://127.0.0.1:%d/readyz", s.base+9010))
			if err != nil || status != http.StatusOK {
				return fmt.Errorf("%d %w", status, err)
			}
			return nil
		})
	}
	s.eventually(t, 3*time.Minute, "the import is done", func(context.Context) error {
		if status := s.call(t, http.MethodGet, "/v1/imports/"+job.ID, "", &job); status != http.StatusOK || job.State != "done" {
			return fmt.Errorf("%d %+v", status, job)
		}
		return nil
	})
	if job.Created != transferRows/10*8 || job.Failed != transferRows/10 || job.Skipped != transferRows/10 {
		t.Errorf("%+v", job)
	}
	lines, err := csv.NewReader(bytes.NewReader(s.download(t, "/v1/imports/"+job.ID+"/report"))).ReadAll()
	if err != nil || len(lines) != transferRows+1 {
		t.Fatalf("the report has %d lines: %v", len(lines), err)
	}
	made := map[string]bool{}
	for i, line := range lines[1:] {
		want := map[int]string{3: "failed", 7: "skipped"}[i%10]
		if want == "" {
			want = "created"
			made[line[5]] = true
		}
		if line[0] != strconv.Itoa(i+2) || line[2] != want {
			t.Fatalf("line %d of the report: %q", i, line)
		}
	}
	links, err := csv.NewReader(bytes.NewReader(s.download(t, "/v1/links/export?q=e.test/import/"))).ReadAll()
	if err != nil || len(links)-1 != len(made) || len(made) != job.Created {
		t.Errorf("%d links, %d in the report, %d counted: %v", len(links)-1, len(made), job.Created, err)
	}
	s.eventually(t, time.Minute, "an imported link redirects", func(ctx context.Context) error {
		return s.everyEdge(ctx, "imp-1990", http.StatusFound, "https://e.test/import/1990")
	})
}

// transferred exports with the command, deletes, and imports what was exported.
func (s *stack) transferred(t *testing.T) {
	folder := t.TempDir()
	run := func(args ...string) string {
		t.Helper()
		command := exec.CommandContext(t.Context(), filepath.Join(s.bin, "links"), args...)
		command.Env = append(os.Environ(), "LINKSTREAM_API_URL="+s.env["LINKSTREAM_API_URL"], "LINKSTREAM_API_KEY="+s.env["LINKSTREAM_API_KEY"])
		output, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("links %q: %v\n%s", args, err, output)
		}
		return string(output)
	}
	made := s.makes(t, "carry", "https://e.test/carry?a==b", `"title":"-1+1","tags":["carried"],"notes":"a\r\nb","rules":[{"conditions":[{"type":"language","values":["fr"]}],"destination":"https://e.test/fr"}]`)
	for _, format := range []string{"csv", "jsonl"} {
		file := filepath.Join(folder, "links."+format)
		run("export", "--format", format, "--tag", "carried", "--out", file)
		if status := s.call(t, http.MethodDelete, "/v1/links/"+made.ID, "", nil); status != http.StatusNoContent {
			t.Fatal(status)
		}
		if output := run("import", file, "--dry-run"); !strings.Contains(output, "1 would be created (0 renamed), 0 skipped, 0 would fail, done") {
			t.Error(output)
		}
		report := filepath.Join(folder, "report.csv")
		if output := run("import", "--report", report, file); !strings.Contains(output, "1 of 1 rows: 1 created") {
			t.Error(output)
		}
		text, err := os.ReadFile(report)
		if err != nil {
			t.Fatal(err)
		}
		records, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
		if err != nil || len(records) != 2 {
			t.Fatalf("%q %v", text, err)
		}
		before := made
		if status := s.call(t, http.MethodGet, "/v1/links/"+records[1][5], "", &made); status != http.StatusOK || made.Destination != before.Destination || made.ID == before.ID {
			t.Errorf("%d %+v", status, made)
		}
		again := filepath.Join(folder, "again."+format)
		run("export", "--format", format, "--tag", "carried", "--out", again)
		if a, b := carried(t, file), carried(t, again); a != b {
			t.Errorf("exported\n%s\nand after the import\n%s", a, b)
		}
	}
}

// carried is an export without what differs between a link and its copy: in CSV the last
// five columns.
func carried(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Ext(file) != ".csv" {
		_, rest, _ := strings.Cut(string(text), `"domain"`)
		rest, _, _ = strings.Cut(rest, `"version"`)
		return rest
	}
	records, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil || len(records) != 2 || len(records[1]) < 6 {
		t.Fatalf("%q %v", text, err)
	}
	return strings.Join(records[1][:len(records[1])-5], "\n")
}

// upload posts a file.
func (s *stack) upload(t *testing.T, path string, file []byte, out *importJob) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.env["LINKSTREAM_API_URL"]+path, bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "text/csv")
	s.fetch(t, request, http.StatusAccepted, out)
}

// download returns a whole answer.
func (s *stack) download(t *testing.T, path string) []byte {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.env["LINKSTREAM_API_URL"]+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	return s.fetch(t, request, http.StatusOK, nil)
}

// fetch sends a request to the API and wants an answer with this status.
func (s *stack) fetch(t *testing.T, request *http.Request, status int, out any) []byte {
	t.Helper()
	request.Header.Set("Authorization", "Bearer "+s.env["LINKSTREAM_API_KEY"])
	answer, err := noFollow.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != status {
		t.Fatalf("%s: %d %.500s %v", request.URL.Path, answer.StatusCode, text, err)
	}
	if out != nil {
		if err := json.Unmarshal(text, out); err != nil {
			t.Fatal(err)
		}
	}
	return text
}
