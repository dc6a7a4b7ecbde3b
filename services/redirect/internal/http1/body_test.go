package http1

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestBodiesArriveWhole(t *testing.T) {
	everywhere(t, func(t *testing.T, start func(...func(*Settings)) *site) {
		t.Helper()
		s := start()
		close(s.release) // whoever has to wait is answered
		l := s.dial(t)
		for _, path := range []string{"/now", "/wait"} {
			for _, size := range []int{0, 1, 1000, maxBody} {
				body := strings.Repeat("x", size)
				head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", path, size)
				want := fmt.Sprintf("POST a %s [%s]", path, body)
				l.send(t, head+body+"GET /next HTTP/1.1\r\nHost: a\r\n\r\n") // nothing of it is taken for the body
				l.want(t, "POST", want)
				l.want(t, "GET", "GET a /next []")
				half := size / 2
				l.send(t, head+body[:half])
				l.send(t, body[half:])
				l.want(t, "POST", want)
			}
		}
		l.send(t, fmt.Sprintf("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", maxBody+1))
		if status, _, closes := l.answer(t, "POST"); status != 413 || !closes {
			t.Errorf("a body that is too long: %d, closes %t", status, closes)
		}
	})
}

// A visitor who sends a form a byte at a time holds a connection for as long as one who
// sends nothing.
func TestABodyThatDripsIsLetGo(t *testing.T) {
	everywhere(t, func(t *testing.T, start func(...func(*Settings)) *site) {
		t.Helper()
		const wait = 400 * time.Millisecond
		s := start(func(settings *Settings) { settings.Waits.Head = wait })
		l := s.dial(t)
		l.send(t, "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n\r\n")
		ended := make(chan int, 1)
		go func() {
			status := 0
			line, err := l.in.ReadString('\n')
			if err == nil {
				_, _ = fmt.Sscanf(line, "HTTP/1.1 %d", &status)
			}
			ended <- status
		}()
		drip := time.NewTicker(wait / 20)
		defer drip.Stop()
		begun := time.Now()
		for {
			select {
			case status := <-ended:
				if status != 408 && status != 0 {
					t.Errorf("answered %d", status)
				}
				if s.answers.Load() > 0 {
					t.Error("a request that never ended was answered")
				}
				return
			case <-drip.C:
				_, _ = l.Write([]byte("x")) // nobody may be listening any more
				if time.Since(begun) > limit/2 {
					t.Fatal("it drips on")
				}
			}
		}
	})
}
