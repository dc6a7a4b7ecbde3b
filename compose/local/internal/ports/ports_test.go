package ports_test

import (
	"errors"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/linkstream/linkstream/compose/local/internal/ports"
)

func TestTakenPortIsNamedWithItsHolder(t *testing.T) {
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	port := listener.Addr().(*net.TCPAddr).Port
	err = ports.Check(t.Context(), []ports.Use{{Port: 0, For: "nobody"}, {Port: port, For: "redis-fra"}})
	var taken *ports.TakenError
	if !errors.As(err, &taken) || len(taken.Taken) != 1 {
		t.Fatalf("got %v", err)
	}
	want := "port " + strconv.Itoa(port) + ", needed by redis-fra, is in use"
	if runtime.GOOS == "linux" {
		want += " by ports.test (process " + strconv.Itoa(os.Getpid()) + ")"
	}
	if !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %q, want %q", err, want)
	}
}

func TestFreePortStaysFree(t *testing.T) {
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	use := ports.Use{Port: listener.Addr().(*net.TCPAddr).Port}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := ports.Check(t.Context(), []ports.Use{use}); err != nil {
			t.Error(err)
		}
	}
}
