package events

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/linkstream/linkstream/events/eventspb"
)

// LinkChange is one record of the changelog.
type LinkChange struct {
	Link ID
	// Event is the link's whole state, with Kind KIND_DELETED for a deletion. It is nil
	// for a tombstone: the link was deleted a week ago or more, and whoever keeps
	// something under its id may forget it.
	Event  *eventspb.LinkChanged
	Record *kgo.Record
}

// ClickRead is one record of the clicks topic.
type ClickRead struct {
	Click  *eventspb.Click
	Record *kgo.Record
}

// Subscription reads one topic as a member of a consumer group. It promises:
//
//   - At least once: a record is marked after its handler has returned nil (or
//     DeadLetter has), and only what is marked is committed. Whatever was not finished
//     when a process died is handled again.
//   - Order: the changes of one link are handled one after the other, in the order in
//     which they were made. Partitions are handled side by side.
//   - Rebalances: a partition that is given back has what was marked committed first,
//     and nothing is committed for one that was lost. The next owner begins at the first
//     record that was not marked.
//   - Nothing is skipped: a record that cannot be decoded or handled goes to DeadLetter,
//     or ends Run.
//   - Clicks are read committed: those of an aborted transaction are not seen.
//
// It cannot promise that nothing is handled twice: only the store that your effects go
// to can. Versions says how.
type Subscription struct {
	topic    Topic
	settings Settings
	client   *kgo.Client
	batch    int
	process  func(context.Context, *round, []*kgo.Record) error

	mu    sync.Mutex
	round *round // in whose time a rebalance may want to happen
}

// SubscribeLinks reads the changelog. The handler is called for one change after the
// other for each link, by several goroutines for different links; it must finish when
// its context ends. The caller closes nothing: Run does.
func SubscribeLinks(s Settings, handle func(context.Context, LinkChange) error) (*Subscription, error) {
	sub, err := subscribe(LinksChangelog, s, 1)
	if err != nil {
		return nil, err
	}
	work := worker[LinkChange]{
		topic: LinksChangelog, settings: sub.settings, decode: decodeLink,
		handle: func(ctx context.Context, changes []item[LinkChange]) error {
			return newer(ctx, sub.settings, changes[0].value, handle)
		},
	}
	sub.process = work.process
	return sub, nil
}

// maxClicks bounds a batch of clicks. A guess: large enough for an insert of a batch.
const maxClicks = 500

// SubscribeClicks reads the clicks topic. The handler gets batches of up to 500 clicks
// of one partition, and is called by several goroutines. When it gives up on a batch
// and there is a DeadLetter, it is asked again with each click alone, so that one click
// that cannot be handled takes no other with it.
func SubscribeClicks(s Settings, handle func(context.Context, []ClickRead) error) (*Subscription, error) {
	sub, err := subscribe(Clicks, s, maxClicks)
	if err != nil {
		return nil, err
	}
	work := worker[ClickRead]{
		topic: Clicks, settings: sub.settings, decode: decodeClick,
		handle: func(ctx context.Context, items []item[ClickRead]) error {
			clicks := make([]ClickRead, len(items))
			for i := range items {
				clicks[i] = items[i].value
			}
			return handle(ctx, clicks)
		},
	}
	sub.process = work.process
	return sub, nil
}

func decodeLink(r *kgo.Record) (LinkChange, error) {
	change := LinkChange{Record: r}
	if len(r.Key) != idSize {
		return change, fmt.Errorf("decoding a link change: the key has %d bytes, want %d", len(r.Key), idSize)
	}
	change.Link = ID(r.Key)
	event, err := DecodeLinkChanged(r)
	if err != nil && !errors.Is(err, ErrTombstone) {
		return change, err
	}
	change.Event = event
	return change, nil
}

func decodeClick(r *kgo.Record) (ClickRead, error) {
	click := &eventspb.Click{}
	return ClickRead{Click: click, Record: r}, DecodeClick(r.Value, click)
}

