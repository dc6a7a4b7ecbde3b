// Package kafka holds what all Kafka clients of linkstream have in common: the
// options every client starts from, and the check that the topics are there.
//
// It refuses to create topics. A service that finds one missing does not start:
// topics that a broker makes up by itself have the wrong settings.
package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/services/internal/outage"
)

// dialTimeout and the retry bounds keep a client responsive when a broker is
// away: it tries again within a second.
const (
	dialTimeout = 3 * time.Second
	maxBackoff  = time.Second
)

// Options are what every client starts from. The client id shows in the
// broker's logs and quotas.
func Options(brokers []string, clientID string, log *slog.Logger) []kgo.Opt {
	options, _ := Watched(brokers, clientID, log)
	return options
}

// Watched are Options, and whether the brokers are away, which all clients that are
// made of them find out together: it is told once, however many ask.
func Watched(brokers []string, clientID string, log *slog.Logger) ([]kgo.Opt, *outage.Outage) {
	away := outage.New(outage.Store{
		Name: "broker", Addr: strings.Join(brokers, ","),
		Advice: "start it, or put LINKSTREAM_KAFKA_BROKERS right; this process goes on by itself when it is back",
	}, log)
	return []kgo.Opt{
		kgo.SeedBrokers(brokers...),
		kgo.ClientID(clientID),
		kgo.DialTimeout(dialTimeout),
		kgo.RetryBackoffFn(backoff),
		kgo.WithLogger(newLogger(log, away)),
		kgo.WithHooks(connections{away}),
	}, away
}

func backoff(tries int) time.Duration {
	const first = 50 * time.Millisecond
	return min(first<<min(tries, 5), maxBackoff)
}

// ErrMissingTopics says that the broker answered and a topic is not there.
var ErrMissingTopics = errors.New("missing topics")

// CheckTopics returns ErrMissingTopics with the name of every missing topic, or
// another error when the broker did not answer.
func CheckTopics(ctx context.Context, client *kgo.Client, prefix string, topics ...events.Topic) error {
	names := make([]string, len(topics))
	for i, t := range topics {
		names[i] = t.Name(prefix)
	}
	details, err := kadm.NewClient(client).ListTopics(ctx, names...)
	if err != nil {
		return fmt.Errorf("asking the broker for its topics: %w", err)
	}
	var missing []string
	for _, name := range names {
		if !details.Has(name) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%w %s: run `migrate topics` first", ErrMissingTopics, strings.Join(missing, ", "))
	}
	return nil
}
