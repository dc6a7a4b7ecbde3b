package clickhouseconn_test

import (
	"errors"
	"io"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/linkstream/linkstream/services/internal/clickhouseconn"
	"github.com/linkstream/linkstream/services/internal/clickhousetest"
	"github.com/linkstream/linkstream/services/internal/testproc"
)

func TestMain(m *testing.M) { os.Exit(testproc.NoLeaks(clickhousetest.Main(m))) }

func TestABadURLIsRefusedAndNotRepeated(t *testing.T) {
	check := func(url string, want error) {
		t.Helper()
		got := clickhouseconn.CheckURL(url)
		conn, err := clickhouseconn.Open(url, 1)
		if err == nil {
			_ = conn.Close()
		}
		if !errors.Is(got, want) || !errors.Is(err, want) {
			t.Errorf("%s: CheckURL gives %v, Open %v; want %v", url, got, err, want)
		}
		if got != nil && strings.Contains(got.Error()+err.Error(), "secret") {
			t.Errorf("%s: the error repeats a password: %v, %v", url, got, err)
		}
	}
	check("http://127.0.0.1:8123/linkstream", nil)
	check("http://user:secret@127.0.0.1:8123/linkstream", nil)
	check("clickhouse://user:secret@127.0.0.1:9000/linkstream", nil)
	check("http://user:secret@host:port:port/linkstream", clickhouseconn.ErrBadURL)
	check("http://user:secret@127.0.0.1:8123/linkstream?dial_timeout=soon", clickhouseconn.ErrBadURL)
}

func TestReadyMeansThatTheTableIsThere(t *testing.T) {
	store := clickhousetest.New(t)
	ready := func(url string) error {
		t.Helper()
		conn, err := clickhouseconn.Open(url, 2)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		return clickhouseconn.Ready(t.Context(), conn)
	}
	if err := ready(store); err != nil {
		t.Errorf("a migrated database is not ready: %v", err)
	}
	if err := ready(store[:strings.LastIndex(store, "/")] + "/default"); err == nil || !strings.Contains(err.Error(), "clicks") {
		t.Errorf("a database without the table: %v, want an error that names it", err)
	}
	for _, away := range []string{"http://user:secret@127.0.0.1:1/linkstream", "clickhouse://user:secret@127.0.0.1:1/linkstream"} {
		if err := ready(away); err == nil || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "://") {
			t.Errorf("nobody listens: %v, want an error without the URL", err)
		}
	}
}

func TestWithoutURLKeepsTheReason(t *testing.T) {
	long := &url.Error{Op: "Post", URL: "http://secret/?param_slug=launch", Err: io.ErrUnexpectedEOF}
	if got := clickhouseconn.WithoutURL(long); !errors.Is(got, io.ErrUnexpectedEOF) || strings.Contains(got.Error(), "secret") {
		t.Errorf("WithoutURL() = %v", got)
	}
	if got := clickhouseconn.WithoutURL(io.EOF); !errors.Is(got, io.EOF) {
		t.Errorf("WithoutURL() = %v, want the error as it was", got)
	}
}
