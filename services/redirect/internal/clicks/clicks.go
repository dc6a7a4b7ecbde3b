// Package clicks takes the clicks of answered redirects.
//
// It promises that a redirect neither waits for a click nor fails because of one:
// clicks are gathered in a Batch, which is handed over to the journal on this
// machine in one copy before the answers are written, and sent from there (packages
// journal and sender). An answered redirect is therefore counted once, whatever is
// killed in between. It refuses to lose a click silently: one that the journal
// cannot take or has to give up is counted with its reason, and the counts survive
// the process.
package clicks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/services/redirect/internal/journal"
	"github.com/linkstream/linkstream/services/redirect/internal/sender"
)

const (
	// lockWait is how long the process before this one may take to be gone.
	lockWait = 5 * time.Second
	// openEvery is the time between two tries to open a journal whose disk is full or
	// read-only.
	openEvery = time.Second
	// MinJournalBytes is the smallest bound of a journal.
	MinJournalBytes = journal.MinBytes
)

// Settings of a Log.
type Settings struct {
	Edge            string // this edge's name
	TopicPrefix     string
	JournalDir      string
	JournalMaxBytes int64         // at least MinJournalBytes
	DrainTimeout    time.Duration // how long a stop may send what waits
}

// Log is where clicks are written down. Append and Ready are safe for
// concurrent use.
type Log struct {
	settings Settings
	options  []kgo.Opt
	log      *slog.Logger

	journal atomic.Pointer[journal.Journal] // nil until it could be opened
	sender  atomic.Pointer[sender.Sender]
	refused atomic.Uint64 // clicks while there was none

	mu  sync.Mutex
	err error // why it could not be opened
}

// New opens the journal. One that another process uses is an error
// (journal.ErrLocked); a disk that is full or read-only is not: redirects come
// first, so Run tries again, and clicks are counted as dropped until then. Options
// are those of a Kafka client (package kafka).
func New(ctx context.Context, options []kgo.Opt, settings Settings, registry prometheus.Registerer, log *slog.Logger) (*Log, error) {
	l := &Log{settings: settings, options: options, log: log}
	switch err := l.open(ctx); {
	case errors.Is(err, journal.ErrLocked):
		return nil, err
	case err != nil && ctx.Err() != nil:
		return nil, err
	case err != nil:
		log.Error("the journal cannot be opened: clicks are dropped until it can", "err", err)
	}
	registry.MustRegister(newCollector(l))
	return l, nil
}

func (l *Log) open(ctx context.Context) error {
	j, err := journal.Open(ctx, journal.Settings{Dir: l.settings.JournalDir, MaxBytes: l.settings.JournalMaxBytes, LockWait: lockWait}, l.log)
	if err == nil {
		var s *sender.Sender
		s, err = sender.New(j, l.options, sender.Settings{
			Topic:        events.Clicks.Name(l.settings.TopicPrefix),
			Name:         l.settings.TopicPrefix + "linkstream-edge-" + l.settings.Edge,
			DrainTimeout: l.settings.DrainTimeout,
		}, l.log)
		if err != nil {
			return errors.Join(err, j.Close())
		}
		l.sender.Store(s)
		l.journal.Store(j)
		j.Refused(l.refused.Swap(0))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = err
	return err
}

// Append hands the batch's clicks over and empties it. It never waits for a disk or
// a broker. When it has returned, the clicks outlive this process.
func (l *Log) Append(b *Batch) {
	if b.count == 0 {
		return
	}
	j := l.journal.Load()
	if j == nil {
		l.refused.Add(uint64(b.count))
		b.reset()
		return
	}
	for rest := b; rest.count > 0; {
		payload, count := rest.head()
		j.Append(payload, count, rest.first) // counts what it does not take
		rest.cut(len(payload), count)
	}
	b.reset()
}

// Ready says why clicks are dropped or not sent for good. A broker that is away is
// no reason: they wait.
func (l *Log) Ready(context.Context) error {
	j := l.journal.Load()
	if j == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		return fmt.Errorf("clicks are dropped: %w", l.err)
	}
	if err := j.Err(); err != nil {
		return err
	}
	return l.sender.Load().Err()
}

// Run sends clicks until ctx is done, then what waits within its time. The rest
// stays in the journal for the next start.
func (l *Log) Run(ctx context.Context) error {
	if !l.opened(ctx) {
		return nil
	}
	j := l.journal.Load()
	preparing, stop := context.WithCancel(context.WithoutCancel(ctx)) // the journal is written to until the end
	var wg sync.WaitGroup
	var prepared error
	wg.Go(func() { prepared = j.Run(preparing) })
	err := l.sender.Load().Run(ctx)
	stop()
	wg.Wait()
	if waiting := j.Stats().Waiting; waiting > 0 {
		l.log.Warn("clicks stay in the journal for the next start", "waiting", waiting)
	}
	return errors.Join(err, prepared, j.Close())
}

// Close lets the journal go when Run was never called.
func (l *Log) Close() error {
	if j := l.journal.Load(); j != nil {
		return j.Close()
	}
	return nil
}

// opened waits until the journal is open. It says false when ctx is done before.
func (l *Log) opened(ctx context.Context) bool {
	if l.journal.Load() != nil {
		return true
	}
	tick := time.NewTicker(openEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
		if err := l.open(ctx); err == nil {
			l.log.Info("the journal is open")
			return true
		}
	}
}
