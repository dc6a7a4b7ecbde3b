package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"go.uber.org/goleak"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/services/internal/config"
	"github.com/linkstream/linkstream/services/internal/kafka"
	"github.com/linkstream/linkstream/services/internal/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestEveryBadSettingIsNamed(t *testing.T) {
	err := run(t.Context(), []string{
		"LINKSTREAM_DRAIN_TIMEOUT=-1s", "LINKSTREAM_LOG_LEVEL=loud", "LINKSTREAM_ADMIN_ADDR=nowhere",
		"LINKSTREAM_REDIS_URL=redis://user:secret@host:port", "LINKSTREAM_KAFKA_BROKERS=nowhere",
	}, nil, &bytes.Buffer{})
	if err == nil {
		t.Fatal("it starts")
	}
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("the message repeats a password: %v", err)
	}
	for _, name := range []string{"REGION", "REDIS_URL", "KAFKA_BROKERS", "DRAIN_TIMEOUT", "LOG_LEVEL", "ADMIN_ADDR"} {
		if !strings.Contains(err.Error(), "LINKSTREAM_"+name) {
			t.Errorf("the message does not name LINKSTREAM_%s: %v", name, err)
		}
	}
}

func TestHelpListsTheSettings(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), nil, []string{"--help"}, &out); !errors.Is(err, config.ErrHelp) {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "LINKSTREAM_REDIS_URL") {
		t.Errorf("--help prints %s", out.String())
	}
}

func environ(cluster *kfake.Cluster, redis *redistest.Server) []string {
	return []string{
		"LINKSTREAM_REGION=fra", "LINKSTREAM_REDIS_URL=" + redis.URL, "LINKSTREAM_ADMIN_ADDR=127.0.0.1:0",
		"LINKSTREAM_KAFKA_BROKERS=" + strings.Join(cluster.ListenAddrs(), ","),
	}
}

func TestMissingTopicStopsTheStart(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, string(events.LinksChangelog)))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	err = run(t.Context(), environ(cluster, redistest.Start(t)), nil, &bytes.Buffer{})
	if !errors.Is(err, kafka.ErrMissingTopics) || !strings.Contains(err.Error(), string(events.DeadLinksChangelog)) {
		t.Errorf("run() = %v, want the missing topic", err)
	}
}

func TestStopsCleanly(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1),
		kfake.SeedTopics(1, string(events.LinksChangelog)), kfake.SeedTopics(1, string(events.DeadLinksChangelog)))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if err := run(ctx, environ(cluster, redistest.Start(t)), nil, &bytes.Buffer{}); err != nil {
		t.Errorf("run() = %v", err)
	}
}
