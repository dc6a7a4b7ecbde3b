package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/events/eventspb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a broker with some links and clicks.
type world struct {
	brokers string
	client  *kgo.Client
}

func newWorld(t *testing.T) *world {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, string(events.LinksChangelog), string(events.Clicks)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.TransactionalID("edge"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return &world{strings.Join(cluster.ListenAddrs(), ","), client}
}

// produce writes in a transaction, as edges do: the last offset of a partition is no
// record then.
func (w *world) produce(t *testing.T, records ...*kgo.Record) {
	t.Helper()
	if err := w.client.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := w.client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if err := w.client.EndTransaction(t.Context(), kgo.TryCommit); err != nil {
		t.Fatal(err)
	}
}

func (w *world) run(t *testing.T, args ...string) []string {
	t.Helper()
	var out bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := run(ctx, []string{"LINKSTREAM_KAFKA_BROKERS=" + w.brokers}, args, &out); err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	if ctx.Err() != nil {
		t.Fatalf("%v does not end; it printed %s", args, out.String())
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

func id(n byte) events.ID { return events.ID{0: 1, 15: n} }

func link(t *testing.T, n byte, revision uint64, kind eventspb.LinkChanged_Kind, title string) *kgo.Record {
	t.Helper()
	self, workspace := id(n), id(100+n%2)
	record, err := events.LinkChangedRecord("", &eventspb.LinkChanged{
		LinkId: self[:], WorkspaceId: workspace[:], Address: &eventspb.Address{Host: "go.test", Slug: "s", SlugKey: "s"},
		Version: revision, Revision: revision, Kind: kind, ChangedAt: &timestamppb.Timestamp{Seconds: 1796025600},
		Destination: "https://e.test/?a=1&b=2", StatusCode: 302, Title: title, Tags: []string{"x", "y"},
		ForwardQuery: eventspb.LinkChanged_FORWARD_QUERY_OWNER_WINS,
	})
	if err != nil {
		t.Fatal(err)
	}
	return record
}

const (
	created = eventspb.LinkChanged_KIND_CREATED
	updated = eventspb.LinkChanged_KIND_UPDATED
	deleted = eventspb.LinkChanged_KIND_DELETED
)

func TestTailShowsChangesAsPeopleReadThem(t *testing.T) {
	w := newWorld(t)
	gone := id(2)
	w.produce(t, link(t, 1, 1, created, "one"), link(t, 2, 2, created, "two"), link(t, 1, 3, updated, "uno"), link(t, 2, 4, deleted, "two"),
		events.LinkTombstone("", gone[:]), &kgo.Record{Topic: string(events.LinksChangelog), Key: []byte("?"), Value: []byte("?")})
	check := func(want int, contains string, args ...string) {
		t.Helper()
		lines := w.run(t, append([]string{"tail", "--from", "beginning", "--until-end"}, args...)...)
		if len(lines) != want || !strings.Contains(strings.Join(lines, "\n"), contains) {
			t.Errorf("%v: %d lines, want %d with %s:\n%s", args, len(lines), want, contains, strings.Join(lines, "\n"))
		}
	}
	check(6, `"error":"decoding a link change:`)
	check(3, `"title":"uno"`, "--link", id(1).String()) // what does not decode is always shown
	check(3, `"workspace_id":"`+id(101).String()+`"`, "--workspace", id(101).String())
	check(2, `{"type":"deleted"`, "--type", "deleted")
	check(2, `{"type":"tombstone","link_id":"`+gone.String()+`"`, "--type", "tombstone")
	line := w.run(t, "tail", "--from", "beginning", "--until-end", "--link", id(1).String(), "--type", "created")[0]
	place := fmt.Sprintf(`,"partition":%s`, strings.SplitN(line, `,"partition":`, 2)[1])
	want := `{"type":"created","link_id":"` + id(1).String() + `","workspace_id":"` + id(101).String() + `","address":{"host":"go.test","slug":"s","slug_key":"s"},` +
		`"version":1,"revision":1,"changed_at":"2026-11-30T08:00:00Z","destination":"https://e.test/?a=1&b=2","status_code":302,"title":"one","tags":["x","y"],` +
		`"forward_query":"owner_wins"` + place
	if !strings.Contains(line, "error") && line != want {
		t.Errorf("a line is\n%s\nwant\n%s", line, want)
	}
	if got := w.run(t, "tail", "--from", "1h", "--until-end", "--limit", "1"); len(got) != 1 || got[0] == "" {
		t.Errorf("a limit of 1 shows %d lines", len(got))
	}
	if got := w.run(t, "tail", "--until-end"); len(got) != 1 || got[0] != "" {
		t.Errorf("from the end to the end there is %v", got)
	}
	var at struct{ Partition, Offset int }
	if err := json.Unmarshal([]byte(line), &at); err != nil {
		t.Fatal(err)
	}
	got := w.run(t, "tail", "--partition", strconv.Itoa(at.Partition), "--from", strconv.Itoa(at.Offset), "--limit", "1")
	if got[0] != line {
		t.Errorf("at the offset of\n%s\nthere is\n%s", line, got[0])
	}
}

func TestTailFollows(t *testing.T) {
	w := newWorld(t)
	w.produce(t, link(t, 1, 1, created, "before"))
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		defer func() { _ = writer.Close() }()
		done <- run(ctx, []string{"LINKSTREAM_KAFKA_BROKERS=" + w.brokers}, []string{"tail", "--from", "beginning"}, writer)
	}()
	lines := json.NewDecoder(reader)
	for revision, title := range []string{"before", "after"} {
		if revision > 0 {
			w.produce(t, link(t, 1, 2, updated, title))
		}
		var line struct{ Title string }
		if err := lines.Decode(&line); err != nil || line.Title != title {
			t.Fatalf("read %+v, %v; want %s", line, err, title)
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Errorf("stopped with %v", err)
	}
}

func TestAddressesOfVisitorsAreShownOnlyOnDemand(t *testing.T) {
	w := newWorld(t)
	c := events.Click{ID: id(9), WorkspaceID: id(101), LinkID: id(1), TimeUnixMicro: 1796025600000001, Host: "go.test", SlugKey: "s", Status: 302, Address: []byte{192, 0, 2, 7}, Referrer: []byte("https://e.test/\xff")}
	w.produce(t, &kgo.Record{Topic: string(events.Clicks), Value: events.AppendClick(nil, &c)})
	lines := w.run(t, "tail", "--clicks", "--from", "beginning", "--until-end", "--link", id(1).String())
	if len(lines) != 1 || strings.Contains(lines[0], "192.0.2.7") || strings.Contains(lines[0], `"address"`) || !strings.Contains(lines[0], `"time_unix_us":"2026-11-30T08:00:00.000001Z"`) {
		t.Errorf("got %v", lines)
	}
	lines = w.run(t, "tail", "--clicks", "--addresses", "--from", "beginning", "--until-end")
	if len(lines) != 1 || !strings.Contains(lines[0], `"address":"192.0.2.7"`) {
		t.Errorf("with --addresses: %v", lines)
	}
	if lines = w.run(t, "tail", "--clicks", "--from", "beginning", "--until-end", "--link", id(2).String()); lines[0] != "" {
		t.Errorf("of another link: %v", lines)
	}
}

func TestRebuildPrintsTheLinksThatThereAre(t *testing.T) {
	w := newWorld(t)
	gone := id(4)
	w.produce(t, link(t, 3, 1, created, "=1+1"), link(t, 1, 2, created, "one"), link(t, 2, 3, created, "two"), link(t, 1, 4, updated, "uno"),
		link(t, 2, 5, deleted, "two"), link(t, 1, 2, created, "one"), link(t, 4, 6, created, "four"), events.LinkTombstone("", gone[:]))
	lines := w.run(t, "rebuild")
	if len(lines) != 2 || !strings.HasPrefix(lines[0], `{"link_id":"`+id(1).String()) || !strings.Contains(lines[0], `"title":"uno"`) || !strings.HasPrefix(lines[1], `{"link_id":"`+id(3).String()) {
		t.Errorf("got\n%s", strings.Join(lines, "\n"))
	}
	lines = w.run(t, "rebuild", "--format", "csv")
	want := []string{
		"link_id,workspace_id,host,slug,slug_key,version,revision,destination,status_code,title,tags,notes,starts_at,expires_at,fallback_url,archived,created_at,updated_at,forward_query",
		id(1).String() + "," + id(101).String() + `,go.test,s,s,4,4,https://e.test/?a=1&b=2,302,uno,"x,y",,,,,,,,owner_wins`,
		id(3).String() + "," + id(101).String() + `,go.test,s,s,1,1,https://e.test/?a=1&b=2,302,'=1+1,"x,y",,,,,,,,owner_wins`,
	}
	for i := range want {
		// columns are only added, at the end
		if i >= len(lines) || !strings.HasPrefix(lines[i], want[i]) {
			t.Errorf("CSV:\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
			break
		}
	}
	if lines = w.run(t, "rebuild", "--workspace", id(100).String()); lines[0] != "" {
		t.Errorf("of a workspace without links: %v", lines)
	}
}

// Guards I67.
func TestSecretsAreNotShown(t *testing.T) {
	w := newWorld(t)
	record := link(t, 1, 1, created, "one")
	ev, err := events.DecodeLinkChanged(record)
	if err != nil {
		t.Fatal(err)
	}
	ev.Password = &eventspb.Password{UnlockKey: []byte("0123456789abcdef")}
	if record, err = events.LinkChangedRecord("", ev); err != nil {
		t.Fatal(err)
	}
	w.produce(t, record)
	for _, args := range [][]string{{"tail", "--from", "beginning", "--until-end"}, {"rebuild"}, {"rebuild", "--format", "csv"}} {
		if got := strings.Join(w.run(t, args...), "\n"); !strings.Contains(got, "{}") || strings.Contains(got, "unlock") || strings.Contains(got, "0123456789abcdef") {
			t.Errorf("%v: a password is shown as\n%s", args, got)
		}
	}
}

func TestRebuildPassesOverWhatDoesNotDecodeAndSaysSo(t *testing.T) {
	w := newWorld(t)
	w.produce(t, link(t, 1, 1, created, "one"), &kgo.Record{Topic: string(events.LinksChangelog), Key: []byte("?"), Value: []byte("?")})
	var out bytes.Buffer
	err := run(t.Context(), []string{"LINKSTREAM_KAFKA_BROKERS=" + w.brokers}, []string{"rebuild"}, &out)
	if !errors.As(err, new(passedOverError)) || !strings.Contains(err.Error(), "records were passed over (1)") || !strings.Contains(out.String(), `"title":"one"`) {
		t.Errorf("%v, printed %s", err, out.String())
	}
}

func TestMistakesAreNamed(t *testing.T) {
	t.Chdir(t.TempDir())
	check := func(want string, usage bool, environ []string, args ...string) {
		t.Helper()
		var out bytes.Buffer
		err := run(t.Context(), environ, args, &out)
		if err == nil || !strings.Contains(err.Error(), want) || errors.As(err, new(usageError)) != usage {
			t.Errorf("%v: %v, want %q", args, err, want)
		}
	}
	some := []string{"LINKSTREAM_KAFKA_BROKERS=127.0.0.1:1"}
	check("name a command", true, nil)
	check(`"follow"`, true, nil, "follow")
	check("no broker is known", true, nil, "tail")
	check("host:port", true, []string{"LINKSTREAM_KAFKA_BROKERS=nowhere"}, "tail")
	check("-nothing", true, some, "tail", "--nothing")
	check(`"x" is not a flag`, true, some, "tail", "x")
	check(`--link: "x" is not a UUID`, true, some, "tail", "--link", "x")
	check(`--type: "moved"`, true, some, "tail", "--type", "moved")
	check("--from", true, some, "tail", "--from", "yesterday")
	check("add --partition", true, some, "tail", "--from", "12")
	check("--type is about changes", true, some, "tail", "--clicks", "--type", "created")
	check("--addresses is about clicks", true, some, "tail", "--addresses")
	check(`--format: "xml"`, true, some, "rebuild", "--format", "xml")
	check("no broker answers at 127.0.0.1:1", false, some, "rebuild")
}

func TestHelpShowsExamplesAndALocalStackIsFound(t *testing.T) {
	w := newWorld(t)
	t.Chdir(t.TempDir())
	if err := os.MkdirAll(".local", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(".local/dev.env", []byte("LINKSTREAM_KAFKA_BROKERS='"+w.brokers+"'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.produce(t, link(t, 1, 1, created, "one"))
	var out bytes.Buffer
	if err := run(t.Context(), nil, []string{"rebuild"}, &out); err != nil || !strings.Contains(out.String(), `"title":"one"`) {
		t.Errorf("%v, printed %s", err, out.String())
	}
	for _, command := range []string{"tail", "rebuild"} {
		out.Reset()
		if err := run(t.Context(), nil, []string{command, "--help"}, &out); err != nil || !strings.Contains(out.String(), "  events "+command) || !strings.Contains(out.String(), "-workspace") {
			t.Errorf("%v, printed %s", err, out.String())
		}
	}
}
