package load_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/linkstream/linkstream/loadtest/internal/load"
	"github.com/linkstream/linkstream/loadtest/internal/wire"
)

// fleet asks n times in turn, and returns how many ended how.
func fleet(t *testing.T, f load.Fleet, addrs ...string) (map[load.Outcome]int, *load.Course, []load.Visit) {
	t.Helper()
	for _, addr := range addrs {
		f.Servers = append(f.Servers, load.Server{Addr: addr})
	}
	request := wire.NewRequest("s.test")
	f.Next = func(i int) load.Question {
		return load.Question{Server: i % len(addrs), Request: request.For(i % 8), Key: int32(i % 8), Class: uint8(i % 2)}
	}
	got, visits := map[load.Outcome]int{}, []load.Visit{}
	f.Seen = func(v *load.Visit) {
		got[v.Outcome]++
		if v.Outcome == load.Answered && !wire.Leads(v.Location, int(v.Key)) {
			t.Errorf("the answer to %d leads to %q", v.Key, v.Location)
		}
		visits = append(visits, *v)
	}
	course, err := f.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return got, course, visits
}

// nobody is an address at which nobody listens.
func nobody(t *testing.T) string {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return l.Addr().String()
}

func TestAFleetSaysWhatBecameOfEveryRequest(t *testing.T) {
	well := serve(t, right)
	mute := serve(t, func(rc *fasthttp.RequestCtx) { <-time.After(400 * time.Millisecond); right(rc) })
	rude := serve(t, func(rc *fasthttp.RequestCtx) { rc.HijackSetNoResponse(true); rc.Hijack(func(net.Conn) {}) })
	f := load.Fleet{Connections: 4, Rate: 2000, Count: 80, Limit: 200 * time.Millisecond}
	got, course, _ := fleet(t, f, well, nobody(t), rude, mute)
	if got[load.Answered] != 20 || got[load.Refused] != 20 || got[load.CutOff] != 20 || got[load.TimedOut]+got[load.Unsent] != 20 || got[load.TimedOut] < 4 {
		t.Errorf("outcomes are %v", got)
	}
	if course.Requests != 80 || course.Late.TotalCount() != 80 || course.Behind == 0 || course.Took < 39*time.Second/2000 {
		t.Errorf("the course is %+v", course)
	}
}

func TestABalancedFleetGoesToTheNextServer(t *testing.T) {
	rude := serve(t, func(rc *fasthttp.RequestCtx) { rc.HijackSetNoResponse(true); rc.Hijack(func(net.Conn) {}) })
	f := load.Fleet{Connections: 4, Rate: 2000, Count: 60, Limit: 5 * time.Second, Balance: true}
	got, _, visits := fleet(t, f, nobody(t), rude, serve(t, right))
	if got[load.Answered] != 60 {
		t.Errorf("outcomes are %v", got)
	}
	moved := 0
	for _, v := range visits {
		moved += v.Moved
	}
	if moved != 60 { // twenty by two servers, twenty by one
		t.Errorf("requests were moved %d times", moved)
	}
	if got, _, _ = fleet(t, f, nobody(t), nobody(t)); got[load.Refused] != 60 {
		t.Errorf("with nobody there: %v", got)
	}
}

func TestAFleetWaitsForWhatIsUnderWay(t *testing.T) {
	var asked atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	addr := serve(t, func(rc *fasthttp.RequestCtx) {
		if asked.Add(1) == 20 {
			stop()
		}
		<-time.After(20 * time.Millisecond)
		right(rc)
		rc.SetConnectionClose() // a new connection for each
	})
	request, ends := wire.NewRequest("s.test"), 0
	course, err := load.Fleet{
		Servers: []load.Server{{Addr: addr}}, Connections: 50, Rate: 1000, Limit: 5 * time.Second,
		Next: func(int) load.Question { return load.Question{Request: request.For(1)} },
		Seen: func(v *load.Visit) {
			ends++
			if v.Outcome != load.Answered || v.Status != 302 || v.Took() < 19*time.Millisecond {
				t.Errorf("%+v after %v", v, v.Took())
			}
		},
	}.Run(ctx)
	if err != nil || ends != course.Requests || ends < 20 {
		t.Errorf("%d ends, %+v, %v", ends, course, err)
	}
}

func TestANetworkThatCannotBeEnteredIsAnOutcome(t *testing.T) {
	outcomes := 0
	request := wire.NewRequest("s.test")
	_, err := load.Fleet{
		Servers:     []load.Server{{Addr: "127.0.0.1:1", Enter: func() (func() error, error) { return nil, errors.New("no way in") }}},
		Connections: 1, Rate: 1000, Count: 3, Limit: time.Second,
		Next: func(int) load.Question { return load.Question{Request: request.For(1)} },
		Seen: func(v *load.Visit) {
			if v.Outcome == load.Unsent {
				outcomes++
			}
		},
	}.Run(t.Context())
	if err != nil || outcomes != 3 {
		t.Errorf("%d, %v", outcomes, err)
	}
}
