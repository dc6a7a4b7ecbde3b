package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"go.uber.org/goleak"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/services/internal/config"
	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/internal/kafka"
	"github.com/linkstream/linkstream/services/internal/redistest"
	"github.com/linkstream/linkstream/services/internal/testproc"
)

var update = flag.Bool("update", false, "write deps.txt anew")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestEveryBadSettingIsNamed(t *testing.T) {
	err := run(t.Context(), []string{
		"LINKSTREAM_DRAIN_TIMEOUT=-1s", "LINKSTREAM_LOG_LEVEL=loud", "LINKSTREAM_ADMIN_ADDR=nowhere", "LINKSTREAM_HTTP_ADDR=here",
		"LINKSTREAM_ORIGIN_URL=links:8011", "LINKSTREAM_TRUSTED_PROXIES=10.0.0.0/8,nonsense", "LINKSTREAM_L1_MAX_BYTES=256", "LINKSTREAM_L1_TTL=1ms",
		"LINKSTREAM_EDGE_RATE_LIMIT=-1", "LINKSTREAM_EDGE_RATE_BURST=0", "LINKSTREAM_EDGE_RATE_EXEMPT=home", "LINKSTREAM_MONITOR_AGENTS=UptimeRobot,x",
		"LINKSTREAM_COUNTER_REDIS_URL=nonsense", "LINKSTREAM_RATELIMIT_REDIS_URL=http://x", "LINKSTREAM_UNLOCK_FOR=1s",
		"LINKSTREAM_SHORT_URL_SCHEME=ftp", "LINKSTREAM_SHORT_URL_PORT=-1",
		"LINKSTREAM_JOURNAL_MAX_BYTES=1", "LINKSTREAM_REDIS_URL=redis://user:secret@host:port", "LINKSTREAM_KAFKA_BROKERS=nowhere",
	}, nil, io.Discard)
	if err == nil {
		t.Fatal("it starts")
	}
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("the message repeats a password: %v", err)
	}
	for _, name := range []string{
		"REGION", "EDGE_NAME", "REDIS_URL", "KAFKA_BROKERS", "DEFAULT_DOMAIN", "DRAIN_TIMEOUT", "LOG_LEVEL", "ADMIN_ADDR", "HTTP_ADDR",
		"ORIGIN_URL", "TRUSTED_PROXIES", "L1_MAX_BYTES", "L1_TTL", "EDGE_RATE_LIMIT", "EDGE_RATE_BURST", "EDGE_RATE_EXEMPT", "MONITOR_AGENTS", "JOURNAL_MAX_BYTES", "JOURNAL_DIR",
		"SHORT_URL_SCHEME", "SHORT_URL_PORT", "COUNTER_REDIS_URL", "RATELIMIT_REDIS_URL", "UNLOCK_FOR",
	} {
		if !strings.Contains(err.Error(), "LINKSTREAM_"+name) {
			t.Errorf("the message does not name LINKSTREAM_%s: %v", name, err)
		}
	}
}

func TestMonitorsCanBeSwitchedOff(t *testing.T) {
	for value, some := range map[string]bool{"": true, "UptimeRobot": true, "none": false} {
		s, err := config.Parse[settings]("", environ(t.TempDir(), []string{"127.0.0.1:1"}, "redis://127.0.0.1:1", "LINKSTREAM_MONITOR_AGENTS="+value), nil, io.Discard)
		if err != nil || (len(s.monitors()) > 0) != some {
			t.Errorf("LINKSTREAM_MONITOR_AGENTS=%q gives %q, %v", value, s.monitors(), err)
		}
	}
}

func TestHelpListsTheSettings(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), nil, []string{"--help"}, &out); !errors.Is(err, config.ErrHelp) {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "LINKSTREAM_TRUSTED_PROXIES") {
		t.Errorf("--help prints %s", out.String())
	}
}

func environ(journal string, brokers []string, redisURL string, more ...string) []string {
	return append(more,
		"LINKSTREAM_JOURNAL_DIR="+journal, "LINKSTREAM_REGION=fra", "LINKSTREAM_EDGE_NAME=redirect-fra-0", "LINKSTREAM_REDIS_URL="+redisURL,
		"LINKSTREAM_ORIGIN_URL=http://127.0.0.1:1", "LINKSTREAM_DEFAULT_DOMAIN=s.test",
		"LINKSTREAM_KAFKA_BROKERS="+strings.Join(brokers, ","), "LINKSTREAM_DRAIN_TIMEOUT=2s")
}

