// Package sink carries clicks from the clicks topic into ClickHouse.
//
// It promises that every record of the topic becomes exactly one row or one dead
// record whatever is killed in between, that ClickHouse being away costs time and
// bounded memory and nothing else, and that a record which is no click stops
// nobody. A dead record may be written twice after a crash: its source_partition
// and source_offset say so.
//
// It refuses to commit what is not in the table, and to insert what has not been
// noted. If you are about to change the order of the steps in lane.finish, read
// its comment first.
package sink

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/linkstream/linkstream/services/internal/enrich"
	"github.com/linkstream/linkstream/services/internal/outage"
)

// Group is the consumer group of all ingesters.
const Group = "clicks"

const (
	// parallelInserts bounds the inserts that run at once, and the batches that are
	// in memory as rows. ClickHouse uses several cores for one insert already; more
	// than a few only take each other's turns.
	parallelInserts = 3
	// maxBatchBytes closes a batch early when records are large: 60,000 ordinary
	// clicks have about as much. With twelve partitions, each with one batch waiting, and
	// those in hand it bounds the records in memory to 600 MB.
	maxBatchBytes = 40 << 20
	// settleTimeout is for the range in hand when a partition goes to another
	// ingester. The group waits for it, within its rebalance time-out of a minute.
	settleTimeout = 15 * time.Second
	// pollRecords bounds what one poll hands over.
	pollRecords = 50_000
	// sessionTimeout is how long the partitions of an ingester that was killed wait
	// for their next owner. Kafka's default, 45 s, is a long time without new
	// figures; brokers refuse less than 6 s.
	sessionTimeout    = 10 * time.Second
	heartbeatInterval = 2 * time.Second
	// leaveTimeout is for the good-bye to the group.
	leaveTimeout = 3 * time.Second
)

// Settings of a Consumer.
type Settings struct {
	Topic       Topic
	TopicPrefix string
	// Instance names this ingester among all; no two that run may have the same. One
	// that was killed and starts again under its name has its partitions back at once;
	// without a name the group first waits for the session of the dead one to end.
	Instance string
	// A batch is inserted when it has MaxRows, or when its oldest record has waited MaxWait.
	MaxRows int
	MaxWait time.Duration
	// Drain is how long the ranges in hand may take when the process is stopped.
	Drain time.Duration
	// Broker and ClickHouse tell when the store is away: the former as whoever made the
	// options of the client finds out, too.
	Broker, ClickHouse *outage.Outage
}

// Consumer is one member of the group.
type Consumer struct {
	settings Settings
	client   *kgo.Client
	store    store
	visitors *enrich.Visitors
	metrics  *Metrics
	slots    chan *worker
	log      *slog.Logger

	trouble atomic.Pointer[string] // why partitions cannot be taken over

	mu    sync.Mutex
	lanes map[int32]*lane
}

// New returns a Consumer that joins the group at once; call Run. The options say
// how the broker is reached.
func New(options []kgo.Opt, ch *ClickHouse, places *enrich.Places, settings Settings, metrics *Metrics, log *slog.Logger) (*Consumer, error) {
	return newConsumer(options, ch, ch, places, settings, metrics, log)
}

func newConsumer(options []kgo.Opt, rows store, keys enrich.KeyStore, places *enrich.Places, settings Settings, metrics *Metrics, log *slog.Logger) (*Consumer, error) {
	c := &Consumer{
		settings: settings,
		store:    rows,
		visitors: enrich.NewVisitors(keys, time.Now),
		metrics:  metrics,
		slots:    make(chan *worker, parallelInserts),
		log:      log,
		lanes:    map[int32]*lane{},
	}
	tables := enrich.NewTables()
	for range parallelInserts {
		c.slots <- &worker{enricher: enrich.New(tables, places)}
	}
	if settings.Instance != "" {
		options = append(slices.Clone(options), kgo.InstanceID(settings.Instance))
	}
	client, err := kgo.NewClient(slices.Concat([]kgo.Opt{
		kgo.SessionTimeout(sessionTimeout),
		kgo.HeartbeatInterval(heartbeatInterval),
	}, options, []kgo.Opt{
		kgo.ConsumerGroup(Group),
		kgo.ConsumeTopics(settings.Topic.Name),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.DisableAutoCommit(),
		// Between a poll and the hand-over to the lanes no partition may change hands.
		kgo.BlockRebalanceOnPoll(),
		kgo.OnOffsetsFetched(c.offsetsFetched),
		kgo.OnPartitionsRevoked(func(_ context.Context, _ *kgo.Client, gone map[string][]int32) {
			c.stopLanes(gone[settings.Topic.Name], settleTimeout)
		}),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, gone map[string][]int32) {
			c.stopLanes(gone[settings.Topic.Name], 0)
		}),
	})...)
	if err != nil {
		return nil, fmt.Errorf("building the consumer: %w", err)
	}
	c.client = client
	return c, nil
}

