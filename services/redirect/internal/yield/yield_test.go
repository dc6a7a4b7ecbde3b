package yield_test

import (
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/linkstream/linkstream/services/redirect/internal/yield"
)

// Who waits for the network is served after one step of somebody's long work, where
// there is one processor. With runtime.Gosched it would be after all of the ten.
func TestWhoWaitsForTheNetworkGoesFirst(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	var step, served atomic.Int32
	done := make(chan error, 1)
	go func() {
		_, err := r.Read(make([]byte, 1))
		served.Store(step.Load())
		done <- err
	}()
	<-time.After(20 * time.Millisecond) // the reader waits in the poller by now, which nobody can see
	if _, err := w.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		step.Add(1)
		for began := time.Now(); time.Since(began) < 500*time.Microsecond; {
		}
		yield.ToVisitors()
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := served.Load(); got > 1 {
		t.Errorf("served after %d steps, want 1", got)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}
