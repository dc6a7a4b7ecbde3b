package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/services/internal/access"
	"github.com/linkstream/linkstream/services/internal/pgtest"
	"github.com/linkstream/linkstream/services/internal/rpc/originv1"
	"github.com/linkstream/linkstream/services/internal/rpc/originv1/originv1connect"
	"github.com/linkstream/linkstream/services/internal/testproc"
	"github.com/linkstream/linkstream/services/links/internal/account"
	"github.com/linkstream/linkstream/services/links/internal/keyring"
)

func TestMain(m *testing.M) { os.Exit(testproc.NoLeaks(pgtest.Main(m))) }

// pepper is the secret of all links services of these tests.
var pepper = strings.Repeat("p", keyring.MinSecret)

// process is a running links service.
type process struct {
	http, rpc, admin string
	stop             func() error
}

func startProcess(t *testing.T, postgresURL string, brokers []string, more ...string) *process {
	t.Helper()
	p := &process{http: testproc.FreeAddr(t), rpc: testproc.FreeAddr(t), admin: testproc.FreeAddr(t)}
	environ := append([]string{
		"LINKSTREAM_POSTGRES_URL=" + postgresURL, "LINKSTREAM_KAFKA_BROKERS=" + strings.Join(brokers, ","),
		"LINKSTREAM_TOKEN_PEPPER=" + pepper,
		"LINKSTREAM_DEFAULT_DOMAIN=localhost", "LINKSTREAM_SHORT_URL_SCHEME=http", "LINKSTREAM_SHORT_URL_PORT=8080",
		"LINKSTREAM_HTTP_ADDR=" + p.http, "LINKSTREAM_RPC_ADDR=" + p.rpc, "LINKSTREAM_ADMIN_ADDR=" + p.admin,
	}, more...)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, environ, nil, t.Output())
		close(ended)
	}()
	p.stop = func() error {
		cancel()
		return <-ended
	}
	t.Cleanup(func() { _ = p.stop() })
	p.await(t, "http://"+p.admin+"/healthz", http.StatusOK)
	return p
}

// get returns status and body; a server that is not there yet has status 0.
func get(t *testing.T, url string) (int, string) {
	t.Helper()
	return call(t, http.MethodGet, url, "", "")
}

func call(t *testing.T, method, url, key, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

func (p *process) await(t *testing.T, url string, status int) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		got, body := get(t, url)
		if got == status {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("%s gives %d %s, want %d", url, got, body, status)
		case <-tick.C:
		}
	}
}

