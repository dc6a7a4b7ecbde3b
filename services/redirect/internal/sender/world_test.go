package sender

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/internal/kafka"
	"github.com/linkstream/linkstream/services/redirect/internal/journal"
)

const (
	topic      = "linkstream.clicks.v1"
	name       = "linkstream-edge-test"
	partitions = 12
	// childRole makes a process of this test binary a broker or an edge, which lives
	// until it is killed.
	childRole = "LINKSTREAM_TEST_ROLE"
)

func TestMain(m *testing.M) {
	switch os.Getenv(childRole) {
	case "broker":
		brokerChild()
	case "edge":
		edgeChild()
	default:
		goleak.VerifyTestMain(m)
	}
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

func options(brokers ...string) []kgo.Opt { return kafka.Options(brokers, "test", discard()) }

// cluster is a broker in this process, with the topic.
func cluster(tb testing.TB, more ...kfake.Opt) *kfake.Cluster {
	tb.Helper()
	c, err := kfake.NewCluster(append(more, kfake.NumBrokers(1), kfake.SeedTopics(partitions, topic))...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.Close)
	return c
}

func open(tb testing.TB, dir string) *journal.Journal {
	tb.Helper()
	j, err := journal.Open(tb.Context(), journal.Settings{Dir: dir, MaxBytes: 512 << 20, LockWait: 5 * time.Second}, discard())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := j.Close(); err != nil {
			tb.Error(err)
		}
	})
	return j
}

// edge is a journal and its sender under way; stop waits until both have ended.
type edge struct {
	*Sender
	stop func()
}

func start(tb testing.TB, j *journal.Journal, drain time.Duration, brokers ...string) edge {
	tb.Helper()
	return startWith(tb, j, drain, options(brokers...))
}

func startWith(tb testing.TB, j *journal.Journal, drain time.Duration, options []kgo.Opt) edge {
	tb.Helper()
	s, err := New(j, options, Settings{Topic: topic, Name: name, DrainTimeout: drain}, discard())
	if err != nil {
		tb.Fatal(err)
	}
	return run(tb, j, s)
}

// sendAll sends what waits. It waits for the broker longer than a stop does.
func sendAll(tb testing.TB, j *journal.Journal, brokers ...string) {
	tb.Helper()
	e := start(tb, j, 10*time.Second, brokers...)
	facttest.Eventually(tb, "all are sent", settled(j))
	e.stop()
}

// run runs a journal and its sender.
func run(tb testing.TB, j *journal.Journal, s *Sender) edge {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	var wg sync.WaitGroup
	task := func(f func(context.Context) error) {
		wg.Go(func() {
			if err := f(ctx); err != nil {
				tb.Error(err)
			}
		})
	}
	task(s.Run)
	task(j.Run)
	stop := sync.OnceFunc(func() { cancel(); wg.Wait() })
	tb.Cleanup(stop)
	return edge{s, stop}
}

// clicks is a payload of clicks that say their number.
func clicks(dst []byte, first uint64, count, size int) []byte {
	for i := range count {
		at := len(dst)
		dst = binary.BigEndian.AppendUint64(journal.OpenClick(dst), first+uint64(i))
		for n := 8; n < size; n++ {
			dst = append(dst, byte('a'+n%26))
		}
		journal.CloseClick(dst, at)
	}
	return dst
}

func add(tb testing.TB, j *journal.Journal, first uint64, count int) {
	tb.Helper()
	for count > 0 {
		n := min(count, 50)
		batch := clicks(nil, first, n, 100)
		// It comes faster than segments can be made on a busy machine, at times.
		facttest.Eventually(tb, "the journal takes it", func() bool { return j.Append(batch, n, time.Now().UnixMicro()) })
		first, count = first+uint64(n), count-n
	}
}

// delivered reads what can be read committed, to the end, and says how often each
// number was there.
func delivered(tb testing.TB, brokers ...string) map[uint64]int {
	tb.Helper()
	client, err := kgo.NewClient(append(options(brokers...), kgo.ConsumeTopics(topic), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.KeepControlRecords(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))...)
	if err != nil {
		tb.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(tb.Context(), time.Minute)
	defer cancel()
	ends, err := kadm.NewClient(client).ListCommittedOffsets(ctx, topic)
	if err != nil {
		tb.Fatal(err)
	}
	left := 0
	ends.Each(func(o kadm.ListedOffset) {
		if o.Offset > 0 {
			left++
		}
	})
	seen := map[uint64]int{}
	for left > 0 {
		fetches := client.PollFetches(ctx)
		if err := ctx.Err(); err != nil {
			tb.Fatalf("%d partitions are not read to the end", left)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if !r.Attrs.IsControl() {
				seen[binary.BigEndian.Uint64(r.Value)]++
			}
			if end, ok := ends.Lookup(topic, r.Partition); ok && r.Offset == end.Offset-1 {
				left--
			}
		})
	}
	return seen
}

