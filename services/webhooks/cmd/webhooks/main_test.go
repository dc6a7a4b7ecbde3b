package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/events/eventspb"
	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/internal/pgtest"
	"github.com/linkstream/linkstream/services/internal/rpc/accessv1"
	"github.com/linkstream/linkstream/services/internal/rpc/accessv1/accessv1connect"
	"github.com/linkstream/linkstream/services/internal/testproc"
	"github.com/linkstream/linkstream/services/webhooks/internal/hooktest"
)

var update = flag.Bool("update", false, "write deps.txt anew")

func TestMain(m *testing.M) { os.Exit(testproc.NoLeaks(pgtest.Main(m))) }

func TestAllMistakesAreReportedAtOnce(t *testing.T) {
	err := run(t.Context(), []string{
		"LINKSTREAM_LOG_LEVEL=loud", "LINKSTREAM_HTTP_ADDR=nowhere", "LINKSTREAM_ADMIN_ADDR=nowhere", "LINKSTREAM_DRAIN_TIMEOUT=0s", "LINKSTREAM_POSTGRES_URL=postgres://u:secret@h:port/x",
		"LINKSTREAM_POSTGRES_MAX_CONNS=1", "LINKSTREAM_KAFKA_BROKERS=nowhere", "LINKSTREAM_ACCESS_URL=127.0.0.1:8011", "LINKSTREAM_WEBHOOKS_KEY=secret", "LINKSTREAM_WEBHOOKS_ALLOW_CIDRS=home",
		"LINKSTREAM_WEBHOOKS_RETRY_FIRST=0s", "LINKSTREAM_WEBHOOKS_RETENTION=0s", "LINKSTREAM_WEBHOOKS_MAX_QUEUE=0", "LINKSTREAM_WEBHOOKS_MIN_SUMMARY_INTERVAL=0s",
		"LINKSTREAM_SHORT_URL_SCHEME=ftp", "LINKSTREAM_SHORT_URL_PORT=-1",
	}, nil, io.Discard)
	if err == nil {
		t.Fatal("started with settings that are wrong")
	}
	for _, name := range []string{
		"LOG_LEVEL", "HTTP_ADDR", "ADMIN_ADDR", "DRAIN_TIMEOUT", "POSTGRES_URL", "POSTGRES_MAX_CONNS", "KAFKA_BROKERS", "ACCESS_URL", "WEBHOOKS_KEY", "WEBHOOKS_ALLOW_CIDRS",
		"WEBHOOKS_RETRY_FIRST", "WEBHOOKS_RETENTION", "WEBHOOKS_MAX_QUEUE", "WEBHOOKS_MIN_SUMMARY_INTERVAL", "SHORT_URL_SCHEME", "SHORT_URL_PORT",
	} {
		if !strings.Contains(err.Error(), "LINKSTREAM_"+name) {
			t.Errorf("LINKSTREAM_%s is not in the message: %v", name, err)
		}
	}
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("the message quotes a secret: %v", err)
	}
}

// What may be called is said in package outbound alone: no other part of the program
// brings a client for strangers' addresses along.
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
		t.Error("deps.txt is not what the program depends on: run `go test ./cmd/webhooks -run Dependencies -update` and say in the commit why")
	}
	for _, banned := range []string{"clickhouse", "goose", "testing", "kfake"} {
		if strings.Contains(strings.ToLower(string(got)), banned) {
			t.Errorf("the program depends on %s", banned)
		}
	}
}

func TestOpenAPIDocumentIsPrinted(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), nil, []string{"openapi"}, &out); err != nil {
		t.Fatal(err)
	}
	var document struct {
		OpenAPI         string
		Paths, Webhooks map[string]any
	}
	if err := json.Unmarshal(out.Bytes(), &document); err != nil {
		t.Fatal(err)
	}
	if len(document.Paths) != 9 || len(document.Webhooks) != 7 || !strings.HasPrefix(document.OpenAPI, "3.1") {
		t.Errorf("OpenAPI %s with %d paths and %d webhooks", document.OpenAPI, len(document.Paths), len(document.Webhooks))
	}
}

