package apply

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/services/internal/linkcache"
	"github.com/linkstream/linkstream/services/internal/trace"
)

const (
	// beatEvery is the time between two heartbeats and between two looks at the
	// generation. Edges stop trusting what they hold after three missing ones.
	beatEvery     = 500 * time.Millisecond
	fillBeatEvery = 100 * time.Millisecond
	// readSilence is how long the broker may be silent before heartbeats stop. A
	// fetch without records is answered after fetchWait.
	readSilence = 1500 * time.Millisecond
	fetchWait   = 400 * time.Millisecond
	// redisSilence is how long a question to Redis may be open for /readyz to say nothing.
	// It is less than readSilence: while Redis is waited for, nobody fetches.
	redisSilence = time.Second

	// chunkRecords is written in one round trip to Redis and published in another.
	// 200,000 records took 1.9 s on two shared cores, broker and Redis included: a
	// chunk is about 5 ms, well inside any time limit.
	chunkRecords = 500
	// pollRecords bounds one turn of the loop, and so how late a heartbeat may be.
	pollRecords = 4 * chunkRecords

	// sessionTimeout bounds how long partitions of a killed process have no reader.
	sessionTimeout = 10 * time.Second
	// heartbeatInterval is how late a member learns of a rebalance. A partition that
	// moves has no reader from its revocation until the others have joined again, and
	// whoever misses it long enough trusts nothing: with the library's 3 s each
	// rebalance let the lease of every edge (1.5 s) lapse.
	heartbeatInterval = time.Second

	adminTimeout = 5 * time.Second
	retryFirst   = 20 * time.Millisecond
	retryMax     = time.Second
)

// What is in the errors that an updater logs of somebody who is away.
var (
	ErrRedis  = errors.New("redis does not do as it is told")
	ErrBroker = errors.New("the broker does not answer")
)

// Settings of an updater.
type Settings struct {
	Region      string
	TopicPrefix string
	// Instance names this updater among all of its region; no two that run may have
	// the same. See kafka.Instance. Empty is allowed.
	Instance     string
	DrainTimeout time.Duration
	Tracer       *trace.Tracer // may be nil
}

// Updater reads the changelog for one region.
type Updater struct {
	client     *kgo.Client
	store      *linkcache.Store
	generation generation
	partitions *partitions
	topic      string
	prefix     string
	drain      time.Duration
	log        *slog.Logger
	metrics    metrics
	tracer     *trace.Tracer // may be nil
	region     string

	seen       view // by the last verify; of the loop alone
	quiet      bool // the last heartbeat failed, and that was told; of the loop alone
	suspicious bool // Redis may not be the one that was seen; of the loop alone

	lastFetch *fetchClock
	failure   atomic.Pointer[error] // what Redis or the dead topic answered last, nil when all is well
	asked     atomic.Int64          // when the question to Redis under way began, in nanoseconds since 1970; 0 for none
}

// New returns an updater over a region's Redis. Options are those of a Kafka
// client (package kafka); the updater adds its group.
func New(options []kgo.Opt, client redis.UniversalClient, settings Settings, registry prometheus.Registerer, log *slog.Logger) (*Updater, error) {
	u := &Updater{
		store:      linkcache.NewStore(client),
		generation: generation{client: client},
		partitions: &partitions{byID: map[int32]*partition{}},
		topic:      events.LinksChangelog.Name(settings.TopicPrefix),
		prefix:     settings.TopicPrefix,
		tracer:     settings.Tracer,
		region:     settings.Region,
		drain:      settings.DrainTimeout,
		log:        log,
		lastFetch:  &fetchClock{},
	}
	u.metrics = newMetrics(registry, u.partitions.lag)
	if settings.Instance != "" {
		options = append(slices.Clone(options), kgo.InstanceID(settings.Instance))
	}
	var err error
	u.client, err = kgo.NewClient(append(options,
		kgo.ConsumerGroup("cacheupdater-"+settings.Region),
		kgo.ConsumeTopics(u.topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchMaxWait(fetchWait),
		kgo.SessionTimeout(sessionTimeout),
		kgo.HeartbeatInterval(heartbeatInterval),
		kgo.KeepControlRecords(), // they move the position, so that a fill sees the end
		kgo.BlockRebalanceOnPoll(),
		kgo.AutoCommitMarks(),
		kgo.AutoCommitInterval(time.Second),
		kgo.OnPartitionsAssigned(u.assigned),
		kgo.AdjustFetchOffsetsFn(u.resumed),
		kgo.OnPartitionsRevoked(u.revoked),
		kgo.OnPartitionsLost(u.lost),
		kgo.WithHooks(u.lastFetch),
	)...)
	if err != nil {
		return nil, fmt.Errorf("making the consumer: %w", err)
	}
	return u, nil
}

// Client is the updater's connection, for the check of the topics.
func (u *Updater) Client() *kgo.Client { return u.client }

// Run reads until ctx is done, then commits what it has marked. It ends with an
// error when another updater has come under its name. The Kafka client is closed
// when it returns.
func (u *Updater) Run(ctx context.Context) error {
	defer u.client.CloseAllowingRebalance()
	beat := time.Now()
	for ctx.Err() == nil {
		if err := u.step(ctx, &beat); err != nil {
			return err // nothing may be committed: somebody else reads these partitions
		}
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), u.drain)
	defer cancel()
	if err := u.client.CommitMarkedOffsets(drain); err != nil {
		return fmt.Errorf("committing at the end: %w", err)
	}
	return nil
}