// Run consumes until ctx is done, then finishes the ranges in hand within the
// drain time and leaves the group (one with a name keeps its place for the
// session's time, so that a restart moves nothing). It ends with an error when
// another ingester with its name has come.
func (c *Consumer) Run(ctx context.Context) error {
	defer c.client.CloseAllowingRebalance()
	var failure error
	for ctx.Err() == nil && failure == nil {
		fetches := c.client.PollRecords(ctx, pollRecords)
		if fetches.IsClientClosed() {
			return errors.New("the Kafka client was closed")
		}
		fetches.EachError(func(_ string, partition int32, err error) {
			switch {
			case ctx.Err() != nil:
			case errors.Is(err, kerr.FencedInstanceID):
				failure = fmt.Errorf("another ingester has taken the name %q: %w", c.settings.Instance, err)
			case c.settings.Broker.Away(): // it was told, once
			default:
				c.log.WarnContext(ctx, "fetching failed, will be tried again", "partition", partition, "err", err)
			}
		})
		now := time.Now()
		fetches.EachPartition(func(p kgo.FetchTopicPartition) {
			if l := c.lane(p.Partition); l != nil {
				l.queue.offer(p.Records, now)
			}
		})
		c.client.AllowRebalance()
	}
	c.stopLanes(c.partitions(), c.settings.Drain)
	leave, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	if err := c.client.LeaveGroupContext(leave); err != nil {
		// The others take the partitions over when the session times out.
		c.log.WarnContext(leave, "group not left", "err", err)
	}
	return failure
}

// Ready says what keeps clicks from being counted, as far as this process has
// noticed. It asks nobody: the broker and ClickHouse have checks of their own.
func (c *Consumer) Ready() error {
	if text := c.trouble.Load(); text != nil {
		return errors.New(*text)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var failing []string
	for _, p := range slices.Sorted(maps.Keys(c.lanes)) {
		if text := c.lanes[p].trouble.Load(); text != nil {
			failing = append(failing, fmt.Sprintf("partition %d: %s", p, *text))
		}
	}
	if len(failing) > 0 {
		return errors.New(strings.Join(failing, "; "))
	}
	return nil
}

// offsetsFetched is called with the group's offsets of newly assigned partitions
// before anything of them is fetched: here a lane learns what it has to redo.
func (c *Consumer) offsetsFetched(ctx context.Context, _ *kgo.Client, answer *kmsg.OffsetFetchResponse) error {
	// The group's context ends with the assignment; a lane has a grace period after that.
	ctx = context.WithoutCancel(ctx)
	for _, p := range fetched(answer) {
		if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
			continue // the client asks again
		}
		metadata := ""
		if p.Metadata != nil {
			metadata = *p.Metadata
		}
		redo, err := c.settings.Topic.readNote(p.Offset, metadata)
		switch {
		case errors.Is(err, errForeignNote):
			c.log.WarnContext(ctx, "note ignored: the topic was made anew", "partition", p.Partition)
		case err != nil:
			err = fmt.Errorf("taking over partition %d: %w", p.Partition, err)
			text := err.Error()
			c.trouble.Store(&text)
			return err // the client joins the group again, and logs it
		}
		c.startLane(ctx, p.Partition, p.Offset, redo)
	}
	c.trouble.Store(nil)
	return nil
}

