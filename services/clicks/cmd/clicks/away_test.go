package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/services/internal/clickhousetest"
	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/internal/testproc"
)

// written is what a process has logged.
type written struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *written) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

type line struct {
	Level, Msg, Store, Addr, After, Err, Do string
}

// lines are those of a level, or with a text.
func (w *written) lines(t *testing.T, wanted func(line) bool) (found []line) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for text := range strings.Lines(w.text.String()) {
		var l line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if wanted(l) {
			found = append(found, l)
		}
	}
	return found
}

// A store that goes is one line with its address and what to do, one that comes back
// another, and in between, where thousands of tries fail, there is none. Until then
// /readyz says which one is missing.
//
// Guards I58.
func TestAStoreThatIsAwayIsToldOnce(t *testing.T) {
	server, err := url.Parse(clickhousetest.New(t))
	if err != nil {
		t.Fatal(err)
	}
	broker, gate := testproc.FreeAddr(t), testproc.FreeAddr(t)
	through := *server
	through.Host = gate
	var log written
	admin := testproc.FreeAddr(t)
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() {
		stopped <- run(ctx, []string{
			"LINKSTREAM_KAFKA_BROKERS=" + broker, "LINKSTREAM_CLICKHOUSE_URL=" + through.String(),
			"LINKSTREAM_ADMIN_ADDR=" + admin, "LINKSTREAM_CLICK_BATCH_MAX_WAIT=20ms",
		}, nil, &log)
	}()
	ready := func(want ...string) func() bool {
		return func() bool {
			got := get(t, "http://"+admin+"/readyz")
			for _, text := range want {
				if !strings.Contains(got, text) {
					return false
				}
			}
			return true
		}
	}
	check := func(what string, away, back int) {
		t.Helper()
		failing := log.lines(t, func(l line) bool { return l.Level == "WARN" || l.Level == "ERROR" })
		recovered := log.lines(t, func(l line) bool { return l.Msg == "a store is back" })
		if len(failing) != away || len(recovered) != back {
			t.Errorf("%s: %+v and %+v, want %d and %d lines", what, failing, recovered, away, back)
		}
	}

	facttest.Eventually(t, "it says what is missing", ready("broker: "+broker+" has been away", "clickhouse: "))
	pass(t, 3*time.Second)
	check("without a broker", 1, 0)
	newBrokerAt(t, broker, events.Clicks, events.DeadClicks)
	produce(t, broker, 300)
	facttest.Eventually(t, "it says what is missing", ready("ingest: ", "clickhouse: "+gate+" has been away"))
	pass(t, 3*time.Second)
	check("without ClickHouse", 2, 1)
	if last := log.lines(t, func(l line) bool { return l.Store == "clickhouse" })[0]; last.Addr != gate || last.Do == "" || last.Err == "" {
		t.Errorf("%+v does not say where and what to do", last)
	}
	forward(t, gate, server.Host)
	facttest.Eventually(t, "all clicks are counted", func() bool {
		return strings.Contains(get(t, "http://"+admin+"/metrics"), "clicks_inserted_total 300\n")
	})
	facttest.Eventually(t, "it is ready", ready("ready\n"))
	check("with both", 2, 2)
	cancel()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func pass(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-t.Context().Done():
	case <-time.After(d):
	}
}

// forward makes a server reachable at another address, too.
func forward(t *testing.T, at, to string) {
	t.Helper()
	var lc net.ListenConfig
	listener, err := lc.Listen(t.Context(), "tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(func() {
		cancel()
		_ = listener.Close()
		running.Wait()
	})
	running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				var dialer net.Dialer
				server, err := dialer.DialContext(ctx, "tcp", to)
				if err != nil {
					_ = client.Close()
					return
				}
				end := sync.OnceFunc(func() { _, _ = client.Close(), server.Close() })
				defer context.AfterFunc(ctx, end)()
				running.Go(func() { defer end(); _, _ = io.Copy(server, client) })
				defer end()
				_, _ = io.Copy(client, server)
			})
		}
	})
}
