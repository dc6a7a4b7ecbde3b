package load_test

import (
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/linkstream/linkstream/loadtest/internal/load"
	"github.com/linkstream/linkstream/loadtest/internal/wire"
)

// serve answers until the test ends and returns the address.
func serve(t *testing.T, handler fasthttp.RequestHandler) string {
	t.Helper()
	// The load's calls do not tell Go's scheduler that they wait: see Closed.
	t.Cleanup(func(before int) func() { return func() { runtime.GOMAXPROCS(before) } }(runtime.GOMAXPROCS(4)))
	var lc net.ListenConfig
	listener, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &fasthttp.Server{Handler: handler, Logger: quiet{}}
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	t.Cleanup(func() {
		if err := server.Shutdown(); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

// right leads where the link leads that was asked for.
func right(rc *fasthttp.RequestCtx) {
	rc.Response.Header.Set("Location", wire.Target(string(rc.Path()[1:])))
	rc.SetStatusCode(302)
}

func TestClosedChecksEveryAnswer(t *testing.T) {
	var asked atomic.Int64
	addr := serve(t, func(rc *fasthttp.RequestCtx) {
		asked.Add(1)
		right(rc)
		if string(rc.Path()[1:]) == wire.Slug(3) {
			rc.SetStatusCode(404)
		}
	})
	l := load.Closed{Addr: addr, Host: "s.test", Connections: 8, Slugs: []int32{1, 2, 3, 4}}
	got, err := l.Run(t.Context())
	if err != nil || got.Answers != 8 || got.Wrong != 2 || got.Took <= 0 {
		t.Errorf("a sweep gave %+v, %v; want 8 answers, 2 of them wrong", got, err)
	}
	if n := asked.Load(); n != 16 { // one more on each connection, taken and not counted
		t.Errorf("the server was asked %d times", n)
	}
	l.Duration = 50 * time.Millisecond
	if got, err = l.Run(t.Context()); err != nil || got.Took < l.Duration || got.Wrong*4 != got.Answers {
		t.Errorf("a load of %v gave %+v, %v; want a quarter of the answers wrong", l.Duration, got, err)
	}
	l.Constant = true
	if got, err = l.Run(t.Context()); err != nil || got.Wrong != got.Answers {
		t.Errorf("%+v, %v; want every answer wrong: none leads to link 0", got, err)
	}
}

func TestOpenAsksEveryOnce(t *testing.T) {
	const slow = 20 * time.Millisecond
	addr := serve(t, func(rc *fasthttp.RequestCtx) {
		right(rc)
		if string(rc.Path()[1:]) == wire.Slug(7) {
			rc.Response.Header.Set("Location", "https://elsewhere.test/")
			<-time.After(slow)
		}
	})
	asks := make([]load.Ask, 200)
	for i := range asks {
		asks[i] = load.Ask{Slug: int32(i % 8), Class: uint8(i % 8 / 7)}
	}
	const rate = 1000
	got, err := load.Open{Addr: addr, Host: "s.test", Connections: 8, Rate: rate, Asks: asks}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got.Answers != 200 || got.Wrong != 25 {
		t.Errorf("%d answers, %d wrong; want 200 and 25", got.Answers, got.Wrong)
	}
	if n := got.Latency[1].TotalCount(); n != 25 || got.All().TotalCount() != 200 {
		t.Errorf("%d latencies of the second class, %d in all", n, got.All().TotalCount())
	}
	if least := time.Duration(got.Latency[1].Min()); least < slow*99/100 {
		t.Errorf("a slow answer took %v", least)
	}
	if want := 190 * time.Second / rate; got.Took < want {
		t.Errorf("the load took %v, the last burst was due after %v", got.Took, want)
	}
}

// Guards the meaning of the latencies: a server that stands still cannot hide.
func TestWaitingForAConnectionIsPartOfTheLatency(t *testing.T) {
	const slow = 10 * time.Millisecond
	addr := serve(t, func(rc *fasthttp.RequestCtx) {
		<-time.After(slow)
		right(rc)
	})
	got, err := load.Open{Addr: addr, Host: "s.test", Connections: 1, Rate: 1e6, Asks: make([]load.Ask, 10)}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if longest := time.Duration(got.All().Max()); longest < 10*slow*99/100 {
		t.Errorf("the last of ten waited %v behind nine that took %v each", longest, slow)
	}
	if got.Late != 9 {
		t.Errorf("%d were sent late, want 9", got.Late)
	}
}

func TestServerThatHangsUpIsAnError(t *testing.T) {
	addr := serve(t, func(rc *fasthttp.RequestCtx) { rc.HijackSetNoResponse(true); rc.Hijack(func(net.Conn) {}) })
	_, err := load.Closed{Addr: addr, Host: "s.test", Connections: 2, Slugs: []int32{1}}.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "closed the connection") {
		t.Errorf("closed: %v", err)
	}
	_, err = load.Open{Addr: addr, Host: "s.test", Connections: 2, Rate: 10, Asks: make([]load.Ask, 1)}.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "closed the connection") {
		t.Errorf("open: %v", err)
	}
}
