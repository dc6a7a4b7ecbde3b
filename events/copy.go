package events

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/linkstream/linkstream/events/internal/ends"
)

// Copy keeps a copy of all links current, without a group: each process that runs one
// has every link. It reads the changelog from its beginning, says when it has passed
// the end that the changelog had when it began, and reads on. There is no gap between
// the two.
//
// The changelog is compacted, so its beginning is the newest state of each link, not
// its history. A state may come again, also an older one: compare LinkChanged.Revision
// with what the copy holds, or set Versions.
type Copy struct {
	settings Settings
	apply    func(context.Context, LinkChange) error
	complete chan struct{}
}

// copyIdle is how long nothing comes before the broker is asked whether anything is
// left, while the end has not been seen.
const copyIdle = 500 * time.Millisecond

// NewCopy makes a Copy. apply is called for one change after the other, by one
// goroutine. A tombstone (Event nil) and a deletion both say that the link is gone.
func NewCopy(s Settings, apply func(context.Context, LinkChange) error) (*Copy, error) {
	s, err := s.complete()
	if s.Group != "" || s.Start != Earliest() {
		err = errors.Join(err, errors.New("a copy has no Group and no Start: it reads everything"))
	}
	if err != nil {
		return nil, fmt.Errorf("making a copy of all links: %w", err)
	}
	return &Copy{settings: s, apply: apply, complete: make(chan struct{})}, nil
}

// Complete is closed when apply has returned for everything that was in the changelog
// when Run began.
func (c *Copy) Complete() <-chan struct{} { return c.complete }

// Run reads until ctx ends, and then returns nil; what is in hand is finished within
// Drain. Other than that it ends like that of a Subscription. It can be called once.
func (c *Copy) Run(ctx context.Context) error {
	topic := LinksChangelog.Name(c.settings.TopicPrefix)
	client, err := kgo.NewClient(append(append([]kgo.Opt{}, c.settings.Kafka...),
		kgo.SeedBrokers(c.settings.Brokers...),
		kgo.ConsumeTopics(topic),
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		// Below what is left: everything that is left is newer.
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		// A probe waits behind a fetch that is waiting for records.
		kgo.FetchMaxWait(copyIdle),
	)...)
	if err != nil {
		return fmt.Errorf("making a copy of all links: %w", err)
	}
	defer client.Close()
	open, err := ends.Read(ctx, client, topic)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer drainAfter(ctx, work, cancel, c.settings.Drain)()
	return c.follow(ctx, work, client, open)
}

func (c *Copy) follow(ctx, work context.Context, client *kgo.Client, open *ends.Ends) error {
	w := worker[LinkChange]{
		topic: LinksChangelog, settings: c.settings, decode: decodeLink,
		handle: func(ctx context.Context, changes []item[LinkChange]) error {
			return newer(ctx, c.settings, changes[0].value, c.apply)
		},
	}
	complete := false
	for {
		if !complete && open.Reached() {
			complete = true
			close(c.complete)
		}
		fetches, idle := poll(ctx, client, c.settings.MaxPoll, !open.Reached())
		if ctx.Err() != nil {
			return nil //nolint:nilerr // being stopped is no error
		}
		if idle {
			if err := open.Probe(ctx, client); err != nil {
				c.settings.Observe(Observation{What: ObservedFetch, Topic: LinksChangelog, Err: err})
			}
			continue
		}
		if err := fetchErrors(LinksChangelog, c.settings, fetches); err != nil {
			return err
		}
		r := newRound(ctx)
		err := c.read(work, r, &w, fetches, open)
		r.hurry()
		if err != nil {
			return ignoreInterruption(err)
		}
	}
}

func ignoreInterruption(err error) error {
	if errors.Is(err, errInterrupted) {
		return nil
	}
	return err
}

func (c *Copy) read(ctx context.Context, r *round, w *worker[LinkChange], fetches kgo.Fetches, open *ends.Ends) error {
	for records := fetches.RecordIter(); !records.Done(); {
		record := records.Next()
		if r.hurried() {
			return errInterrupted
		}
		if err := w.process(ctx, r, []*kgo.Record{record}); err != nil {
			return err
		}
		open.Passed(record.Partition, record.Offset)
	}
	return nil
}

// poll polls; with a limit it says after copyIdle that nothing came.
func poll(ctx context.Context, client *kgo.Client, n int, limited bool) (fetches kgo.Fetches, idle bool) {
	if !limited {
		return client.PollRecords(ctx, n), false
	}
	limit, cancel := context.WithTimeout(ctx, copyIdle)
	defer cancel()
	fetches = client.PollRecords(limit, n)
	return fetches, fetches.NumRecords() == 0 && limit.Err() != nil
}
