package e2e

import (
	"net"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"
)

var wentWell = regexp.MustCompile(`(?m)^canary_rounds_total\{result="ok"\} [1-9]`)

// canary starts one on the running stack, waits until a whole round has gone well, and
// returns what it exposes. That a step fails on a busy machine is no fault of the stack
// here: the next round may go well.
func (s *stack) canary(t *testing.T) []byte {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(binaries(t), "canary"))
	cmd.Env = []string{
		"LINKSTREAM_ADMIN_ADDR=127.0.0.1:" + strconv.Itoa(port),
		"LINKSTREAM_CANARY_API_URL=" + s.env["LINKSTREAM_API_URL"], "LINKSTREAM_CANARY_API_KEY=" + s.env["LINKSTREAM_API_KEY"],
		"LINKSTREAM_CANARY_DOMAIN=localhost", "LINKSTREAM_CANARY_EDGES=" + s.env["LINKSTREAM_EDGE_URLS"],
		"LINKSTREAM_CANARY_EVERY=1s", "LINKSTREAM_CANARY_LIVE_LIMIT=10s",
	}
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Errorf("the canary ends with %v", err)
		}
	}()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	var last error
	for begun := time.Now(); time.Since(begun) < 90*time.Second; <-tick.C {
		text, err := s.scrape(t.Context(), port)
		if err == nil && wentWell.Match(text) {
			return text
		}
		last = err
	}
	t.Fatalf("no round of the canary goes well: %v", last)
	return nil
}
