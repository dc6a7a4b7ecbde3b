package e2e

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// marker is in every secret that the programs get here.
const marker = "ThisIsSecret"

// talking is how long a program may take until it complains, and to end.
const talking = 20 * time.Second

// secretive are the programs and what they are told. NOBODY stands for an address
// where nobody listens, SECRET for the marker.
func secretive(folder string) map[string][]string {
	common := []string{"LINKSTREAM_KAFKA_BROKERS=NOBODY", "LINKSTREAM_REGION=fra", "LINKSTREAM_EDGE_NAME=e", "LINKSTREAM_DEFAULT_DOMAIN=e.test"}
	return map[string][]string{
		"links": append([]string{
			"LINKSTREAM_POSTGRES_URL=postgres://user:SECRET@NOBODY/db", "LINKSTREAM_RATELIMIT_REDIS_URL=redis://user:SECRET@NOBODY/0",
			"LINKSTREAM_TOKEN_PEPPER=SECRET0123456789012345678901234567890123456789",
			"LINKSTREAM_TOKEN_PEPPER_PREVIOUS=SECRETold0123456789012345678901234567890123456789",
		}, common...),
		"cacheupdater": append([]string{"LINKSTREAM_REDIS_URL=redis://user:SECRET@NOBODY/0", "LINKSTREAM_TRACES_URL=http://user:SECRET@NOBODY"}, common...),
		"redirect": append([]string{
			"LINKSTREAM_REDIS_URL=redis://user:SECRET@NOBODY/0", "LINKSTREAM_ORIGIN_URL=http://user:SECRET@NOBODY",
			"LINKSTREAM_COUNTER_REDIS_URL=redis://user:SECRET@NOBODY/0", "LINKSTREAM_RATELIMIT_REDIS_URL=redis://user:SECRET@NOBODY/0",
			"LINKSTREAM_JOURNAL_DIR=" + filepath.Join(folder, "journal"),
		}, common...),
		"clicks":    append([]string{"LINKSTREAM_CLICKHOUSE_URL=http://user:SECRET@NOBODY/linkstream"}, common...),
		"analytics": append([]string{"LINKSTREAM_CLICKHOUSE_URL=clickhouse://user:SECRET@NOBODY/linkstream", "LINKSTREAM_ACCESS_URL=http://user:SECRET@NOBODY"}, common...),
		"dashboard": append([]string{
			"LINKSTREAM_LINKS_URL=http://user:SECRET@NOBODY", "LINKSTREAM_ANALYTICS_URL=http://user:SECRET@NOBODY",
			"LINKSTREAM_ACCESS_URL=http://user:SECRET@NOBODY", "LINKSTREAM_RATELIMIT_REDIS_URL=redis://user:SECRET@NOBODY/0",
			"LINKSTREAM_WEBHOOKS_URL=http://user:SECRET@NOBODY",
		}, common...),
		"webhooks": append([]string{
			"LINKSTREAM_POSTGRES_URL=postgres://user:SECRET@NOBODY/db", "LINKSTREAM_ACCESS_URL=http://user:SECRET@NOBODY",
			"LINKSTREAM_RATELIMIT_REDIS_URL=redis://user:SECRET@NOBODY/0", "LINKSTREAM_WEBHOOKS_KEY=SECRET0123456789012345678901234567890123456789",
		}, common...),
		"canary": {
			"LINKSTREAM_CANARY_API_URL=http://NOBODY", "LINKSTREAM_CANARY_API_KEY=SECRET",
			"LINKSTREAM_CANARY_DOMAIN=go.test", "LINKSTREAM_CANARY_EDGES=http://NOBODY",
		},
		"migrate": append([]string{
			"LINKSTREAM_POSTGRES_URL=postgres://user:SECRET@NOBODY/db", "LINKSTREAM_CLICKHOUSE_URL=http://user:SECRET@NOBODY/linkstream",
			"LINKSTREAM_SCHEMA_REGISTRY_URL=http://user:SECRET@NOBODY",
		}, common...),
	}
}