// newer handles a change, or returns errStale if that has been done.
func newer(ctx context.Context, s Settings, c LinkChange, handle func(context.Context, LinkChange) error) error {
	if s.Versions == nil || c.Event == nil {
		return handle(ctx, c)
	}
	revision := c.Event.GetRevision()
	last, err := s.Versions.Last(ctx, c.Link)
	if err != nil {
		return fmt.Errorf("asking how far link %s is handled: %w", c.Link, err)
	}
	if revision <= last {
		return errStale
	}
	if err := handle(ctx, c); err != nil {
		return err
	}
	if err := s.Versions.Handled(ctx, c.Link, revision); err != nil {
		return fmt.Errorf("noting how far link %s is handled: %w", c.Link, err)
	}
	return nil
}

func subscribe(topic Topic, settings Settings, batch int) (*Subscription, error) {
	settings, err := settings.complete()
	if settings.Group == "" {
		err = errors.Join(err, errors.New("the settings name no Group"))
	}
	if err != nil {
		return nil, fmt.Errorf("subscribing to %s: %w", topic, err)
	}
	s := &Subscription{topic: topic, settings: settings, batch: batch, round: &round{hurry: func() {}}}
	s.client, err = kgo.NewClient(append(append([]kgo.Opt{}, settings.Kafka...),
		kgo.SeedBrokers(settings.Brokers...),
		kgo.ConsumerGroup(settings.Group),
		kgo.ConsumeTopics(topic.Name(settings.TopicPrefix)),
		kgo.ConsumeStartOffset(settings.Start.offset()),
		// What is left of what compaction or retention has taken away under us.
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.AutoCommitMarks(),
		kgo.BlockRebalanceOnPoll(),
		kgo.OnPartitionsCallbackBlocked(func(context.Context, *kgo.Client) { s.current().hurry() }),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, parts map[string][]int32) {
			s.observe(ObservedAssigned, parts, nil)
		}),
		kgo.OnPartitionsRevoked(func(ctx context.Context, client *kgo.Client, parts map[string][]int32) {
			s.observe(ObservedRevoked, parts, client.CommitMarkedOffsets(ctx))
		}),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, parts map[string][]int32) {
			s.observe(ObservedLost, parts, nil)
		}),
	)...)
	if err != nil {
		return nil, fmt.Errorf("subscribing to %s: %w", topic, err)
	}
	return s, nil
}

func (s *Subscription) observe(what Observed, partitions map[string][]int32, err error) {
	for _, ids := range partitions {
		for _, id := range ids {
			s.settings.Observe(Observation{What: what, Topic: s.topic, Partition: id, Err: err})
		}
	}
}

func (s *Subscription) current() *round {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.round
}

// Run reads until ctx ends, then finishes what is in hand, commits, leaves the group and
// returns nil. It returns an error when a record can neither be handled nor given to
// DeadLetter, or when the broker refuses. It can be called once.
func (s *Subscription) Run(ctx context.Context) error {
	// What is in hand outlives ctx, but not for long.
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer drainAfter(ctx, work, cancel, s.settings.Drain)()
	err := s.loop(ctx, work)
	return errors.Join(err, s.leave(context.WithoutCancel(ctx)))
}

// drainAfter cancels work so long after ctx has ended.
func drainAfter(ctx, work context.Context, cancel func(), drain time.Duration) (stop func() bool) {
	return context.AfterFunc(ctx, func() {
		limit := time.AfterFunc(drain, cancel)
		context.AfterFunc(work, func() { limit.Stop() })
	})
}

// leave commits what was marked and leaves the group.
func (s *Subscription) leave(ctx context.Context) error {
	defer s.client.CloseAllowingRebalance()
	ctx, cancel := context.WithTimeout(ctx, s.settings.Drain)
	defer cancel()
	if err := s.client.CommitMarkedOffsets(ctx); err != nil {
		return fmt.Errorf("committing what of %s was handled: %w", s.topic, err)
	}
	return nil
}

func (s *Subscription) loop(ctx, work context.Context) error {
	for ctx.Err() == nil {
		if err := s.poll(ctx, work); err != nil {
			return err
		}
	}
	return nil
}

func (s *Subscription) poll(ctx, work context.Context) error {
	r := newRound(ctx)
	defer r.hurry()
	s.mu.Lock()
	s.round = r
	s.mu.Unlock()
	fetches := s.client.PollRecords(ctx, s.settings.MaxPoll)
	defer s.client.AllowRebalance()
	if ctx.Err() != nil {
		return nil
	}
	if err := fetchErrors(s.topic, s.settings, fetches); err != nil {
		return err
	}
	return s.handle(work, r, fetches)
}

