package http1

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const limit = 20 * time.Second

// echo answers with what was asked. "/wait" waits until it is let go, "/big" is more
// than a socket takes at once.
type echo struct {
	release chan struct{}
	waiting atomic.Int32
	answers atomic.Int32
	flushes atomic.Int32
	refused atomic.Int32
}

type echoWorker struct{ *echo }

var big = bytes.Repeat([]byte("0123456789abcdef"), 1<<21) // 32 MiB, more than sockets hold

func (e *echo) Worker() Worker { return echoWorker{e} }

func (w echoWorker) Answer(_ context.Context, req *Request, res *Response) bool {
	if strings.HasPrefix(string(req.Target), "/wait") {
		return false
	}
	w.write(req, res)
	return true
}

func (w echoWorker) write(req *Request, res *Response) {
	w.answers.Add(1)
	if req.BodyUnread {
		res.Status(http.StatusLengthRequired)
		res.Empty()
		return
	}
	res.Status(http.StatusOK)
	if string(req.Target) == "/big" {
		res.Body("text/plain", big)
		return
	}
	res.Body("text/plain", fmt.Appendf(nil, "%s %s %s [%s]", req.Method, req.Host, req.Target, req.Body))
}

func (w echoWorker) Wait(ctx context.Context, req *Request, res *Response) {
	w.waiting.Add(1)
	select {
	case <-w.release:
		w.write(req, res)
	case <-ctx.Done():
		res.Status(http.StatusServiceUnavailable)
		res.Empty()
	}
}

func (w echoWorker) Refuse(status int, res *Response) {
	w.refused.Add(1)
	res.Status(status)
	res.Empty()
}

func (w echoWorker) Flush() { w.flushes.Add(1) }

// site is a server under test.
type site struct {
	*echo
	addr string
	stop func() error
}

// everywhere runs a test against the event loops, where there are any, and against
// the portable server.
func everywhere(t *testing.T, test func(t *testing.T, start func(edit ...func(*Settings)) *site)) {
	t.Helper()
	for name, run := range map[string]func(s *Server, ctx context.Context) error{
		"native": (*Server).Run,
		"portable": func(s *Server, ctx context.Context) error {
			lifetime, end := context.WithCancel(context.WithoutCancel(ctx))
			defer end()
			return s.runPortable(ctx, lifetime, end)
		},
	} {
		t.Run(name, func(t *testing.T) {
			test(t, func(edit ...func(*Settings)) *site { return start(t, run, edit...) })
		})
	}
}

func start(t *testing.T, run func(*Server, context.Context) error, edit ...func(*Settings)) *site {
	t.Helper()
	var lc net.ListenConfig
	listener, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	settings := Settings{Loops: 2, Grace: limit, Waits: DefaultWaits()}
	for _, e := range edit {
		e(&settings)
	}
	s := &site{echo: &echo{release: make(chan struct{})}, addr: listener.Addr().String()}
	server, err := NewServer(listener, s.echo, settings, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- run(server, ctx) }()
	s.stop = sync.OnceValue(func() error { cancel(); return <-ended })
	t.Cleanup(func() {
		if err := s.stop(); err != nil && !errors.Is(err, errCutOff) {
			t.Errorf("Run() = %v", err)
		}
	})
	return s
}

// line is a connection to a site.
type line struct {
	net.Conn
	in *bufio.Reader
}

func (s *site) dial(t *testing.T) *line {
	t.Helper()
	var d net.Dialer
	conn, err := d.DialContext(t.Context(), "tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(limit)); err != nil {
		t.Fatal(err)
	}
	return &line{Conn: conn, in: bufio.NewReader(conn)}
}

func (l *line) send(t *testing.T, text string) {
	t.Helper()
	if _, err := io.WriteString(l, text); err != nil {
		t.Fatal(err)
	}
}

// answer reads one answer to a request of a method.
func (l *line) answer(t *testing.T, method string) (status int, body string, closes bool) {
	t.Helper()
	res, err := http.ReadResponse(l.in, &http.Request{Method: method})
	if err != nil {
		t.Fatalf("reading an answer: %v", err)
	}
	defer func() { _ = res.Body.Close() }()
	if _, err := http.ParseTime(res.Header.Get("Date")); err != nil && res.StatusCode != http.StatusContinue {
		t.Errorf("Date is %q", res.Header.Get("Date"))
	}
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b), res.Close
}

// ended waits for the end of the connection.
func (l *line) ended(t *testing.T) {
	t.Helper()
	if rest, err := io.ReadAll(l.in); err != nil || len(rest) > 0 {
		t.Errorf("the connection goes on with %q, %v; want its end", rest, err)
	}
}

func (l *line) want(t *testing.T, method, text string) {
	t.Helper()
	if status, body, _ := l.answer(t, method); status != 200 || body != text {
		t.Errorf("answered %d %.80q, want %q", status, body, text)
	}
}

