//go:build !race

package http1

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
)

// still answers without a byte of its own.
type still struct{}

func (still) Worker() Worker { return still{} }

func (still) Answer(_ context.Context, _ *Request, res *Response) bool {
	res.Status(http.StatusFound)
	res.Header("Location", "https://e.test/")
	res.Empty()
	return true
}

func (still) Wait(context.Context, *Request, *Response) {}
func (still) Refuse(int, *Response)                     {}
func (still) Flush()                                    {}

// A request on a connection that is kept, from its bytes to those of the answer, through
// the loop's sleep and all.
//
// Guards I14.
func TestARequestStaysInBudget(t *testing.T) {
	var lc net.ListenConfig
	listener, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, err := NewServer(listener, still{}, Settings{Loops: 1, Grace: limit, Waits: DefaultWaits()}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	var d net.Dialer
	conn, err := d.DialContext(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	request, answer := []byte("GET /launch HTTP/1.1\r\nHost: s.test\r\nUser-Agent: Mozilla/5.0\r\n\r\n"), make([]byte, 4096)
	n := 0
	ask := func() {
		if _, err := conn.Write(request); err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			n, err = conn.Read(answer)
		} else {
			_, err = io.ReadFull(conn, answer[:n])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	ask()
	// The Date line is made anew every second.
	if got := testing.AllocsPerRun(5000, ask); got != 0 {
		t.Errorf("a request allocates %v times", got)
	}
	_ = conn.Close()
	stop()
	if err := <-ended; err != nil {
		t.Errorf("Run() = %v", err)
	}
}
