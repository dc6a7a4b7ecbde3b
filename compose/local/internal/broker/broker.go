// Package broker runs the local stack's Kafka-compatible broker: kfake, with its data on disk.
//
// It promises that topics made by CreateTopics, their records and committed offsets survive SIGKILL, and that
// compaction and retention run on their own. It refuses to create topics by itself: kfake loses such topics when it is
// killed, and an unknown topic is a mistake anyway. It listens on 127.0.0.1 only.
//
// Two limits of kfake to know: it forgets its windows for duplicate detection when killed (only transactions protect a
// producer's retry across that), and its compaction is not held back by open transactions, so a transaction must not write to a compacted topic.
package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

// clusterID shows in metadata answers, so that a client which talks to the wrong broker can tell.
const clusterID = "linkstream-local"

// Settings of a broker.
type Settings struct {
	DataDir      string
	CompactEvery time.Duration // between two runs of compaction and retention
}

// Run serves the listener until ctx is cancelled, then writes its state down and returns. ready is called once
// requests are answered.
func Run(ctx context.Context, listener net.Listener, settings Settings, ready func(), log *slog.Logger) error {
	if settings.CompactEvery <= 0 {
		return errors.New("the time between two compactions must be positive")
	}
	dir, err := filepath.Abs(settings.DataDir)
	if err != nil {
		return fmt.Errorf("locating the data directory: %w", err)
	}
	// One broker: several in one process add nothing but ports. kfake asks for its listener itself.
	cluster, err := kfake.NewCluster(
		kfake.NumBrokers(1),
		kfake.ListenFn(func(string, string) (net.Listener, error) { return listener, nil }),
		kfake.ClusterID(clusterID),
		kfake.DataDir(dir),
		kfake.WithLogger(logger{log}),
	)
	if err != nil {
		return fmt.Errorf("starting on %s: %w", dir, err)
	}
	defer cluster.Close()
	ready()

	// kfake has a ticker of its own (log.cleaner.backoff.ms), but after a restart it does not run before the next
	// change of a topic, so that alone would let the changelog grow without end.
	tick := time.NewTicker(settings.CompactEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			cluster.Compact() // applies retention as well
		}
	}
}

type logger struct{ log *slog.Logger }

// Logf takes kfake's lines. They are formatted texts, so they go into an attribute.
func (l logger) Logf(level kfake.LogLevel, format string, args ...any) {
	text := slog.String("text", fmt.Sprintf(format, args...))
	switch level {
	case kfake.LogLevelError:
		l.log.Error("kfake", text)
	case kfake.LogLevelWarn:
		l.log.Warn("kfake", text)
	case kfake.LogLevelInfo, kfake.LogLevelDebug, kfake.LogLevelNone:
		l.log.Debug("kfake", text)
	}
}
