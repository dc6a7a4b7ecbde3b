package api_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/links/internal/link"
	"github.com/linkstream/linkstream/services/links/internal/transfer"
)

// work runs a worker until the returned function is called.
func (s *service) work(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.importer.Work(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// importJob is an import as the API shows it.
type importJob struct {
	ID, State, Format, Charset        string
	Domain                            *string
	Total, Read                       int
	Created, Renamed, Skipped, Failed int
	IgnoredColumns                    []string `json:"ignored_columns"`
	FinishedAt                        *string  `json:"finished_at"`
}

// upload starts an import and returns its id.
func (s *service) upload(t *testing.T, query, file string) string {
	t.Helper()
	a := s.send(t, http.MethodPost, "/v1/imports"+query, file, "Content-Type: text/csv")
	if a.status != http.StatusAccepted || a.header.Get("Location") != "/v1/imports/"+a.ID {
		t.Fatalf("%d %s", a.status, a.raw)
	}
	return a.ID
}

func (s *service) job(t *testing.T, id string) importJob {
	t.Helper()
	var j importJob
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/imports/"+id, http.NoBody)
	s.into(t, r, &j)
	return j
}

// finished waits for the end of an import.
func (s *service) finished(t *testing.T, id string) importJob {
	t.Helper()
	deadline := time.After(time.Minute)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if j := s.job(t, id); j.FinishedAt != nil {
			return j
		}
		select {
		case <-deadline:
			t.Fatalf("the import does not end: %+v", s.job(t, id))
		case <-tick.C:
		}
	}
}

// text returns an answer that is no JSON.
func (s *service) text(t *testing.T, path string) string {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
	r.Header.Set("Authorization", "Bearer "+s.key)
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", path, w.Code, w.Body)
	}
	return w.Body.String()
}

