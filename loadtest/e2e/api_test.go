package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"
)

// renamed: a slug is free at once when its link gets another, on every edge, and the
// link keeps its clicks.
func (s *stack) renamed(t *testing.T) {
	made := s.create(t, "before", "https://e.test/renamed")
	s.eventually(t, freshness, "all edges redirect", func(ctx context.Context) error {
		return s.everyEdge(ctx, "before", http.StatusFound, "https://e.test/renamed")
	})
	count := func(at int, what string) int {
		t.Helper()
		got := 0
		s.eventually(t, 30*time.Second, what, func(context.Context) error {
			if got = s.clicks(t, made.ID); got < at {
				return fmt.Errorf("%d clicks, want %d", got, at)
			}
			return nil
		})
		return got
	}
	before := count(len(s.edges()), "visits under the old slug are counted")
	if status := s.call(t, http.MethodPatch, "/v1/links/"+made.ID, `{"slug":"after"}`, nil); status != http.StatusOK {
		t.Fatalf("renaming: status %d", status)
	}
	s.create(t, "before", "https://e.test/other") // taken again at once
	s.eventually(t, freshness, "all edges know both", func(ctx context.Context) error {
		if err := s.everyEdge(ctx, "before", http.StatusFound, "https://e.test/other"); err != nil {
			return err
		}
		return s.everyEdge(ctx, "after", http.StatusFound, "https://e.test/renamed")
	})
	count(before+len(s.edges()), "visits under both slugs are counted")
}

// foreign runs schemathesis, a tester that knows nothing but the API's document: it
// may find no fault of ours, and no answer that the document does not have. Seed and
// number of tries are fixed, so that a failure can be had again.
func (s *stack) foreign(t *testing.T) {
	tester := os.Getenv("LINKSTREAM_E2E_SCHEMATHESIS")
	if tester == "" {
		t.Skip("LINKSTREAM_E2E_SCHEMATHESIS names no schemathesis: run make test-openapi")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	run := exec.CommandContext(ctx, tester, "run", s.env["LINKSTREAM_API_URL"]+"/openapi.json",
		"--header", "Authorization: Bearer "+s.env["LINKSTREAM_API_KEY"],
		"--checks", "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance",
		"--phases", "examples,coverage,fuzzing", "--max-examples", "25", "--max-time", "60", "--seed", "1", "--no-color",
		"--exclude-operation-id", "revoke-key", // it would revoke its own
		"--exclude-operation-id", "stream-events", // it has no end
	)
	run.Dir = t.TempDir() // where it keeps what it learnt
	if out, err := run.CombinedOutput(); err != nil {
		t.Errorf("schemathesis: %v\n%s", err, out)
	}
}
