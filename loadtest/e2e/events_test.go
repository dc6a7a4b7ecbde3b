package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// eventLine is what these tests read of a line of `events`.
type eventLine struct {
	Type        string `json:"type"`
	LinkID      string `json:"link_id"`
	Version     int    `json:"version"`
	Destination string `json:"destination"`
	SlugKey     string `json:"slug_key"`
	Status      int    `json:"status"`
	Address     any    `json:"address"` // of a link, or of a visitor
}

// events is the command for people, on this stack.
func (s *stack) events(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, "events"), args...)
	cmd.Env = append(os.Environ(), "LINKSTREAM_KAFKA_BROKERS="+s.env["LINKSTREAM_KAFKA_BROKERS"])
	cmd.Stderr = os.Stderr
	return cmd
}

// tail starts `events tail` and returns its lines.
func (s *stack) tail(t *testing.T, args ...string) <-chan eventLine {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cmd := s.events(ctx, append([]string{"tail", "--from", time.Now().Add(-time.Second).UTC().Format(time.RFC3339)}, args...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = stopTimeout
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := make(chan eventLine, 1000)
	done := make(chan error, 1)
	go func() {
		defer close(lines)
		decoder := json.NewDecoder(out)
		for {
			var line eventLine
			err := decoder.Decode(&line)
			if err == io.EOF {
				done <- nil
				return
			}
			if err != nil {
				done <- err
				return
			}
			lines <- line
		}
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("reading what %v prints: %v", args, err)
		}
		if err := cmd.Wait(); err != nil && ctx.Err() == nil {
			t.Errorf("events tail %v: %v", args, err)
		}
	})
	return lines
}

// next is the next line about a link.
func next(t *testing.T, lines <-chan eventLine, linkID string) eventLine {
	t.Helper()
	limit := time.After(30 * time.Second)
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				t.Fatal("events tail has ended")
			}
			if line.LinkID == linkID {
				return line
			}
		case <-limit:
			t.Fatal("events tail shows nothing")
		}
	}
}

// tailed is another team that looks on.
func (s *stack) tailed(t *testing.T) {
	changes := s.tail(t, "--type", "created,updated,deleted")
	clicks := s.tail(t, "--clicks")
	check := func(line eventLine, kind string, version int, destination string) {
		t.Helper()
		if line.Type != kind || line.Version != version || line.Destination != destination {
			t.Errorf("events tail shows %+v, want %s, version %d, %s", line, kind, version, destination)
		}
	}
	made := s.create(t, "tailed", "https://e.test/one?a=1&b=2")
	check(next(t, changes, made.ID), "created", 1, "https://e.test/one?a=1&b=2")
	if status := s.call(t, http.MethodPatch, "/v1/links/"+made.ID, `{"destination":"https://e.test/two"}`, nil); status != http.StatusOK {
		t.Fatalf("editing: status %d", status)
	}
	check(next(t, changes, made.ID), "updated", 2, "https://e.test/two")

	if status, _, _, err := visit(t.Context(), http.MethodGet, s.edges()[0], "tailed"); err != nil || status != http.StatusFound {
		t.Fatalf("visiting: %d %v", status, err)
	}
	if click := next(t, clicks, made.ID); click.SlugKey != "tailed" || click.Status != http.StatusFound || click.Address != nil {
		t.Errorf("events tail shows the click %+v", click)
	}

	if status := s.call(t, http.MethodDelete, "/v1/links/"+made.ID, "", nil); status != http.StatusNoContent {
		t.Fatalf("deleting: status %d", status)
	}
	check(next(t, changes, made.ID), "deleted", 3, "https://e.test/two")
}

// rebuilt compares the copy that anybody can make from the changelog with the API.
func (s *stack) rebuilt(t *testing.T) {
	type state struct {
		version     int
		destination string
	}
	want := map[string]state{}
	for _, archived := range []string{"false", "true"} {
		for cursor := ""; ; {
			var page struct {
				Data []link  `json:"data"`
				Next *string `json:"next_cursor"`
			}
			if status := s.call(t, http.MethodGet, "/v1/links?limit=100&archived="+archived+cursor, "", &page); status != http.StatusOK {
				t.Fatalf("listing: status %d", status)
			}
			for _, l := range page.Data {
				want[l.ID] = state{l.Version, l.Destination}
			}
			if page.Next == nil {
				break
			}
			cursor = "&cursor=" + *page.Next
		}
	}
	s.eventually(t, 30*time.Second, "events rebuild prints the links that the API lists", func(ctx context.Context) error {
		cmd := s.events(ctx, "rebuild")
		text, err := cmd.Output()
		// 3: without the records that another chapter has written and that do not decode.
		if err != nil && cmd.ProcessState.ExitCode() != 3 {
			return err
		}
		got := map[string]state{}
		lines := bufio.NewScanner(bytes.NewReader(text))
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var line eventLine
			if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
				return err
			}
			got[line.LinkID] = state{line.Version, line.Destination}
		}
		for id, state := range want {
			if got[id] != state {
				return fmt.Errorf("link %s is %+v, the API says %+v", id, got[id], state)
			}
		}
		if len(got) != len(want) {
			return fmt.Errorf("%d links, the API lists %d", len(got), len(want))
		}
		return nil
	})
	t.Logf("%d links are the same in the changelog and in the API", len(want))
}