func newBroker(t *testing.T, topics ...string) *kfake.Cluster {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(12, topics...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	return cluster
}

func runBootstrap(t *testing.T, url string, environ ...string) account.Made {
	t.Helper()
	var out bytes.Buffer
	args := []string{"bootstrap", "--workspace", "w", "--email", "me@x.test", "--domain", "LOCALHOST"}
	if err := run(t.Context(), append(environ, "LINKSTREAM_POSTGRES_URL="+url, "LINKSTREAM_TOKEN_PEPPER="+pepper), args, &out); err != nil {
		t.Fatal(err)
	}
	var made account.Made
	if err := json.Unmarshal(out.Bytes(), &made); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	return made
}

func TestAServiceFromBootstrapToChangelog(t *testing.T) {
	url := pgtest.New(t)
	cluster := newBroker(t, string(events.LinksChangelog))
	made := runBootstrap(t, url)
	if again := runBootstrap(t, url, "LINKSTREAM_BOOTSTRAP_PASSWORD="+made.Password, "LINKSTREAM_BOOTSTRAP_API_KEY="+made.APIKey); again != made {
		t.Errorf("the second bootstrap gives %+v, the first gave %+v", again, made)
	}
	p := startProcess(t, url, cluster.ListenAddrs())
	p.await(t, "http://"+p.admin+"/readyz", http.StatusOK)

	status, body := call(t, http.MethodPost, "http://"+p.http+"/v1/links", made.APIKey, `{"destination": "https://e.test/1", "slug": "launch"}`)
	if status != http.StatusCreated || !strings.Contains(body, `"short_url":"http://localhost:8080/launch"`) {
		t.Fatalf("got %d %s", status, body)
	}
	reader, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.ConsumeTopics(string(events.LinksChangelog)), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	records := reader.PollFetches(ctx).Records()
	if len(records) != 1 {
		t.Fatalf("got %d records", len(records))
	}
	ev, err := events.DecodeLinkChanged(records[0])
	if err != nil || ev.GetDestination() != "https://e.test/1" {
		t.Errorf("got %v, %v", ev, err)
	}

	origin := originv1connect.NewOriginServiceClient(connect.NewClient(connecthttp.NewTransport(http.DefaultClient, "http://"+p.rpc)))
	found, err := origin.Resolve(ctx, &originv1.ResolveRequest{Host: "localhost", SlugKey: "launch"})
	if err != nil || found.GetLink().GetRevision() != ev.GetRevision() || found.GetLink().GetVersion() != 1 || found.GetLink().GetDestination() != "https://e.test/1" {
		t.Errorf("Resolve gives %v, %v", found, err)
	}
	if found, err = origin.Resolve(ctx, &originv1.ResolveRequest{Host: "localhost", SlugKey: "nothing"}); err != nil || found.GetLink() != nil {
		t.Errorf("Resolve of nothing gives %v, %v", found, err)
	}
	checkAccess(t, p, made)

	_, metrics := get(t, "http://"+p.admin+"/metrics")
	for _, name := range []string{"outbox_pending 0", "outbox_published_total 1", "outbox_relay_active 1", `http_request_duration_seconds_count{route="POST /v1/links",status="201"} 1`} {
		if !strings.Contains(metrics, "\n"+name+"\n") {
			t.Errorf("no %q in the metrics", name)
		}
	}
	checkPassword(t, p, made, origin)
	if err := p.stop(); err != nil {
		t.Errorf("stopping: %v", err)
	}
}

// checkPassword sets a link's password and asks the origin about it.
func checkPassword(t *testing.T, p *process, made account.Made, origin originv1connect.OriginServiceClient) {
	t.Helper()
	if status, body := call(t, http.MethodPost, "http://"+p.http+"/v1/links", made.APIKey, `{"destination": "https://e.test/1", "slug": "locked", "password": "open sesame"}`); status != http.StatusCreated {
		t.Fatalf("got %d %s", status, body)
	}
	found, err := origin.Resolve(t.Context(), &originv1.ResolveRequest{Host: "localhost", SlugKey: "locked"})
	if err != nil {
		t.Fatal(err)
	}
	for guess, correct := range map[string]bool{"open sesame": true, "open barley": false} {
		answer, err := origin.VerifyPassword(t.Context(), &originv1.VerifyPasswordRequest{LinkId: found.GetLink().GetLinkId(), Password: guess})
		if err != nil || answer.GetCorrect() != correct || correct && !bytes.Equal(answer.GetUnlockKey(), found.GetLink().GetPassword().GetUnlockKey()) {
			t.Errorf("%s: %v, %v", guess, answer, err)
		}
	}
}

// checkAccess uses the client that the other services use.
func checkAccess(t *testing.T, p *process, made account.Made) {
	t.Helper()
	client := access.NewClient("http://" + p.rpc)
	id, err := client.Authenticate(t.Context(), made.APIKey)
	if err != nil || id.WorkspaceID != made.WorkspaceID || !id.May(access.LinksWrite) {
		t.Errorf("Authenticate gives %+v, %v", id, err)
	}
	if _, err := client.Authenticate(t.Context(), "ls_key_nobody"); err == nil {
		t.Error("an unknown key is let in")
	}
	token, lasts, err := client.LogIn(t.Context(), made.Email, made.Password)
	if err != nil || lasts != account.SessionLifetime {
		t.Fatalf("LogIn: %v, lasts %v", err, lasts)
	}
	if status, body := call(t, http.MethodGet, "http://"+p.http+"/v1/links", token, ""); status != http.StatusOK {
		t.Errorf("the session gets %d %s", status, body)
	}
	if err := client.LogOut(t.Context(), token); err != nil {
		t.Error(err)
	}
	if status, _ := call(t, http.MethodGet, "http://"+p.http+"/v1/links", token, ""); status != http.StatusUnauthorized {
		t.Errorf("after LogOut the session gets %d", status)
	}
}

func TestAMissingTopicStopsTheStart(t *testing.T) {
	cluster := newBroker(t, "something.else")
	err := run(t.Context(), []string{
		"LINKSTREAM_POSTGRES_URL=postgres://nobody@127.0.0.1:1/x", "LINKSTREAM_KAFKA_BROKERS=" + cluster.ListenAddrs()[0],
		"LINKSTREAM_TOKEN_PEPPER=" + pepper, "LINKSTREAM_DEFAULT_DOMAIN=localhost", "LINKSTREAM_TOPIC_PREFIX=eu.",
	}, nil, t.Output())
	if err == nil || !strings.Contains(err.Error(), "missing topics eu.linkstream.links.changelog.v1") {
		t.Errorf("got %v", err)
	}
}

func TestADatabaseThatIsAwayShowsInReadiness(t *testing.T) {
	cluster := newBroker(t, string(events.LinksChangelog))
	p := startProcess(t, "postgres://nobody@127.0.0.1:1/x", cluster.ListenAddrs())
	status, body := get(t, "http://"+p.admin+"/readyz")
	if status != http.StatusServiceUnavailable || !strings.HasPrefix(body, "postgres: ") || strings.Contains(body, "broker") {
		t.Errorf("got %d %s", status, body)
	}
	if status, body := call(t, http.MethodGet, "http://"+p.http+"/v1/links", "ls_key_"+uuid.NewString(), ""); status != http.StatusServiceUnavailable {
		t.Errorf("got %d %s", status, body)
	}
	if err := p.stop(); err != nil {
		t.Errorf("stopping: %v", err)
	}
}

func TestEveryBadSettingIsNamed(t *testing.T) {
	err := run(t.Context(), []string{
		"LINKSTREAM_POSTGRES_URL=secret", "LINKSTREAM_HTTP_ADDR=x", "LINKSTREAM_RPC_ADDR=x", "LINKSTREAM_ADMIN_ADDR=x", "LINKSTREAM_LOG_LEVEL=loud",
		"LINKSTREAM_DRAIN_TIMEOUT=-1s", "LINKSTREAM_TOMBSTONE_GRACE=-1s", "LINKSTREAM_POSTGRES_MAX_CONNS=0", "LINKSTREAM_KAFKA_BROKERS=x",
		"LINKSTREAM_SHORT_URL_SCHEME=ftp", "LINKSTREAM_SHORT_URL_PORT=70000", "LINKSTREAM_DESTINATION_SCHEMES=javascript",
		"LINKSTREAM_TOKEN_PEPPER=guessable",
	}, nil, io.Discard)
	for _, name := range []string{
		"POSTGRES_URL", "HTTP_ADDR", "RPC_ADDR", "ADMIN_ADDR", "LOG_LEVEL", "DRAIN_TIMEOUT", "TOMBSTONE_GRACE", "POSTGRES_MAX_CONNS",
		"KAFKA_BROKERS", "DEFAULT_DOMAIN", "SHORT_URL_SCHEME", "SHORT_URL_PORT", "DESTINATION_SCHEMES", "TOKEN_PEPPER",
	} {
		if err == nil || !strings.Contains(err.Error(), "LINKSTREAM_"+name+" ") {
			t.Errorf("%s is not named in: %v", name, err)
		}
	}
	if err != nil && strings.Contains(err.Error(), "secret") {
		t.Error("the message repeats a value")
	}
}

func TestHelpAndOpenAPINeedNoSettings(t *testing.T) {
	check := func(part string, args ...string) {
		t.Helper()
		var out bytes.Buffer
		if err := run(t.Context(), nil, args, &out); err != nil || !strings.Contains(out.String(), part) {
			t.Errorf("%v: %v, %.200s", args, err, out.String())
		}
	}
	check("LINKSTREAM_TOMBSTONE_GRACE", "--help")
	check("LINKSTREAM_BOOTSTRAP_API_KEY", "bootstrap", "--help")
	check(`"/v1/links/{id}"`, "openapi")
	if err := run(t.Context(), nil, []string{"nonsense"}, io.Discard); err == nil {
		t.Error("an unknown command is taken")
	}
}