// report returns the lines of an import's report without link ids, which are checked.
func (s *service) report(t *testing.T, id string) string {
	t.Helper()
	records, err := csv.NewReader(strings.NewReader(s.text(t, "/v1/imports/"+id+"/report"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, r := range records[1:] {
		if made := r[2] == "created" || r[2] == "renamed"; made && r[5] != "" {
			if l := s.send(t, http.MethodGet, "/v1/links/"+r[5], ""); l.Slug != r[1] {
				t.Errorf("the link of row %s is %s", r[0], l.raw)
			}
		}
		lines = append(lines, strings.TrimRight(strings.Join(r[:4], " "), " "))
	}
	return strings.Join(lines, "\n")
}

func TestAnImportMakesLinksAndSaysWhatBecameOfEachRow(t *testing.T) {
	s := newService(t)
	defer s.work(t)()
	s.send(t, http.MethodPost, "/v1/links", `{"destination": "https://e.test/", "slug": "taken"}`)
	const file = "destination,slug,tags,status_code,password,domain\n" +
		"https://e.test/a,one,\"x,y\",301,,\n" + // 2
		"https://e.test/b,taken,,,,\n" + // 3
		"https://e.test/c,One,,,,go.test\n" + // 4: the domain tells cases apart
		"https://e.test/d,one,,,,\n" + // 5
		"ftp://e.test/,,,,,\n" + // 6
		"https://e.test/f,robots.txt,,,,\n" + // 7
		"https://e.test/g,,,200,,\n" + // 8
		"https://e.test/h,,,,secret,\n" + // 9
		"https://go.test/x,,,,,\n" + // 10: our own domain
		"https://e.test/j,,,,,other.test\n" + // 11
		",,,,,go.test\n" // 12
	const rest = "6  failed not_allowed\n7 robots.txt failed reserved\n8  failed invalid\n9  failed not_allowed\n10  failed own_domain\n11  failed unknown_domain\n12  failed required"
	check := func(query, want string) {
		t.Helper()
		id := s.upload(t, query, file)
		j := s.finished(t, id)
		if got := s.report(t, id); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", query, got, want)
		}
		if j.State != "done" || j.Format != "csv" || j.Total != 11 || j.Read != 11 || j.Created+j.Skipped+j.Failed != 11 {
			t.Errorf("%s: %+v", query, j)
		}
	}
	check("?dry_run=true", "2 one created\n3 taken skipped slug_taken\n4 One created\n5 one skipped slug_taken\n"+rest)
	if n := s.count(t, `SELECT count(*) FROM links`); n != 1 {
		t.Errorf("a dry run left %d links", n)
	}
	check("?dry_run=true&on_conflict=rename", "2 one created\n3 taken-2 renamed\n4 One created\n5 one-2 renamed\n"+rest)
	check("?on_conflict=fail", "2 one created\n3 taken failed slug_taken\n4 One created\n5 one failed slug_taken\n"+rest)
	if n, changes := s.count(t, `SELECT count(*) FROM links`), s.count(t, `SELECT count(*) FROM outbox`); n != 3 || changes != 2 { // those of one transaction share a row
		t.Errorf("%d links and %d changes", n, changes)
	}
	check("?on_conflict=rename", "2 one-2 renamed\n3 taken-2 renamed\n4 One-2 renamed\n5 one-3 renamed\n"+rest)
	if l := s.send(t, http.MethodGet, "/v1/links?q=e.test/a&limit=1", ""); len(l.Data) != 1 || l.Data[0].Slug != "one-2" {
		t.Error(l.raw)
	}
}

// Guards I84.
func TestAnImportGoesOnWhereItsWorkerDied(t *testing.T) {
	s := newService(t)
	var file strings.Builder
	file.WriteString("destination,slug\n")
	for i := range 600 {
		// Every other one gets a slug that nobody can tell apart from another's.
		fmt.Fprintf(&file, "https://e.test/%d,%s\n", i, map[bool]string{true: fmt.Sprintf("s%d", i)}[i%2 == 0])
	}
	id := s.upload(t, "", file.String())
	key := uuid.MustParse(id)
	// A worker that claims the job and dies: its lease is over at once.
	dead, err := s.store.ClaimImport(t.Context(), uuid.New(), 0)
	if err != nil || dead == nil || dead.ID != key {
		t.Fatal(dead, err)
	}
	// A second one that is taken for dead, and is not: what it does after another has taken
	// over is refused.
	slow := uuid.New()
	j, err := s.store.ClaimImport(t.Context(), slow, 0)
	if err != nil || j == nil {
		t.Fatal(j, err)
	}
	stop := s.work(t)
	s.finished(t, id)
	stop()
	rows := []link.New{s.row(t, "late")}
	err = s.store.MakeRows(t.Context(), j, slow, time.Minute, 0, rows, func([]link.Outcome) (transfer.Progress, error) {
		return transfer.Progress{Rows: 1, Counts: transfer.Counts{Created: 1}}, nil
	})
	if err != transfer.ErrLost { //nolint:errorlint // the very one
		t.Errorf("whoever lost a job may still make rows: %v", err)
	}
	if got := s.job(t, id); got.Created != 600 || got.Failed+got.Skipped != 0 {
		t.Errorf("%+v", got)
	}
	if n, different := s.count(t, `SELECT count(*) FROM links`), s.count(t, `SELECT count(DISTINCT destination) FROM links`); n != 600 || different != 600 {
		t.Errorf("%d links to %d places", n, different)
	}
	if got := s.count(t, `SELECT count(*) FROM import_chunks WHERE body <> ''`); got != 0 {
		t.Errorf("%d chunks are still kept", got)
	}
}

// A transaction that fails after its links were written leaves neither them nor progress.
//
// Guards I84.
func TestLinksAndProgressOfAnImportAreOneTransaction(t *testing.T) {
	s := newService(t)
	id := s.upload(t, "", "destination,slug\nhttps://e.test/,a\nhttps://e.test/,b\n")
	worker := uuid.New()
	j, err := s.store.ClaimImport(t.Context(), worker, time.Minute)
	if err != nil || j == nil {
		t.Fatal(j, err)
	}
	if again, err := s.store.ClaimImport(t.Context(), uuid.New(), time.Minute); again != nil || err != nil {
		t.Errorf("a job is claimed twice: %v %v", again, err)
	}
	boom := fmt.Errorf("boom")
	try := func(fault error) error {
		return s.store.MakeRows(t.Context(), j, worker, time.Minute, 0, []link.New{s.row(t, "a")}, func(outcomes []link.Outcome) (transfer.Progress, error) {
			if outcomes[0].Err != nil {
				t.Error(outcomes[0].Err)
			}
			return transfer.Progress{Rows: 1, Report: "x", Counts: transfer.Counts{Created: 1}}, fault
		})
	}
	if err := try(boom); err != boom { //nolint:errorlint // the very one
		t.Error(err)
	}
	if n, done := s.count(t, `SELECT count(*) FROM links`), s.count(t, `SELECT sum(done) FROM import_chunks`); n != 0 || done != 0 {
		t.Errorf("%d links, %d rows done", n, done)
	}
	if err := try(nil); err != nil {
		t.Error(err)
	}
	if n, done := s.count(t, `SELECT count(*) FROM links`), s.count(t, `SELECT sum(done) FROM import_chunks`); n != 1 || done != 1 {
		t.Errorf("%d links, %d rows done", n, done)
	}
	// What is left after a cancellation is not made.
	if a := s.send(t, http.MethodDelete, "/v1/imports/"+id, ""); a.status != http.StatusNoContent {
		t.Error(a.raw)
	}
	if err := try(nil); err != transfer.ErrLost { //nolint:errorlint // the very one
		t.Error(err)
	}
	if got := s.job(t, id); got.State != "cancelled" || got.Created != 1 || got.Total != 2 {
		t.Errorf("%+v", got)
	}
}

// row is a link on its way.
func (s *service) row(t *testing.T, slug string) link.New {
	t.Helper()
	checked, err := (&link.Rules{}).CheckNew(link.Change{Destination: link.Some("https://e.test/"), Slug: link.Some(slug)})
	if err != nil {
		t.Fatal(err)
	}
	id, err := link.NewID()
	if err != nil {
		t.Fatal(err)
	}
	var workspace uuid.UUID
	if err := s.pool.QueryRow(t.Context(), `SELECT id FROM workspaces ORDER BY created_at LIMIT 1`).Scan(&workspace); err != nil {
		t.Fatal(err)
	}
	return link.New{WorkspaceID: workspace, ID: id, Checked: checked}
}

func TestImportsThatAreRefused(t *testing.T) {
	s := newService(t)
	check := func(query, kind, file string, status int, want string) {
		t.Helper()
		a := s.send(t, http.MethodPost, "/v1/imports"+query, file, "Content-Type: "+kind)
		if a.status != status || want != a.Code && want != a.wrong() {
			t.Errorf("%s %.40q: %d %s", query, file, a.status, a.raw)
		}
	}
	const good = "destination\nhttps://e.test/\n"
	check("", "text/csv", "slug\na\n", 422, "file:invalid")
	check("", "text/csv", "x", 422, "file:invalid")
	check("?format=xls", "text/csv", good, 422, "query.format:invalid")
	check("?on_conflict=overwrite", "text/csv", good, 422, "query.on_conflict:invalid")
	check("?domain=other.test", "text/csv", good, 422, "domain:unknown_domain")
	check("?overwrite=true", "text/csv", good, 422, "query.overwrite:unknown")
	check("", "multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\n1\r\n--b--\r\n", 422, "file:required")
	check("", "multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\ndestination\nhttps://e.test/", 400, "malformed")
	check("", "text/csv", "destination\n"+strings.Repeat("x\n", 2001), 413, "body_too_large")
	check("", "text/csv", "destination\n"+strings.Repeat(strings.Repeat("x", 1023)+"\n", 1024), 413, "body_too_large")
	if n := s.count(t, `SELECT count(*) FROM import_jobs`); n != 0 {
		t.Errorf("%d imports are left of refused ones", n)
	}
	for range transfer.MaxOpen {
		s.upload(t, "", good)
	}
	check("", "text/csv", good, 409, "too_many_imports")
	// The list is a walk over pages, newest first.
	page := s.send(t, http.MethodGet, "/v1/imports?limit=2", "")
	if len(page.Data) != 2 || page.NextCursor == nil {
		t.Fatal(page.raw)
	}
	last := s.send(t, http.MethodGet, "/v1/imports?cursor="+*page.NextCursor, "")
	if len(last.Data) != 1 || last.NextCursor != nil || last.Data[0].ID >= page.Data[1].ID || page.Data[1].ID >= page.Data[0].ID {
		t.Errorf("%s\n%s", page.raw, last.raw)
	}
	if a := s.send(t, http.MethodGet, "/v1/imports?cursor=x", ""); a.wrong() != "cursor:invalid" {
		t.Error(a.raw)
	}
	for _, path := range []string{"/v1/imports/x", "/v1/imports/" + uuid.NewString(), "/v1/imports/" + uuid.NewString() + "/report"} {
		if a := s.send(t, http.MethodGet, path, ""); a.status != 404 || a.Code != "not_found" {
			t.Errorf("%s: %d %s", path, a.status, a.raw)
		}
	}
	// Another workspace's import is nobody's.
	mine := s.count(t, `SELECT count(*) FROM import_jobs`)
	var id string
	if err := s.pool.QueryRow(t.Context(), `SELECT id FROM import_jobs LIMIT 1`).Scan(&id); err != nil {
		t.Fatal(err)
	}
	s.key = s.workspace(t, "second")
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		if a := s.send(t, method, "/v1/imports/"+id, ""); a.status != 404 {
			t.Errorf("%s: %d", method, a.status)
		}
	}
	if n := s.count(t, `SELECT count(*) FROM import_jobs WHERE state = 'queued'`); n != mine {
		t.Errorf("%d of %d imports are left", n, mine)
	}
}

func TestAnImportSentTwiceHappensOnce(t *testing.T) {
	s := newService(t)
	form := &bytes.Buffer{}
	w := multipart.NewWriter(form)
	part, err := w.CreateFormFile("upload", "links.csv")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(part, "\xEF\xBB\xBFdestination\nhttps://e.test/\n")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	first := s.send(t, http.MethodPost, "/v1/imports", form.String(), "Content-Type: "+w.FormDataContentType(), "Idempotency-Key: k")
	again := s.send(t, http.MethodPost, "/v1/imports", form.String(), "Content-Type: "+w.FormDataContentType(), "Idempotency-Key: k")
	if first.status != 202 || again.status != 202 || first.ID != again.ID || s.count(t, `SELECT count(*) FROM import_jobs`) != 1 {
		t.Errorf("%s\n%s", first.raw, again.raw)
	}
	// A try whose answer nobody stored: the next one finds the import, or begins a broken
	// upload anew.
	for _, state := range []string{"queued", "uploading"} {
		s.exec(t, `UPDATE idempotency_keys SET answer = NULL, claimed_until = '-infinity'`)
		s.exec(t, `UPDATE import_jobs SET state = $1`, state)
		again = s.send(t, http.MethodPost, "/v1/imports", form.String(), "Content-Type: "+w.FormDataContentType(), "Idempotency-Key: k")
		if again.status != 202 || again.ID != first.ID || s.count(t, `SELECT count(*) FROM import_jobs`) != 1 || s.count(t, `SELECT sum(total) FROM import_jobs WHERE state = 'queued'`) != 1 {
			t.Errorf("%s: %s", state, again.raw)
		}
	}
}