func TestMissingTopicStopsTheStart(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	err = run(t.Context(), environ(t.TempDir(), cluster.ListenAddrs(), redistest.Start(t).URL, "LINKSTREAM_HTTP_ADDR=127.0.0.1:0", "LINKSTREAM_ADMIN_ADDR=127.0.0.1:0"), nil, io.Discard)
	if !errors.Is(err, kafka.ErrMissingTopics) || !strings.Contains(err.Error(), string(events.Clicks)) {
		t.Errorf("run() = %v, want the missing topic", err)
	}
}

// edge is a whole edge under way.
func edge(t *testing.T, brokers []string, redisURL string) (public, admin string) {
	t.Helper()
	public, admin = testproc.FreeAddr(t), testproc.FreeAddr(t)
	journal := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, environ(journal, brokers, redisURL, "LINKSTREAM_HTTP_ADDR="+public, "LINKSTREAM_ADMIN_ADDR="+admin), nil, io.Discard)
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run() = %v", err)
		}
	})
	return public, admin
}

// get returns a status and a body, 0 when nobody listens.
func get(t *testing.T, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

func TestReadyWithRedisAndServesWithoutABroker(t *testing.T) {
	public, admin := edge(t, []string{"127.0.0.1:1"}, redistest.Start(t).URL)
	facttest.Eventually(t, "it is ready", func() bool { status, _ := get(t, "http://"+admin+"/readyz"); return status == 200 })
	if _, body := get(t, "http://"+admin+"/readyz"); !strings.HasPrefix(body, "ready\n") || !strings.Contains(body, "places: no file") || !strings.Contains(body, "limits: LINKSTREAM_COUNTER_REDIS_URL") {
		t.Errorf("/readyz says %q", body)
	}
	if status, _ := get(t, "http://"+public+"/robots.txt"); status != 200 {
		t.Errorf("robots.txt: %d", status)
	}
	if status, _ := get(t, "http://"+public+"/a"); status != 404 && status != 503 {
		t.Errorf("a link with the origin away: %d", status)
	}
	_, metrics := get(t, "http://"+admin+"/metrics")
	for _, name := range []string{
		"cache_l1_hit_total", "cache_l1_miss_total", "cache_l2_hit_total", "cache_l2_miss_total", "cache_origin_request_total",
		`cache_invalidation_total{source="pubsub"}`, `cache_invalidation_total{source="ttl"}`, `cache_invalidation_total{source="purge"}`,
		`cache_invalidation_total{source="gap"}`, `cache_invalidation_total{source="reconnect"}`, "cache_l1_memory_bytes", "cache_stale_served_total",
		`redirect_duration_seconds_count{cache="l1"}`, `redirect_responses_total{status="302"}`,
		"clicks_accepted_total", "clicks_produced_total", "clicks_journal_bytes",
		`clicks_dropped_total{reason="journal_full"}`, `clicks_dropped_total{reason="journal_disk"}`, `clicks_dropped_total{reason="journal_damaged"}`,
	} {
		if !strings.Contains(metrics, "\n"+name) {
			t.Errorf("/metrics has no %s", name)
		}
	}
}

func TestNotReadyWithNobodyToAskAndSaysWhy(t *testing.T) {
	server := redistest.Start(t)
	server.Kill()
	_, admin := edge(t, []string{"127.0.0.1:1"}, server.URL)
	facttest.Eventually(t, "it says what is missing", func() bool {
		status, body := get(t, "http://"+admin+"/readyz")
		return status == 503 && strings.Contains(body, "redis") && strings.Contains(body, "origin")
	})
	if status, _ := get(t, "http://"+admin+"/healthz"); status != 200 {
		t.Errorf("/healthz: %d", status)
	}
}

// The edge's dependency list is looked at when it changes, not when it hurts.
//
// Guards I18.
func TestDependenciesAreThoseOfTheList(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".")
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	got, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	const list = "../../deps.txt"
	if *update {
		if err := os.WriteFile(list, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("deps.txt is not what the edge depends on: run `go test ./cmd/redirect -run Dependencies -update` and say in the commit why")
	}
	for _, banned := range []string{"pgx", "clickhouse", "goose", "danielgtaylor", "testing"} {
		if strings.Contains(strings.ToLower(string(got)), banned) {
			t.Errorf("the edge depends on %s", banned)
		}
	}
}