func TestRequestsOnAConnectionAreAnsweredInOrder(t *testing.T) {
	everywhere(t, func(t *testing.T, start func(...func(*Settings)) *site) {
		t.Helper()
		s := start()
		l := s.dial(t)
		for i := range 3 {
			l.send(t, fmt.Sprintf("GET /%d HTTP/1.1\r\nHost: a\r\n\r\n", i))
			l.want(t, "GET", fmt.Sprintf("GET a /%d []", i))
		}
		// All at once, with a body, a HEAD, and one that has to wait.
		l.send(t, "POST /p HTTP/1.1\r\nHost: b\r\nContent-Length: 3\r\n\r\nxyzHEAD /h HTTP/1.1\r\nHost: b\r\n\r\n"+
			"GET /wait HTTP/1.1\r\nHost: b\r\n\r\nGET /last HTTP/1.1\r\nHost: b\r\n\r\n")
		go func() { s.release <- struct{}{} }()
		l.want(t, "POST", "POST b /p [xyz]")
		l.want(t, "HEAD", "")
		l.want(t, "GET", "GET b /wait []")
		l.want(t, "GET", "GET b /last []")
		if s.flushes.Load() == 0 {
			t.Error("the worker was never told to flush")
		}
	})
}

func TestARequestThatComesInPieces(t *testing.T) {
	everywhere(t, func(t *testing.T, start func(...func(*Settings)) *site) {
		t.Helper()
		s := start()
		l := s.dial(t)
		const request = "\r\nPOST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody"
		for range 2 {
			for i := range len(request) {
				l.send(t, request[i:i+1])
			}
			l.want(t, "POST", "POST a /x [body]")
		}
		l.send(t, "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n")
		if status, _, _ := l.answer(t, "POST"); status != http.StatusContinue {
			t.Errorf("answered %d to an expectation", status)
		}
		l.send(t, "body")
		l.want(t, "POST", "POST a /x [body]")
	})
}

func TestManyRequestsAtOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, start func(...func(*Settings)) *site) {
		t.Helper()
		s := start()
		l := s.dial(t)
		const n = 20_000 // more than a buffer holds, many times over
		var sending sync.WaitGroup
		sending.Go(func() {
			_, _ = io.WriteString(l, strings.Repeat("GET /many HTTP/1.1\r\nHost: a\r\nX: "+strings.Repeat("x", 100)+"\r\n\r\n", n))
		})
		for range n {
			l.want(t, "GET", "GET a /many []")
		}
		sending.Wait()
	})
}

func TestAVisitorWhoIsSlowToTakeAnAnswer(t *testing.T) {
	everywhere(t, func(t *testing.T, start func(...func(*Settings)) *site) {
		t.Helper()
		s := start()
		l, other := s.dial(t), s.dial(t)
		l.send(t, "GET /big HTTP/1.1\r\nHost: a\r\n\r\nGET /after HTTP/1.1\r\nHost: a\r\n\r\n")
		other.send(t, "GET /other HTTP/1.1\r\nHost: a\r\n\r\n")
		other.want(t, "GET", "GET a /other []") // nobody else waits
		if status, body, _ := l.answer(t, "GET"); status != 200 || body != string(big) {
			t.Errorf("answered %d with %d bytes", status, len(body))
		}
		l.want(t, "GET", "GET a /after []")
	})
}

func TestConnectionsEndWhenTheyShould(t *testing.T) {
	everywhere(t, func(t *testing.T, start func(...func(*Settings)) *site) {
		t.Helper()
		s := start()
		check := func(request string, method string, status int, closes bool) {
			t.Helper()
			l := s.dial(t)
			l.send(t, request)
			got, _, last := l.answer(t, method)
			if got != status || last != closes {
				t.Errorf("%q: %d, closes %v; want %d, %v", request, got, last, status, closes)
			}
			if closes {
				l.ended(t)
				return
			}
			l.send(t, "GET /again HTTP/1.1\r\nHost: a\r\n\r\n")
			l.want(t, "GET", "GET a /again []")
		}
		check("GET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET", 200, false)
		check("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "GET", 200, true)
		check("GET / HTTP/1.1\r\nHost: a\r\nConnection: te, Close\r\n\r\n", "GET", 200, true)
		check("GET / HTTP/1.0\r\n\r\n", "GET", 200, true)
		check("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", "GET", 200, false)
		check("PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", "PUT", 411, true)
		check("GET /\r\n\r\n", "GET", 400, true)

		// One who says that nothing more will come is answered.
		l := s.dial(t)
		l.send(t, "GET /half HTTP/1.1\r\nHost: a\r\n\r\n")
		if err := l.Conn.(*net.TCPConn).CloseWrite(); err != nil { //nolint:forcetypeassert // it is one
			t.Fatal(err)
		}
		l.want(t, "GET", "GET a /half []")
		l.ended(t)
	})
}

func TestARefusalArrives(t *testing.T) {
	everywhere(t, func(t *testing.T, start func(...func(*Settings)) *site) {
		t.Helper()
		s := start()
		l := s.dial(t)
		var sending sync.WaitGroup
		sending.Go(func() { _, _ = io.WriteString(l, "GET / HTTP/1.1\r\nCookie: "+strings.Repeat("c", 1<<20)) })
		if status, _, _ := l.answer(t, "GET"); status != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("a long head is answered with %d", status)
		}
		sending.Wait()
	})
}

