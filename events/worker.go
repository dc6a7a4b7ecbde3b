package events

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// errInterrupted says that something was not finished, for no fault of its own: the
// process stops, or a rebalance waits.
var errInterrupted = errors.New("interrupted")

// errStale says that a handler had nothing to do, because it has been done.
var errStale = errors.New("not newer than what was handled")

// round is one poll and what becomes of it. Whoever hurries it has what is in hand
// finished and nothing more begun.
type round struct {
	done  <-chan struct{}
	hurry context.CancelFunc
}

// newRound is a round that is hurried, at the latest, when ctx ends.
func newRound(ctx context.Context) *round {
	ctx, cancel := context.WithCancel(ctx)
	return &round{ctx.Done(), cancel}
}

func (r *round) hurried() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// item is a decoded record.
type item[T any] struct {
	record *kgo.Record
	value  T
}

// worker decodes records and gives them to a handler, until that works or is given up.
type worker[T any] struct {
	topic    Topic
	settings Settings
	decode   func(*kgo.Record) (T, error)
	handle   func(context.Context, []item[T]) error
}

// process returns nil when everything has been handled or passed over, errInterrupted
// when it has to be done again, and what was wrong otherwise.
func (w worker[T]) process(ctx context.Context, r *round, records []*kgo.Record) error {
	items := make([]item[T], 0, len(records))
	for _, record := range records {
		value, err := w.decode(record)
		if err != nil {
			if err := w.bury(ctx, Dead{Record: record, Err: err}); err != nil {
				return err
			}
			continue
		}
		items = append(items, item[T]{record, value})
	}
	if len(items) == 0 {
		return nil
	}
	return w.persist(ctx, r, items)
}

// persist handles items, and when that is given up, each of them alone.
func (w worker[T]) persist(ctx context.Context, r *round, items []item[T]) error {
	tries, err := w.try(ctx, r, items)
	switch {
	case err == nil, errors.Is(err, errInterrupted):
		return err
	case len(items) == 1 || w.settings.DeadLetter == nil:
		return w.bury(ctx, Dead{Record: items[0].record, Err: err, Tries: tries})
	}
	for i := range items {
		if err := w.persist(ctx, r, items[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

// try asks the handler as often as the settings say.
func (w worker[T]) try(ctx context.Context, r *round, items []item[T]) (tries int, err error) {
	seen := Observation{Topic: w.topic, Partition: items[0].record.Partition, Records: int64(len(items))}
	for tries = 1; ; tries++ {
		began := time.Now()
		err = w.handle(ctx, items)
		seen.Took = time.Since(began)
		if err == nil || errors.Is(err, errStale) {
			seen.What = ObservedHandled
			if err != nil {
				seen.What = ObservedStale
			}
			w.settings.Observe(seen)
			return tries, nil
		}
		if ctx.Err() != nil {
			return tries, errInterrupted
		}
		if tries >= w.settings.Tries || errors.Is(err, ErrPoison) {
			return tries, err
		}
		w.settings.Observe(Observation{What: ObservedRetried, Topic: seen.Topic, Partition: seen.Partition, Records: seen.Records, Err: err})
		wait := time.NewTimer(w.settings.pause(tries))
		select {
		case <-r.done: // nobody waits for a pause
			wait.Stop()
			return tries, errInterrupted
		case <-wait.C:
		}
	}
}

// pause is how long to wait after so many tries.
func (s Settings) pause(tries int) time.Duration {
	wait := s.RetryFirst
	for ; tries > 1 && wait < s.RetryMax; tries-- {
		wait *= 2
	}
	wait = min(wait, s.RetryMax)
	return wait*3/4 + rand.N(wait/2+1)
}

// bury gives a record to DeadLetter, or returns why it cannot be passed over.
func (w worker[T]) bury(ctx context.Context, dead Dead) error {
	r := dead.Record
	if w.settings.DeadLetter == nil {
		return fmt.Errorf("offset %d of partition %d of %s: %w", r.Offset, r.Partition, w.topic, dead.Err)
	}
	if err := w.settings.DeadLetter(ctx, dead); err != nil {
		if ctx.Err() != nil {
			return errInterrupted
		}
		return fmt.Errorf("putting offset %d of partition %d of %s aside: %w", r.Offset, r.Partition, w.topic, err)
	}
	w.settings.Observe(Observation{What: ObservedDead, Topic: w.topic, Partition: r.Partition, Records: 1, Err: dead.Err})
	return nil
}
