package relay_test

import (
	"bufio"
	"context"
	"net"
	"testing"

	"github.com/linkstream/linkstream/loadtest/internal/relay"
)

func listen(t *testing.T) net.Listener {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// speaker says its name to whoever connects.
func speaker(t *testing.T, name string) string {
	t.Helper()
	l := listen(t)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte(name + "\n"))
		}
	}()
	return l.Addr().String()
}

func TestARelayLeadsElsewhere(t *testing.T) {
	a, b := speaker(t, "a"), speaker(t, "b")
	r := relay.New(listen(t), relay.To(a))
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	var dialer net.Dialer
	hear := func(want string) *bufio.Reader {
		t.Helper()
		conn, err := dialer.DialContext(t.Context(), "tcp", r.Addr())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		reader := bufio.NewReader(conn)
		if got, err := reader.ReadString('\n'); err != nil || got != want+"\n" {
			t.Errorf("%q, %v; want %s", got, err, want)
		}
		return reader
	}
	old := hear("a")
	r.Lead(relay.To(b))
	if _, err := old.ReadByte(); err == nil {
		t.Error("the old connection stands")
	}
	current := hear("b")
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := current.ReadByte(); err == nil {
		t.Error("a connection is left")
	}
	if conn, err := dialer.DialContext(t.Context(), "tcp", r.Addr()); err == nil {
		_ = conn.Close()
		t.Error("it still listens")
	}
}