func TestSilentVisitorsAreLetGo(t *testing.T) {
	everywhere(t, func(t *testing.T, start func(...func(*Settings)) *site) {
		t.Helper()
		s := start(func(s *Settings) {
			s.Waits = Waits{Head: 200 * time.Millisecond, Write: 200 * time.Millisecond, Idle: 300 * time.Millisecond, Linger: 200 * time.Millisecond}
		})
		idle := s.dial(t)
		idle.ended(t)

		used := s.dial(t)
		used.send(t, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		used.want(t, "GET", "GET a / []")
		used.ended(t)

		slow := s.dial(t)
		slow.send(t, "GET / HTTP/1.1\r\nHo")
		if status, _, closes := slow.answer(t, "GET"); status != http.StatusRequestTimeout || !closes {
			t.Errorf("an unfinished request: %d, closes %v", status, closes)
		}

		stuck := s.dial(t)
		stuck.send(t, "GET /big HTTP/1.1\r\nHost: a\r\n\r\n")
		began := time.Now()
		for s.answers.Load() < 2 && time.Since(began) < limit {
			_, _ = stuck.in.Peek(1)
		}
		// It takes nothing for longer than it is waited for; what it reads then is not all.
		<-time.After(time.Second)
		if n, _ := io.Copy(io.Discard, stuck.in); n > int64(len(big)) {
			t.Error("an answer that was not taken for a second arrived whole")
		}
	})
}

func TestAStopFinishesWhatHasBegun(t *testing.T) {
	everywhere(t, func(t *testing.T, start func(...func(*Settings)) *site) {
		t.Helper()
		s := start()
		idle, waits := s.dial(t), s.dial(t)
		idle.send(t, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		idle.want(t, "GET", "GET a / []")
		waits.send(t, "GET /wait HTTP/1.1\r\nHost: a\r\n\r\n")
		await(t, "a request waits", func() bool { return s.waiting.Load() == 1 })
		stopped := make(chan error, 1)
		go func() { stopped <- s.stop() }()
		idle.ended(t)
		await(t, "nobody listens", func() bool {
			var d net.Dialer
			conn, err := d.DialContext(t.Context(), "tcp", s.addr)
			if err == nil {
				_ = conn.Close()
			}
			return err != nil
		})
		s.release <- struct{}{}
		if status, body, _ := waits.answer(t, "GET"); status != 200 || body != "GET a /wait []" {
			t.Errorf("what had begun: %d %q", status, body)
		}
		waits.ended(t)
		if err := <-stopped; err != nil {
			t.Errorf("Run() = %v", err)
		}
	})
}

func TestAStopDoesNotWaitForEver(t *testing.T) {
	everywhere(t, func(t *testing.T, start func(...func(*Settings)) *site) {
		t.Helper()
		s := start(func(s *Settings) { s.Grace = 50 * time.Millisecond })
		waits, partial := s.dial(t), s.dial(t)
		partial.send(t, "GET / HT")
		waits.send(t, "GET /wait HTTP/1.1\r\nHost: a\r\n\r\n")
		await(t, "a request waits", func() bool { return s.waiting.Load() == 1 })
		if err := s.stop(); !errors.Is(err, errCutOff) {
			t.Errorf("Run() = %v, want that requests were cut off", err)
		}
		if status, _, _ := waits.answer(t, "GET"); status != http.StatusServiceUnavailable {
			t.Errorf("what was cut off: %d, want 503", status)
		}
		waits.ended(t)
	})
}

func TestAVisitorWhoLeavesHoldsNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, start func(...func(*Settings)) *site) {
		t.Helper()
		s := start()
		for range 50 {
			l := s.dial(t)
			l.send(t, "GET /wait HTTP/1.1\r\nHost: a\r\n\r\n")
			_ = l.Close()
		}
		await(t, "they wait", func() bool { return s.waiting.Load() == 50 })
		for range 50 {
			s.release <- struct{}{}
		}
		l := s.dial(t)
		l.send(t, "GET /next HTTP/1.1\r\nHost: a\r\n\r\n")
		l.want(t, "GET", "GET a /next []")
	})
}

func TestConnectionsFromManySides(t *testing.T) {
	everywhere(t, func(t *testing.T, start func(...func(*Settings)) *site) {
		t.Helper()
		s := start()
		var all sync.WaitGroup
		for i := range 60 {
			all.Go(func() {
				l := s.dial(t)
				for n := range 20 {
					path := fmt.Sprintf("/%d-%d", i, n)
					if n%7 == 3 {
						path = "/wait" + path
						go func() { s.release <- struct{}{} }()
					}
					l.send(t, "GET "+path+" HTTP/1.1\r\nHost: a\r\n\r\n")
					l.want(t, "GET", "GET a "+path+" []")
				}
			})
		}
		all.Wait()
	})
}

func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(limit)
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("never: %s", what)
		}
	}
}
