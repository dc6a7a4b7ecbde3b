package far

import (
	"context"
	"io"
	"net"
	"testing"
	"time"
)

// TestAPlaceIsAsFarAsItSays makes a place by whatever this machine has, and measures.
func TestAPlaceIsAsFarAsItSays(t *testing.T) {
	means, err := Check(t.Context())
	if err != nil {
		t.Skip(err) // the scenario says so, too, and a machine without root is no fault
	}
	const trip = 40 * time.Millisecond
	p, err := Open(t.Context(), means, 199, trip)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	var lc net.ListenConfig
	home, err := lc.Listen(t.Context(), "tcp", p.Gateway+":0")
	if err != nil {
		t.Fatal(err)
	}
	const message = "there and back"
	echoed := make(chan struct{})
	go func() {
		defer close(echoed)
		conn, err := home.Accept()
		if err != nil {
			return
		}
		_, _ = io.CopyN(conn, conn, int64(len(message)))
		_ = conn.Close()
	}()
	defer func() { _ = home.Close(); <-echoed }()
	begun := time.Now()
	conn, err := p.Dial(t.Context(), "tcp", home.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if took := time.Since(begun); took < trip {
		t.Errorf("a connection took %v over a link of %v", took, trip)
	}
	begun = time.Now()
	if _, err := conn.Write([]byte(message)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, make([]byte, len(message))); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); took < trip {
		t.Errorf("there and back took %v over a link of %v", took, trip)
	}
}

func TestWhatListensInAPlaceIsNotAtHome(t *testing.T) {
	means, err := Check(t.Context())
	if err != nil {
		t.Skip(err)
	}
	p, err := Open(t.Context(), means, 198, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	l, err := p.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	conn, err := p.Dial(ctx, "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	var dialer net.Dialer
	if conn, err := dialer.DialContext(ctx, "tcp", l.Addr().String()); err == nil {
		_ = conn.Close()
		t.Error("it can be reached from home")
	}
}