// links stands in for the links service: one key is an owner's.
type links struct {
	accessv1connect.AccessServiceHandler
	workspace uuid.UUID
}

func (l links) Authenticate(_ context.Context, r *accessv1.AuthenticateRequest) (*accessv1.AuthenticateResponse, error) {
	if r.GetToken() != "owner" {
		return nil, connect.NewError(connect.CodeUnauthenticated, "unknown")
	}
	return &accessv1.AuthenticateResponse{WorkspaceId: l.workspace[:], SubjectId: l.workspace[:], Scopes: []string{"admin"}}, nil
}

// world is everything around the program.
type world struct {
	*hooktest.Store
	brokers []string
	client  *kgo.Client
	access  string
	bin     string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	var names []string
	for _, topic := range events.Topics() {
		names = append(names, topic.Name(""))
	}
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(4, names...), kfake.GroupMinSessionTimeout(100*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	w := &world{Store: hooktest.NewStore(t), brokers: cluster.ListenAddrs()}
	if w.client, err = kgo.NewClient(kgo.SeedBrokers(w.brokers...), kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.client.Close)
	rpc := connect.NewServer()
	accessv1connect.RegisterAccessServiceHandler(rpc, links{workspace: w.Workspace})
	mux := http.NewServeMux()
	connecthttp.Mount(mux, rpc)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	w.access = server.URL
	w.bin = filepath.Join(t.TempDir(), "webhooks")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", w.bin, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building: %v %s", err, out)
	}
	return w
}

// process is the built program under way.
type process struct {
	*testproc.Process
	api, admin string
}

