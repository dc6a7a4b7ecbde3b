package bench

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/linkstream/linkstream/loadtest/internal/load"
	"github.com/linkstream/linkstream/loadtest/internal/report"
	"github.com/linkstream/linkstream/loadtest/internal/wire"
)

// newBench is one whose edges are a good one and one where nobody is.
func newBench(t *testing.T) *Bench {
	t.Helper()
	edge := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Server-Timing", "cache;desc=l1")
		w.Header().Set("Content-Length", "0")
		if slug := r.URL.Path[1:]; slug != wire.Slug(2) {
			w.Header().Set("Location", wire.Target(slug))
			w.WriteHeader(http.StatusFound)
		}
	}))
	t.Cleanup(edge.Close)
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return &Bench{
		Settings: Settings{Duration: time.Second, Progress: io.Discard}, Result: &report.Result{}, late: load.NewHistogram(), began: time.Now(),
		Edges: []Edge{{Name: "well", Addr: strings.TrimPrefix(edge.URL, "http://")}, {Name: "gone", Addr: l.Addr().String()}},
	}
}

func TestALoadIsCountedByPhaseKindAndEdge(t *testing.T) {
	b := newBench(t)
	turn := make(chan struct{}, 1000)
	run, err := b.Drive(t.Context(), Traffic{
		Rate: 400, Kinds: []Kind{Links("links"), Nothing()}, Plot: "test",
		Next: func(i int) Ask { return Ask{Edge: i % 4 / 3, Kind: uint8(i % 4 / 2 % 2), Link: int32(i % 3)} },
		Seen: func(*load.Visit) { turn <- struct{}{} },
	}, func(ctx context.Context, r *Run) error {
		for _, phase := range []string{"before", "after"} {
			r.Phase(phase)
			for range 60 {
				select {
				case <-turn:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var sent, right, wrong, failed int
	for _, p := range b.Result.Phases {
		for _, r := range p.Rows {
			sent, right, wrong, failed = sent+r.Sent, right+r.Right, wrong+r.Wrong, failed+r.Failed
		}
	}
	if sent < 120 || sent != right+wrong+failed || wrong == 0 || failed < 25 || sent != b.Result.Generator.Requests {
		t.Errorf("%d sent, %d right, %d wrong, %d failed", sent, right, wrong, failed)
	}
	if n := len(b.Result.Phases); n != 2 {
		t.Errorf("%d phases; the empty one is none", n)
	}
	if row := run.Row("before", 0, 1); row.Sent != 0 {
		t.Errorf("links at the edge that is gone: %+v", row)
	}
	if row := run.Row("after", 1, 1); row.Failed != row.Sent || row.Sent == 0 {
		t.Errorf("other requests at the edge that is gone: %+v", row)
	}
	links := run.Row("before", 0, -1)
	after := run.Row("after", 0, -1)
	if clicks := links.Right + after.Right; b.clicks.clicks != clicks || links.ByCache["l1"] != links.Sent {
		t.Errorf("%d clicks of %d redirects, %v", b.clicks.clicks, clicks, links.ByCache)
	}
	if len(b.Result.Plots) != 3 || b.Finish().Generator.CPU <= 0 {
		t.Errorf("%d plots, %+v", len(b.Result.Plots), b.Result.Generator)
	}
}

func TestAnInterruptedLoadIsAnError(t *testing.T) {
	b := newBench(t)
	ctx, stop := context.WithCancel(t.Context())
	_, err := b.Drive(ctx, Traffic{Rate: 100, Kinds: []Kind{Links("links")}, Next: func(int) Ask { return Ask{} }},
		func(ctx context.Context, _ *Run) error {
			stop()
			<-ctx.Done()
			return nil
		})
	if err == nil {
		t.Error("it looks complete")
	}
}
