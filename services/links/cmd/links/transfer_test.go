package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFilesFromTheCommandLine(t *testing.T) {
	dry := "false"
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer k":
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"detail": "no key", "errors": [{"field": "f", "detail": "d"}]}`))
		case r.Method == http.MethodPost:
			dry = r.URL.Query().Get("dry_run")
			w.WriteHeader(http.StatusAccepted)
			_, _ = w.Write([]byte(`{"id": "1", "state": "queued", "total": 2}`))
		case r.URL.Path == "/v1/imports/1":
			_, _ = w.Write([]byte(`{"id": "1", "state": "done", "total": 2, "read": 2, "created": 1, "failed": 1, "finished_at": "2030-01-01T00:00:00Z", "dry_run": ` + dry + `}`))
		case strings.Contains(r.URL.RawQuery, "tag=broken"):
			_, _ = w.Write([]byte("half"))
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		default:
			_, _ = w.Write([]byte(r.URL.RequestURI()))
		}
	}))
	defer api.Close()
	folder := t.TempDir()
	file, out := filepath.Join(folder, "in.csv"), filepath.Join(folder, "out.csv")
	if err := os.WriteFile(file, []byte("destination\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	environ := []string{"LINKSTREAM_API_URL=" + api.URL + "/", "LINKSTREAM_API_KEY=k"}
	check := func(environ, args []string, printed, fault string) {
		t.Helper()
		var stdout bytes.Buffer
		err := run(t.Context(), environ, args, &stdout)
		if !strings.Contains(stdout.String(), printed) {
			t.Errorf("%q printed %s", args, stdout.String())
		}
		if (err == nil) != (fault == "") || err != nil && !strings.Contains(err.Error(), fault) {
			t.Errorf("%q: %v", args, err)
		}
	}
	check(environ, []string{"import", "--help"}, "--report report.csv", "")
	check(environ, []string{"import"}, "", "a file is needed")
	check(nil, []string{"import", file}, "", "LINKSTREAM_API_KEY")
	check(environ, []string{"import", file, "more"}, "", `unexpected argument "more"`)
	check(environ, []string{"import", file, "--colour"}, "", "-colour")
	check(environ, []string{"import", file + ".missing"}, "", "opening the file")
	check(environ, []string{"import", file, "--api-key", "other"}, "", "no key\n  f: d")
	check(environ, []string{"import", file}, "import 1 (, ): 2 of 2 rows: 1 created (0 renamed), 0 skipped, 1 failed, done", "1 of 2 rows failed")
	check(environ, []string{"import", file, "--dry-run", "--report", out}, "dry run 1 (, ): 2 of 2 rows: 1 would be created (0 renamed), 0 skipped, 1 would fail, done", "1 of 2 rows would fail")
	if text, err := os.ReadFile(out); err != nil || string(text) != "/v1/imports/1/report" {
		t.Errorf("%s %v", text, err)
	}
	check(environ, []string{"export", "--format", "jsonl", "--tag", "a b"}, "/v1/links/export?format=jsonl&tag=a+b", "")
	check(environ, []string{"export", "file"}, "", "--out")
	check(environ, []string{"export", "--tag", "broken", "--out", filepath.Join(folder, "half.csv")}, "", "writing")
	if left, _ := filepath.Glob(filepath.Join(folder, "half*")); len(left) > 0 {
		t.Errorf("half an export is left: %q", left)
	}
}