// step is one turn of the loop: what has arrived until the next heartbeat, then
// the heartbeat. No partition is taken away in the middle of it, and none is
// rewound while its records are in hand.
func (u *Updater) step(ctx context.Context, beat *time.Time) (fenced error) {
	poll, cancel := context.WithDeadline(ctx, *beat)
	fetches := u.client.PollRecords(poll, pollRecords)
	cancel()
	defer u.client.AllowRebalance()
	fetches.EachError(func(topic string, partition int32, err error) {
		switch {
		case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		case errors.Is(err, kerr.FencedInstanceID):
			fenced = fmt.Errorf("another updater has taken this one's name: %w", err)
		default:
			u.log.Error("reading the changelog", "topic", topic, "partition", partition, "err", ofBroker(err))
		}
	})
	if fenced != nil {
		return fenced
	}
	fetches.EachPartition(func(p kgo.FetchTopicPartition) {
		u.partitions.with(p.Partition, func(known *partition) { known.end = max(known.end, p.HighWatermark) })
	})
	records := fetches.Records()
	for len(records) > 0 {
		n := min(chunkRecords, len(records))
		if u.apply(ctx, records[:n]) != nil {
			return nil // stopping: what is not marked is read again by the next process
		}
		records = records[n:]
	}
	u.beatIfDue(ctx, beat)
	return nil
}

func (u *Updater) beatIfDue(ctx context.Context, beat *time.Time) {
	now := time.Now()
	if (now.Before(*beat) && !u.suspicious) || ctx.Err() != nil {
		return
	}
	u.suspicious = false
	*beat = now.Add(beatEvery)
	if _, incomplete, _ := u.partitions.filling(); incomplete > 0 {
		*beat = now.Add(fillBeatEvery) // the edges ask the origin until it is over
	}
	err := u.beat(ctx)
	if err != nil && ctx.Err() == nil && !u.quiet {
		u.log.Warn("no heartbeat", "err", err)
	}
	u.quiet = err != nil
	if errors.Is(err, ErrBroker) {
		err = nil // the readiness of Redis is not at stake
	}
	u.note(err)
}

// beat looks at the generation before it speaks: a heartbeat through a Redis that
// lost its data says so.
func (u *Updater) beat(ctx context.Context) error {
	if err := u.verify(ctx); err != nil {
		return err
	}
	if silent := u.lastFetch.silent(); silent > readSilence {
		return ErrBroker // /readyz says so, too
	}
	if !u.partitions.counted() {
		if err := u.countPartitions(ctx); err != nil {
			return err
		}
	}
	if err := u.checkEnds(ctx, time.Now()); err != nil {
		return err
	}
	m, ok := u.partitions.heartbeat()
	if !ok {
		return nil
	}
	return u.redis(func() error { return u.store.Publish(ctx, &m) })
}

// redis asks Redis something, and notes since when it has been asked.
func (u *Updater) redis(ask func() error) error {
	u.asked.Store(time.Now().UnixNano())
	defer u.asked.Store(0)
	if err := ask(); err != nil {
		return fmt.Errorf("%w: %w", ErrRedis, err)
	}
	return nil
}

// ofBroker marks an error of a broker that is away. One that answers, and refuses for
// good, is there.
func ofBroker(err error) error {
	if answer, ok := errors.AsType[*kerr.Error](err); ok && !answer.Retriable {
		return err
	}
	return fmt.Errorf("%w: %w", ErrBroker, err)
}

// countPartitions asks how many partitions the changelog has: an edge must learn of
// those too that nobody reads, and this process may have been assigned a few.
func (u *Updater) countPartitions(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	topics, err := kadm.NewClient(u.client).ListTopics(ctx, u.topic)
	if err == nil {
		err = topics.Error()
	}
	if err != nil {
		return fmt.Errorf("counting the changelog's partitions: %w", ofBroker(err))
	}
	u.partitions.setCount(int32(len(topics[u.topic].Partitions))) //nolint:gosec // numbered by int32
	return nil
}

func (u *Updater) note(err error) {
	if err == nil {
		u.failure.Store(nil)
		return
	}
	u.failure.Store(&err)
}

// RedisReady is a readiness check.
func (u *Updater) RedisReady(context.Context) error {
	if err := u.failure.Load(); err != nil {
		return *err
	}
	if asked := u.asked.Load(); asked != 0 && time.Since(time.Unix(0, asked)) > redisSilence {
		return fmt.Errorf("no answer for %v", redisSilence)
	}
	return nil
}

// ChangelogReady is a readiness check: the changelog is being read and Redis holds
// all of it.
func (u *Updater) ChangelogReady(ctx context.Context) error {
	joined, incomplete, assigned := u.partitions.filling()
	switch {
	case !joined:
		return errors.New("has not joined its consumer group yet")
	case assigned > 0 && u.lastFetch.silent() > readSilence && u.RedisReady(ctx) == nil:
		// While Redis is waited for nobody fetches, and the broker is not to blame.
		return ErrBroker
	case incomplete > 0:
		return fmt.Errorf("filling redis: %d of %d partitions to go", incomplete, assigned)
	}
	return nil
}
