package redisconn_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

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
	check("redis://127.0.0.1:6379?cluster=false", nil)
	check("redis://127.0.0.1:6379?cluster=true", nil)
	check("rediss://user:secret@a.test:1?cluster=true&addr=b.test:2&addr=c.test:3&route_by_latency=true", nil)
	check("redis://user:secret@a.test:1?cluster=maybe", redisconn.ErrBadURL)
	check("redis://user:secret@a.test:1/1?cluster=true", redisconn.ErrBadURL) // a cluster has one database
	check("redis://user:secret@a.test:1?cluster=true&addr=b", redisconn.ErrBadURL)
	check("redis://user:secret@a.test:1?cluster=true&no_such=1", redisconn.ErrBadURL)
	check("http://user:secret@a.test:1?cluster=true", redisconn.ErrBadURL)
	check("redis://user:secret@a.test:1?addr=b.test:2", redisconn.ErrBadURL)         // of a cluster only
	check("redis://user:secret@a.test:1?read_only=true", redisconn.ErrBadURL)        // of a cluster only
	check("redis://user:secret@a.test:1,b.test:2?cluster=true", redisconn.ErrBadURL) // addr names the others
}

func TestAClustersURL(t *testing.T) {
	const url = "redis://user:secret@a.test:1?cluster=true&addr=b.test:2&addr=c.test:3&route_by_latency=true"
	cluster := func(client redis.UniversalClient, err error) *redis.ClusterOptions {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = client.Close() }()
		c, ok := client.(*redis.ClusterClient)
		if !ok {
			t.Fatalf("it opens a %T", client)
		}
		return c.Options()
	}
	reader := cluster(redisconn.Open(url))
	if want := []string{"a.test:1", "b.test:2", "c.test:3"}; !slices.Equal(reader.Addrs, want) || reader.Username != "user" || reader.Password != "secret" {
		t.Errorf("addresses %v, user %s", reader.Addrs, reader.Username)
	}
	if !reader.RouteByLatency || !reader.ReadOnly {
		t.Error("a reader does not ask the nearest")
	}
	if writer := cluster(redisconn.OpenPatient(url, time.Second)); writer.RouteByLatency || writer.ReadOnly || writer.ReadTimeout != time.Second {
		t.Errorf("a writer asks replicas, or waits %v", writer.ReadTimeout)
	}
}
