// Package clicks hands clicks to Kafka.
//
// It promises that a redirect never waits for a click: a click is copied into a
// buffer of its own and given to the client, which sends it later. It refuses to
// hold more than its bounds: when the broker is away so long that they are
// reached, clicks are dropped, counted, and a warning says how many. Every
// accepted click ends as produced or as dropped.
//
// Record is the whole seam: what stands behind it may become a journal without
// the edge noticing.
package clicks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/linkstream/linkstream/events"
)

const (
	// linger gathers batches: a click may be half a second old in a dashboard, and
	// a full batch costs the edge's core far less than single records.
	linger = 50 * time.Millisecond
	// maxRecords bounds the buffer together with the bytes: a record costs its
	// bookkeeping too (about 300 bytes).
	maxRecords = 250_000
	// clickBytes is the room a click gets at first: an ordinary one is 250 to 450.
	clickBytes = 512
	// warnEvery is the time between two warnings about dropped clicks.
	warnEvery = 10 * time.Second
)

// Producer sends clicks. It is safe for concurrent use.
type Producer struct {
	client *kgo.Client
	topic  string
	drain  time.Duration
	log    *slog.Logger

	accepted, produced         prometheus.Counter
	droppedFull, droppedFailed prometheus.Counter
	drops                      chan error   // a reason, for the warning
	untold                     atomic.Int64 // drops that no warning has told of yet
}

// Settings of a Producer.
type Settings struct {
	TopicPrefix    string
	MaxBufferBytes int           // what may wait for the broker
	DrainTimeout   time.Duration // how long a stop may take
}

// New returns a producer. Options are those of a Kafka client (package kafka).
func New(options []kgo.Opt, settings Settings, registry prometheus.Registerer, log *slog.Logger) (*Producer, error) {
	client, err := kgo.NewClient(append(options,
		kgo.ProducerBatchCompression(kgo.Lz4Compression()),
		kgo.ProducerLinger(linger),
		kgo.MaxBufferedRecords(maxRecords),
		kgo.MaxBufferedBytes(settings.MaxBufferBytes),
	)...)
	if err != nil {
		return nil, fmt.Errorf("making the producer: %w", err)
	}
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
		registry.MustRegister(c)
		return c
	}
	dropped := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "clicks_dropped_total", Help: "Clicks that were lost: no room was left, or the broker refused them for good.",
	}, []string{"reason"})
	registry.MustRegister(dropped)
	return &Producer{
		client:        client,
		topic:         events.Clicks.Name(settings.TopicPrefix),
		drain:         settings.DrainTimeout,
		log:           log,
		accepted:      counter("clicks_accepted_total", "Redirects that were answered to visitors and are to be counted."),
		produced:      counter("clicks_produced_total", "Clicks that the broker has confirmed."),
		droppedFull:   dropped.WithLabelValues("buffer_full"),
		droppedFailed: dropped.WithLabelValues("produce_error"),
		drops:         make(chan error, 1),
	}, nil
}

// Client is the producer's connection, for the check of the topics.
func (p *Producer) Client() *kgo.Client { return p.client }

// Record gives the click its id and takes a copy of it. It never blocks. What the
// click points to may be reused at once.
func (p *Producer) Record(c *events.Click) {
	p.accepted.Inc()
	c.ID = newID(c.TimeUnixMicro)
	// The record and its value belong to the client until it calls back.
	value := events.AppendClick(make([]byte, 0, clickBytes), c)
	p.client.TryProduce(context.Background(), &kgo.Record{Topic: p.topic, Value: value}, p.done) //nolint:forbidigo // a click outlives its request and the server
}

// done counts what became of a click.
func (p *Producer) done(_ *kgo.Record, err error) {
	switch {
	case err == nil:
		p.produced.Inc()
		return
	case errors.Is(err, kgo.ErrMaxBuffered):
		p.droppedFull.Inc()
	default:
		p.droppedFailed.Inc()
	}
	p.untold.Add(1)
	select {
	case p.drops <- err:
	default: // the warning has one to tell
	}
}

// Run waits until ctx is done, then sends what it holds within its time. What is
// left after that is counted as dropped.
func (p *Producer) Run(ctx context.Context) error {
	p.warn(ctx)
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.drain)
	defer cancel()
	err := p.client.Flush(drain)
	left := p.client.BufferedProduceRecords()
	p.client.Close() // calls back for what is left
	if err != nil && left > 0 {
		return fmt.Errorf("%d clicks could not be sent: %w", left, err)
	}
	return nil
}

// warn says now and then that clicks are dropped, until ctx is done.
func (p *Producer) warn(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case err := <-p.drops:
			p.log.Error("clicks are dropped", "since_last_told", p.untold.Swap(0), "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(warnEvery):
		}
	}
}

// newID is a UUIDv7: milliseconds, then 74 random bits. The generator of
// math/rand/v2 is ChaCha8, seeded by the system for every thread, so it needs no
// lock and no system call; ids need to be unique, not secret.
func newID(unixMicro int64) (id [16]byte) {
	millis, a, b := uint64(unixMicro/1000), rand.Uint64(), rand.Uint64()
	for i := range 6 {
		id[i] = byte(millis >> (40 - 8*i))
	}
	id[6], id[7] = 0x70|byte(a>>8)&0x0f, byte(a)
	for i := range 8 {
		id[8+i] = byte(b >> (56 - 8*i))
	}
	id[8] = 0x80 | id[8]&0x3f
	return id
}