// fetched is the answer's partitions: only one topic was asked for, and which
// fields hold it depends on the broker's version.
func fetched(answer *kmsg.OffsetFetchResponse) []kmsg.OffsetFetchResponseGroupTopicPartition {
	var out []kmsg.OffsetFetchResponseGroupTopicPartition
	for _, g := range answer.Groups {
		for _, t := range g.Topics {
			out = append(out, t.Partitions...)
		}
	}
	if len(out) > 0 {
		return out
	}
	for _, t := range answer.Topics {
		for _, p := range t.Partitions {
			out = append(out, kmsg.OffsetFetchResponseGroupTopicPartition{
				Partition: p.Partition, Offset: p.Offset, LeaderEpoch: p.LeaderEpoch, Metadata: p.Metadata, ErrorCode: p.ErrorCode,
			})
		}
	}
	return out
}

func (c *Consumer) startLane(ctx context.Context, partition int32, committed int64, redo *noted) {
	c.stopLanes([]int32{partition}, 0) // an answer that came twice: the newer one counts
	topic := map[string][]int32{c.settings.Topic.Name: {partition}}
	ctx, cancel := context.WithCancel(ctx)
	l := &lane{
		partition: partition,
		topic:     c.settings.Topic,
		prefix:    c.settings.TopicPrefix,
		queue: newQueue(
			limits{rows: c.settings.MaxRows, bytes: maxBatchBytes, wait: c.settings.MaxWait}, committed, redo,
			func() { c.client.PauseFetchPartitions(topic) },
			func() { c.client.ResumeFetchPartitions(topic) },
		),
		who:   fmt.Sprintf("partition %d", partition),
		store: c.store, offsets: c, visitors: c.visitors,
		stores:  stores{c.settings.Broker, c.settings.ClickHouse},
		metrics: c.metrics, slots: c.slots, log: c.log,
		stopping: make(chan struct{}), done: make(chan struct{}), cancel: cancel,
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lanes[partition] = l
	go l.run(ctx)
}

// stopLanes stops the lanes side by side and returns when nothing of them runs.
func (c *Consumer) stopLanes(partitions []int32, grace time.Duration) {
	var wait sync.WaitGroup
	c.mu.Lock()
	for _, p := range partitions {
		if l, ok := c.lanes[p]; ok {
			delete(c.lanes, p)
			wait.Go(func() { l.stop(grace) })
		}
	}
	c.mu.Unlock()
	wait.Wait()
}

func (c *Consumer) lane(partition int32) *lane {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lanes[partition]
}

func (c *Consumer) partitions() []int32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Keys(c.lanes))
}

// commit implements offsets. The request carries the generation of the group in
// which it is made, so the broker refuses it once the partition has a new owner.
func (c *Consumer) commit(ctx context.Context, partition int32, offset int64, metadata string) error {
	ctx = kgo.PreCommitFnContext(ctx, func(req *kmsg.OffsetCommitRequest) error {
		for i := range req.Topics {
			for j := range req.Topics[i].Partitions {
				req.Topics[i].Partitions[j].Metadata = &metadata
			}
		}
		return nil
	})
	var answer error
	at := map[string]map[int32]kgo.EpochOffset{c.settings.Topic.Name: {partition: {Epoch: -1, Offset: offset}}}
	c.client.CommitOffsetsSync(ctx, at, func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
		answer = commitError(resp, err)
	})
	if answer != nil {
		return fmt.Errorf("committing offset %d: %w", offset, answer)
	}
	return nil
}

func commitError(resp *kmsg.OffsetCommitResponse, err error) error {
	if err != nil {
		return err
	}
	answered := 0
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			answered++
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return err
			}
		}
	}
	if answered == 0 {
		return errors.New("the answer names no partition")
	}
	return nil
}

// produceDead implements offsets.
func (c *Consumer) produceDead(ctx context.Context, records []*kgo.Record) error {
	if err := c.client.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return fmt.Errorf("producing to the dead topic: %w", err)
	}
	return nil
}