// TestNoSecretIsPrinted: stores that cannot be reached and settings that cannot be
// read make every program talk, at its most talkative. None of it is a secret.
//
// Guards I89.
func TestNoSecretIsPrinted(t *testing.T) {
	t.Parallel()
	bin := binaries(t)
	spoiled := strings.NewReplacer("NOBODY", "127.0.0.1:port", "SECRET", marker+"%zz") // neither a port nor an escape
	clean := strings.NewReplacer("NOBODY", "127.0.0.1:9", "SECRET", marker)
	for name, settings := range secretive(t.TempDir()) {
		var args []string
		if name == "migrate" {
			args = []string{"all"}
		}
		for kind, replacer := range map[string]*strings.Replacer{"unreachable": clean, "malformed": spoiled} {
			t.Run(name+" "+kind, func(t *testing.T) {
				t.Parallel()
				environ := []string{"LINKSTREAM_LOG_LEVEL=debug", "LINKSTREAM_ADMIN_ADDR=127.0.0.1:0", "LINKSTREAM_HTTP_ADDR=127.0.0.1:0", "LINKSTREAM_RPC_ADDR=127.0.0.1:0", "LINKSTREAM_DRAIN_TIMEOUT=1s"}
				if name == "migrate" {
					environ = nil
				}
				for _, s := range settings {
					environ = append(environ, replacer.Replace(s))
				}
				said := complaints(t, filepath.Join(bin, name), args, environ)
				if strings.Contains(said, marker) {
					t.Errorf("it prints a secret:\n%s", said)
				}
				if kind == "unreachable" && !strings.Contains(said, "127.0.0.1:9") && name != "dashboard" && name != "analytics" {
					t.Errorf("it does not say whom it cannot reach:\n%s", said)
				}
			})
		}
	}
}

// complaints are what a program prints until it has said a few things, or ended.
func complaints(t *testing.T, program string, args, environ []string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), talking)
	defer cancel()
	out := &heard{enough: make(chan struct{})}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = environ, out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // how it ends is its own affair
	}()
	select {
	case <-ended:
		return out.String()
	case <-out.enough:
	case <-time.After(talking / 4):
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-ended
	if out.String() == "" {
		t.Error("it says nothing at all")
	}
	return out.String()
}

// heard is what was printed. enough is closed at the fifth line.
type heard struct {
	mu     sync.Mutex
	text   bytes.Buffer
	enough chan struct{}
	closed bool
}

func (h *heard) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text.Write(p)
	if !h.closed && bytes.Count(h.text.Bytes(), []byte("\n")) >= 5 {
		h.closed = true
		close(h.enough)
	}
	return len(p), nil
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}

// noSecrets: what the whole story printed into the stack's logs holds no key, no
// password and no session.
func (s *stack) noSecrets(t *testing.T) {
	logs, err := filepath.Glob(filepath.Join(s.dir, "log", "*.log"))
	if err != nil || len(logs) == 0 {
		t.Fatalf("no logs: %v", err)
	}
	secrets := []*regexp.Regexp{regexp.MustCompile(`ls_(key|ses)_[A-Za-z0-9]{20}`)}
	for _, name := range []string{"LINKSTREAM_API_KEY", "LINKSTREAM_DASHBOARD_PASSWORD"} {
		if len(s.env[name]) < 16 {
			t.Fatalf("%s is %q", name, s.env[name])
		}
		secrets = append(secrets, regexp.MustCompile(regexp.QuoteMeta(s.env[name])))
	}
	for _, path := range logs {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range secrets {
			if at := secret.FindIndex(text); at != nil {
				t.Errorf("%s holds a secret: ...%s", filepath.Base(path), text[max(0, at[0]-200):at[0]])
			}
		}
	}
}
