package feed

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/services/internal/kafka"
)

// groupLinks and groupClicks are the consumer groups: one for each topic, so that a
// rebalance of one does not stop the other.
const (
	groupLinks  = "webhooks"
	groupClicks = "webhooks-clicks"
)

// startAgain is the pause after a subscription has ended.
const startAgain = time.Second

// Reader reads both topics and never gives up.
type Reader struct {
	settings events.Settings
	probe    *kgo.Client
	prefix   string
	links    *Links
	clicks   *Clicks
	log      *slog.Logger
	observed *prometheus.CounterVec
	lag      *prometheus.GaugeVec
}

// NewReader returns a Reader. settings are those of both subscriptions, without Group;
// probe asks whether the topics are there, and takes what does not decode to the dead
// topics.
func NewReader(settings events.Settings, probe *kgo.Client, links *Links, clicks *Clicks, registry *prometheus.Registry, log *slog.Logger) *Reader {
	r := &Reader{
		settings: settings, probe: probe, prefix: settings.TopicPrefix, links: links, clicks: clicks, log: log,
		observed: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "webhook_records_total", Help: "Records of the topics, by what became of them."}, []string{"topic", "what"}),
		lag:      prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "webhook_lag_records", Help: "Records that are still to be read, by topic and partition."}, []string{"topic", "partition"}),
	}
	registry.MustRegister(r.observed, r.lag)
	return r
}

// Run reads until ctx is done.
func (r *Reader) Run(ctx context.Context) error {
	err := kafka.AwaitTopics(ctx, r.probe, r.prefix, kafka.Forever, events.LinksChangelog, events.Clicks)
	if err != nil && ctx.Err() == nil {
		return err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.again(ctx, "links", func() (*events.Subscription, error) {
			s := r.settings
			s.Group, s.Start, s.Observe, s.DeadLetter = groupLinks, events.Earliest(), r.observe, r.bury
			s.Skip = r.links.Skip
			return events.SubscribeLinks(s, r.links.Handle)
		})
	}()
	r.again(ctx, "clicks", func() (*events.Subscription, error) {
		s := r.settings
		// A partition without a committed offset begins where the first endpoint does: what
		// is older is for nobody, and a restart passes nothing over.
		from, err := r.clicks.store.CountingSince(ctx)
		if err != nil {
			return nil, fmt.Errorf("asking where to begin: %w", err)
		}
		s.Group, s.Start, s.Observe, s.DeadLetter = groupClicks, events.At(from), r.observe, r.bury
		return events.SubscribeClicks(s, r.clicks.Handle)
	})
	<-done
	return nil
}

// again subscribes anew whenever a subscription ends: the database or links is away for
// longer than it tries, or the broker refuses.
func (r *Reader) again(ctx context.Context, what string, subscribe func() (*events.Subscription, error)) {
	for ctx.Err() == nil {
		subscription, err := subscribe()
		if err == nil {
			err = subscription.Run(ctx)
		}
		if ctx.Err() != nil {
			return
		}
		r.log.ErrorContext(ctx, "reading is interrupted", "what", what, "err", err)
		_ = pause(ctx, startAgain) // the loop looks at ctx
	}
}

func (r *Reader) observe(o events.Observation) {
	topic := "links"
	if o.Topic == events.Clicks {
		topic = "clicks"
	}
	if o.What == events.ObservedLag {
		r.lag.WithLabelValues(topic, strconv.Itoa(int(o.Partition))).Set(float64(o.Records))
		return
	}
	r.observed.WithLabelValues(topic, string(o.What)).Add(float64(max(1, o.Records)))
}

// bury passes over what does not decode: cacheupdater and clicks have put it into the
// dead topics. What could not be handled is not passed over.
func (r *Reader) bury(ctx context.Context, d events.Dead) error {
	if d.Tries > 0 && !errors.Is(d.Err, events.ErrPoison) {
		return fmt.Errorf("handling partition %d, offset %d: %w", d.Record.Partition, d.Record.Offset, d.Err)
	}
	r.log.ErrorContext(ctx, "record left out", "topic", d.Record.Topic, "partition", d.Record.Partition, "offset", d.Record.Offset, "err", d.Err)
	return nil
}
