package redisconn_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/linkstream/linkstream/services/internal/redisconn"
)

func TestABadURLIsRefusedAndNotRepeated(t *testing.T) {
	check := func(url string, want error) {
		t.Helper()
		got := redisconn.CheckURL(url)
		client, err := redisconn.Open(url)
		if err == nil {
			_ = client.Close()
		}
		if !errors.Is(got, want) || !errors.Is(err, want) {
			t.Errorf("%s: CheckURL gives %v, Open %v; want %v", url, got, err, want)
		}
		if got != nil && strings.Contains(got.Error()+err.Error(), "secret") {
			t.Errorf("%s: the error repeats a password: %v, %v", url, got, err)
		}
	}
	check("redis://127.0.0.1:6379", nil)
	check("redis://user:secret@127.0.0.1:6379/1", nil)
	check("redis://user:secret@127.0.0.1:port", redisconn.ErrBadURL)
	check("redis://user:secret@127.0.0.1:6379/one", redisconn.ErrBadURL)
	check("http://user:secret@127.0.0.1:6379", redisconn.ErrBadURL)
	check("127.0.0.1:6379", redisconn.ErrBadURL)
}