func (w *world) start(t *testing.T) *process {
	t.Helper()
	p := &process{api: testproc.FreeAddr(t), admin: testproc.FreeAddr(t)}
	cmd := exec.Command(w.bin)
	cmd.Env = []string{
		"LINKSTREAM_HTTP_ADDR=" + p.api, "LINKSTREAM_ADMIN_ADDR=" + p.admin, "LINKSTREAM_POSTGRES_URL=" + w.URL, "LINKSTREAM_KAFKA_BROKERS=" + strings.Join(w.brokers, ","),
		"LINKSTREAM_ACCESS_URL=" + w.access, "LINKSTREAM_WEBHOOKS_KEY=" + hooktest.Key, "LINKSTREAM_WEBHOOKS_ALLOW_CIDRS=127.0.0.0/8", "LINKSTREAM_WEBHOOKS_RETRY_FIRST=200ms",
		"LINKSTREAM_INSTANCE_NAME=webhooks-0", "LINKSTREAM_SHORT_URL_SCHEME=http", "LINKSTREAM_POSTGRES_MAX_CONNS=10",
	}
	started, err := testproc.Start(cmd, func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.admin+"/readyz", http.NoBody)
		if err != nil {
			return err
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer func() { _ = answer.Body.Close() }()
		if answer.StatusCode != http.StatusOK {
			body, _ := io.ReadAll(answer.Body)
			return fmt.Errorf("%s: %s", answer.Status, body)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	p.Process = started
	t.Cleanup(p.Stop)
	return p
}

func (w *world) change(t *testing.T, link uuid.UUID, revision uint64) {
	t.Helper()
	now := timestamppb.Now()
	record, err := events.LinkChangedRecord("", &eventspb.LinkChanged{
		LinkId: link[:], WorkspaceId: w.Workspace[:], Address: &eventspb.Address{Host: "go.test", Slug: "a", SlugKey: "a"}, Version: revision, Revision: revision,
		Kind: eventspb.LinkChanged_KIND_UPDATED, ChangedAt: now, Destination: "https://e.test/", StatusCode: 302, CreatedAt: now, UpdatedAt: now,
	})
	if err == nil {
		err = w.client.ProduceSync(t.Context(), record).FirstErr()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// The program is killed again and again while links change and the receiver fails now and
// then. Each event arrives, signed, and those of a link in their order.
//
// Guards I75, I76.
func TestKilledInTheMiddleEveryEventIsDelivered(t *testing.T) {
	w, r := newWorld(t), hooktest.NewReceiver(t)
	e, secret := w.Endpoint(t, r.URL, nil)
	r.Trust(secret)
	var n atomic.Int64
	r.Answer(func(w http.ResponseWriter, _ *http.Request) {
		if n.Add(1)%7 == 3 {
			w.WriteHeader(http.StatusBadGateway)
		}
	})
	if _, err := w.Pool.Exec(t.Context(), `SELECT 1`); err != nil {
		t.Fatal(err)
	}
	const changes, links = 60, 5
	ids := make([]uuid.UUID, links)
	for i := range ids {
		ids[i] = uuid.New()
	}
	p := w.start(t)
	for i := range changes {
		w.change(t, ids[i%links], uint64(i+1))
		if i%20 == 10 {
			p.Kill()
			p = w.start(t)
		}
	}
	// A claim of a process that was killed lasts a minute: nobody waits for it here.
	facttest.Eventually(t, "claims of the dead are over", func() bool {
		_, err := w.Pool.Exec(t.Context(), `UPDATE webhook_deliveries SET next_attempt_at = now() WHERE state = 'pending' AND next_attempt_at > now() + interval '20 seconds'`)
		var left int
		if err == nil {
			err = w.Pool.QueryRow(t.Context(), `SELECT $2 - count(*) FROM webhook_deliveries WHERE endpoint_id = $1 AND state = 'delivered'`, e.ID, changes).Scan(&left)
		}
		return err == nil && left == 0
	})
	last := map[string]float64{}
	seen := map[string]bool{}
	for _, got := range r.Taken() {
		if seen[got.ID] {
			continue // at least once
		}
		seen[got.ID] = true
		var body struct {
			Data struct {
				ID      string
				Version float64
			}
		}
		if err := json.Unmarshal([]byte(got.Body), &body); err != nil {
			t.Fatal(err)
		}
		if body.Data.Version <= last[body.Data.ID] {
			t.Errorf("version %v of %s came after %v", body.Data.Version, body.Data.ID, last[body.Data.ID])
		}
		last[body.Data.ID] = body.Data.Version
	}
	if len(seen) != changes {
		t.Errorf("%d events were taken, want %d", len(seen), changes)
	}
}

// An EventSource's view of the program, with a stop while it looks.
func TestTheStreamEndsWithTheProgramAndGoesOnWithTheNext(t *testing.T) {
	w := newWorld(t)
	p := w.start(t)
	link := uuid.New()
	open := func(lastID string) (*bufio.Scanner, io.Closer) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+p.api+"/v1/events?link_id="+link.String(), http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer owner")
		if lastID != "" {
			request.Header.Set("Last-Event-ID", lastID)
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil || answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != "text/event-stream" {
			t.Fatalf("opening: %v, %v", answer, err)
		}
		return bufio.NewScanner(answer.Body), answer.Body
	}
	read := func(lines *bufio.Scanner, until string) (lastID string) {
		for lines.Scan() {
			if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
				lastID = id
			}
			if strings.Contains(lines.Text(), until) {
				return lastID
			}
		}
		t.Fatalf("the stream ends before %q: %v", until, lines.Err())
		return ""
	}
	lines, body := open("")
	read(lines, "id: ")
	w.change(t, link, 1)
	lastID := read(lines, `"version":1,`)
	ended := make(chan struct{})
	go func() { defer close(ended); p.Stop() }()
	read(lines, `{"reason":"stopping"}`)
	<-ended
	_ = body.Close()
	w.change(t, link, 2)
	p = w.start(t)
	lines, body = open(lastID)
	read(lines, `"version":2,`)
	_ = body.Close()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+p.api+"/v1/events?last_event_id=nonsense&type=link.exploded", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer owner")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if err != nil || answer.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(string(text), "query.type") {
		t.Errorf("a type that there is not: %d %s", answer.StatusCode, text)
	}
}
