package ratelimit

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/linkstream/linkstream/services/internal/redisconn"
	"github.com/linkstream/linkstream/services/internal/redistest"
)

const (
	processes  = 4
	clients    = 20 // over all processes
	takerURL   = "LINKSTREAM_TEST_TAKER_URL"
	takeFor    = 1500 * time.Millisecond
	fleetLimit = 2 * time.Minute
)

// fleetQuota fills half a bucket in about nine seconds: longer than it takes from the
// first call to the ones that keep it from being full.
func fleetQuota() Quota { return Quota{Capacity: 4000, Tokens: 700, Period: 3 * time.Second} }

// take is a process of the fleet: it says that it is ready, waits for a line, takes what
// it gets for a while, and prints how much that was.
func take() int {
	client, err := redisconn.OpenPatient(os.Getenv(takerURL), patient)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer func() { _ = client.Close() }()
	policy := New(client, patient, prometheus.NewRegistry(), slog.New(slog.NewTextHandler(os.Stderr, nil))).Policy(PerKey, Closed)
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		fmt.Println(err)
		return 1
	}
	var taken, failed atomic.Int64
	var all sync.WaitGroup
	end := time.Now().Add(takeFor)
	for i := range clients / processes {
		all.Go(func() {
			cost := int64(1 + i%3) // any cost
			for time.Now().Before(end) {
				d, err := policy.Take(context.Background(), "one", fleetQuota(), cost)
				switch {
				case err != nil || d.Fallback:
					failed.Add(1)
				case d.Allowed:
					taken.Add(cost)
				}
			}
		})
	}
	all.Wait()
	fmt.Println(taken.Load(), failed.Load())
	return 0
}

// Twenty clients in four processes take, to the unit, what the bucket held and what came
// back: not one token more, and not one less.
//
// Guards I41.
func TestAFleetTakesWhatThereIs(t *testing.T) {
	server := redistest.Start(t)
	client := connect(t, server)
	limiter, _ := newLimiter(t, client, patient)
	q, policy := fleetQuota(), limiter.Policy(PerKey, Closed)

	before := client.Time(t.Context()).Val()
	fleet := startFleet(t, server.URL)
	// Half the bucket at once, so that it is never full from here on.
	if d := mustTake(t, policy, "one", q, q.Capacity/2); !d.Allowed {
		t.Fatalf("a burst of half the capacity: %+v", d)
	}
	first := *stored(t, client, Key(PerKey, "one"))
	taken := fleet.run(t)
	after := client.Time(t.Context()).Val()

	total := q.Capacity/2 + taken
	most := q.Capacity + after.Sub(before).Microseconds()*q.Tokens/q.micros()
	if total > most {
		t.Errorf("%d tokens were taken in %v, there were %d", total, after.Sub(before), most)
	}
	// The law of the bucket: what was there and came back is what was taken and is left.
	last := *stored(t, client, Key(PerKey, "one"))
	had := new(big.Int).Mul(big.NewInt(last.at-first.at), big.NewInt(q.Tokens))
	had.Add(had, big.NewInt(first.left))
	if got := taken*q.micros() + last.left; got != had.Int64() {
		t.Errorf("taken and left are %d parts of a token, there were %v: a difference of %f tokens", got, had, float64(got-had.Int64())/float64(q.micros()))
	}
	if taken < q.Capacity/2 {
		t.Errorf("%d tokens were taken, at least the %d that were left could be", taken, q.Capacity/2)
	}
	t.Logf("%d tokens in %v, at most %d were there", total, after.Sub(before), most)
}

type fleet struct {
	start []io.WriteCloser
	lines []*bufio.Reader
}

func startFleet(t *testing.T, url string) *fleet {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), fleetLimit)
	t.Cleanup(cancel)
	f := &fleet{}
	for range processes {
		cmd := exec.CommandContext(ctx, os.Args[0])
		cmd.Env = append(os.Environ(), takerURL+"="+url)
		cmd.Stderr = t.Output()
		in, err1 := cmd.StdinPipe()
		out, err2 := cmd.StdoutPipe()
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Wait() })
		f.start = append(f.start, in)
		f.lines = append(f.lines, bufio.NewReader(out))
	}
	for _, lines := range f.lines {
		if line, err := lines.ReadString('\n'); err != nil || line != "ready\n" {
			t.Fatalf("a process says %q, %v", line, err)
		}
	}
	return f
}

// run lets all begin and returns what they took.
func (f *fleet) run(t *testing.T) (taken int64) {
	t.Helper()
	for _, in := range f.start {
		if _, err := io.WriteString(in, "go\n"); err != nil {
			t.Fatal(err)
		}
	}
	for _, lines := range f.lines {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("a process says %q, %v", line, err)
		}
		var n, failed int64
		if _, err := fmt.Sscan(strings.TrimSpace(line), &n, &failed); err != nil || failed > 0 {
			t.Fatalf("a process says %q: %v", line, err)
		}
		taken += n
	}
	return taken
}