// fetchErrors returns what will not get better by itself.
func fetchErrors(topic Topic, s Settings, fetches kgo.Fetches) (fatal error) {
	fetches.EachError(func(_ string, partition int32, err error) {
		if transient(err) {
			s.Observe(Observation{What: ObservedFetch, Topic: topic, Partition: partition, Err: err})
			return
		}
		fatal = errors.Join(fatal, fmt.Errorf("reading partition %d of %s: %w", partition, topic, err))
	})
	return fatal
}

// transient says whether the client goes on by itself after an error that it has told.
// A process that the group has given up joins it again; one that the group does not want
// has something to be mended.
func transient(err error) bool {
	var (
		lost    *kgo.ErrDataLoss
		session *kgo.ErrGroupSession
		broker  *kerr.Error
	)
	switch {
	case errors.As(err, &lost), errors.Is(err, context.DeadlineExceeded):
		return true
	case !errors.As(err, &broker):
		return errors.As(err, &session) // the way to the broker
	case errors.Is(broker, kerr.UnknownMemberID), errors.Is(broker, kerr.IllegalGeneration),
		errors.Is(broker, kerr.FencedMemberEpoch), errors.Is(broker, kerr.StaleMemberEpoch):
		return true
	default:
		return broker.Retriable
	}
}

// handle works on all partitions of a poll side by side. The client has moved past all
// that was polled: what is left of a partition that this process goes on with is
// fetched again.
func (s *Subscription) handle(ctx context.Context, r *round, fetches kgo.Fetches) error {
	var (
		wg     sync.WaitGroup
		mu     sync.Mutex
		failed error
		again  = map[int32]kgo.EpochOffset{}
	)
	fetches.EachPartition(func(p kgo.FetchTopicPartition) {
		if len(p.Records) == 0 {
			return
		}
		wg.Go(func() {
			rest, err := s.partition(ctx, r, p.Records)
			last := p.Records[len(p.Records)-1].Offset
			s.settings.Observe(Observation{What: ObservedLag, Topic: s.topic, Partition: p.Partition, Records: max(0, p.LastStableOffset-last-1) + int64(len(rest))})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = errors.Join(failed, err)
				r.hurry() // the others finish what is in hand
			} else if len(rest) > 0 {
				again[p.Partition] = kgo.EpochOffset{Epoch: -1, Offset: rest[0].Offset}
			}
		})
	})
	wg.Wait()
	if failed == nil && len(again) > 0 {
		s.client.SetOffsets(map[string]map[int32]kgo.EpochOffset{s.topic.Name(s.settings.TopicPrefix): again})
	}
	return failed
}

// partition handles records in order, marks what is done, and returns what is not.
func (s *Subscription) partition(ctx context.Context, r *round, records []*kgo.Record) (rest []*kgo.Record, err error) {
	for len(records) > 0 && !r.hurried() {
		if n := s.skip(ctx, r, records); n > 0 {
			s.client.MarkCommitRecords(records[n-1])
			s.settings.Observe(Observation{What: ObservedSkipped, Topic: s.topic, Partition: records[0].Partition, Records: int64(n)})
			records = records[n:]
			continue
		}
		chunk := records[:min(s.batch, len(records))]
		err := s.process(ctx, r, chunk)
		if errors.Is(err, errInterrupted) {
			return records, nil
		}
		if err != nil {
			return records, err
		}
		s.client.MarkCommitRecords(chunk[len(chunk)-1])
		records = records[len(chunk):]
	}
	return records, nil
}

// skip says how many records at the beginning need not be decoded.
func (s *Subscription) skip(ctx context.Context, r *round, records []*kgo.Record) (n int) {
	if s.settings.Skip == nil || s.topic != LinksChangelog {
		return 0
	}
	for ; n < len(records) && !r.hurried(); n++ {
		brief, ok := BriefOf(records[n].Value)
		if !ok || !bytes.Equal(records[n].Key, brief.Link[:]) || !s.settings.Skip(ctx, brief) {
			break
		}
	}
	return n
}
