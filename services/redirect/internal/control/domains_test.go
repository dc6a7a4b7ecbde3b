package control_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"

	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/internal/rpc/controlv1"
	"github.com/linkstream/linkstream/services/internal/rpc/controlv1/controlv1connect"
	"github.com/linkstream/linkstream/services/redirect/internal/control"
	"github.com/linkstream/linkstream/services/redirect/internal/domains"
)

// edge is an edge's end with its table.
func edge(t *testing.T, l *links) (*control.Client, *domains.Table) {
	t.Helper()
	server := connect.NewServer()
	controlv1connect.RegisterControlServiceHandler(server, l)
	mux := http.NewServeMux()
	connecthttp.Mount(mux, server)
	listener := httptest.NewServer(mux)
	t.Cleanup(listener.Close)
	table := domains.New()
	client := control.New(listener.URL, "fra", "redirect-fra-0", &caches{redis: true}, table, slog.New(slog.DiscardHandler))
	t.Cleanup(func() { // ends what asks, and closes the connections
		ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
		cancel()
		_ = client.Run(ctx)
	})
	return client, table
}

func (l *links) tell(revision uint64, hosts ...string) {
	table := &controlv1.DomainTable{Revision: revision}
	for _, host := range hosts {
		table.Domains = append(table.Domains, &controlv1.Domain{Host: host, FoldCase: true, HomeUrl: "https://h.test/", FallbackUrl: "https://f.test/"})
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.table = table
}

func TestThePollsBringTheTableOfDomains(t *testing.T) {
	l := &links{}
	l.tell(4, "a.test")
	client, table := edge(t, l)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() { _ = client.Run(ctx) })
	defer running.Wait()
	defer stop()
	facttest.Eventually(t, "it has the table", func() bool { return table.Revision() == 4 })
	if d, _ := table.Find([]byte("a.test")); d == nil || *d != (domains.Domain{Host: "a.test", FoldCase: true, Home: "https://h.test/", Fallback: "https://f.test/"}) {
		t.Errorf("it has %+v", d)
	}
	l.tell(5)
	facttest.Eventually(t, "it has the next", func() bool { return table.Revision() == 5 })
	if d, known := table.Find([]byte("a.test")); d != nil || !known {
		t.Errorf("a domain that was deleted: %+v, %t", d, known)
	}
}

// Whoever asks gets an answer of links from after the question, and however many ask,
// one question is under way.
//
// Guards I51.
func TestCurrentIsAfterTheQuestion(t *testing.T) {
	l := &links{}
	client, table := edge(t, l)
	var all sync.WaitGroup
	var old atomic.Int64
	for i := range 500 {
		if i%100 == 0 {
			l.tell(uint64(i) + 1) //nolint:gosec // small
		}
		want := with(l, func() uint64 { return l.table.GetRevision() })
		all.Go(func() {
			if !client.Current(t.Context()) || table.Revision() < want {
				old.Add(1)
			}
		})
	}
	all.Wait()
	if old.Load() > 0 {
		t.Errorf("%d of 500 were told of an old table", old.Load())
	}
	if n := with(l, func() int { return l.asked }); n > 100 {
		t.Errorf("links was asked %d times for 500 visitors", n)
	}
}

// Guards I51.
func TestNobodyWaitsForLinksThatIsAway(t *testing.T) {
	l := &links{down: true}
	client, _ := edge(t, l)
	for range 50 {
		if client.Current(t.Context()) {
			t.Error("it says that the table is current")
		}
	}
	if n := with(l, func() int { return l.asked }); n > 10 {
		t.Errorf("links was asked %d times", n)
	}
	with(l, func() bool { l.down = false; return true })
	facttest.Eventually(t, "it is asked again", func() bool { return client.Current(t.Context()) })
}