// exactly fails the test unless the numbers 0 to count-1 were there once each.
func exactly(tb testing.TB, seen map[uint64]int, count uint64) {
	tb.Helper()
	missing, twice := 0, 0
	for i := range count {
		switch seen[i] {
		case 0:
			missing++
		case 1:
		default:
			twice++
		}
	}
	if missing > 0 || twice > 0 || uint64(len(seen)) != count {
		tb.Errorf("of %d clicks %d are missing and %d there more than once; %d numbers in all", count, missing, twice, len(seen))
	}
}

// Children.

// child is a process of this binary that is killed at the latest with the test.
type child struct {
	cmd  *exec.Cmd
	said *bufio.Scanner
}

func spawn(tb testing.TB, role string, environ ...string) child {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.CommandContext(tb.Context(), self)
	cmd.Env = append(append(os.Environ(), childRole+"="+role), environ...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	return child{cmd: cmd, said: bufio.NewScanner(out)}
}

// kill ends it with SIGKILL and returns the largest number it had said.
func (c child) kill() (last uint64) {
	_ = c.cmd.Process.Kill()
	for c.said.Scan() {
		if n, err := strconv.ParseUint(c.said.Text(), 10, 64); err == nil && n > last {
			last = n
		}
	}
	_ = c.cmd.Wait() // it was killed
	return last
}

// startBroker starts a broker process on an address and waits until it answers.
func startBroker(tb testing.TB, addr, dir string) child {
	tb.Helper()
	c := spawn(tb, "broker", "TEST_ADDR="+addr, "TEST_DIR="+dir)
	if !c.said.Scan() {
		tb.Fatal("the broker did not start")
	}
	return c
}

func brokerChild() {
	_, port, _ := net.SplitHostPort(os.Getenv("TEST_ADDR"))
	n, _ := strconv.Atoi(port)
	if _, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.Ports(n), kfake.DataDir(os.Getenv("TEST_DIR"))); err != nil {
		fmt.Fprintln(os.Stderr, "broker:", err)
		os.Exit(1)
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	select {}
}

// createTopic makes the topic on a broker process: kfake forgets topics that were not
// created by a request.
func createTopic(tb testing.TB, addr string) {
	tb.Helper()
	client, err := kgo.NewClient(options(addr)...)
	if err != nil {
		tb.Fatal(err)
	}
	defer client.Close()
	if _, err := kadm.NewClient(client).CreateTopic(tb.Context(), partitions, 1, nil, topic); err != nil {
		tb.Fatal(err)
	}
}

// appended is how many clicks are or were in a journal: all but those that it refused.
func appended(s journal.Stats) uint64 { return s.Accepted - s.Disk }

// edgeChild appends numbered clicks, says how far it is, and sends them.
func edgeChild() {
	ctx := context.Background()
	j, err := journal.Open(ctx, journal.Settings{Dir: os.Getenv("TEST_DIR"), MaxBytes: 1 << 30, LockWait: 10 * time.Second}, discard())
	if err != nil {
		fmt.Fprintln(os.Stderr, "edge:", err)
		os.Exit(1)
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	if os.Getenv("TEST_QUIET") != "" {
		log = discard()
	}
	s, err := New(j, options(strings.Split(os.Getenv("TEST_ADDR"), ",")...), Settings{Topic: topic, Name: name, DrainTimeout: time.Second}, log)
	if err != nil {
		fmt.Fprintln(os.Stderr, "edge:", err)
		os.Exit(1)
	}
	go func() { _ = j.Run(ctx) }()
	go func() { _ = s.Run(ctx) }()
	next := appended(j.Stats())
	fmt.Println(next)
	var body []byte
	for range time.Tick(time.Millisecond) {
		const per = 20
		body = clicks(body[:0], next, per, 200)
		if !j.Append(body, per, time.Now().UnixMicro()) {
			continue // on a starved machine the next segment may not be there yet; that is counted
		}
		next += per
		fmt.Println(next)
	}
}
