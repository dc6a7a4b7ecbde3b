package sink

import (
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/services/internal/clickhousetest"
	"github.com/linkstream/linkstream/services/internal/enrich"
	"github.com/linkstream/linkstream/services/internal/outage"
)

// system is a broker and a ClickHouse database with the two topics and tables.
type system struct {
	t          *testing.T
	broker     *kfake.Cluster
	topic      Topic
	ch         *ClickHouse
	producer   *kgo.Client
	partitions int32
	produced   int
	refusing   atomic.Bool // commits without note
}

func newSystem(t *testing.T, partitions int32) *system {
	t.Helper()
	url := clickhousetest.New(t)
	broker, err := kfake.NewCluster(kfake.NumBrokers(1),
		kfake.SeedTopics(partitions, events.Clicks.Name("")), kfake.SeedTopics(1, events.DeadClicks.Name("")))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broker.Close)
	producer, err := kgo.NewClient(kgo.SeedBrokers(broker.ListenAddrs()...), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(producer.Close)
	ch, err := OpenClickHouse(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ch.Close() })
	topic, err := FindTopic(t.Context(), producer, "")
	if err != nil {
		t.Fatal(err)
	}
	return &system{t: t, broker: broker, topic: topic, ch: ch, producer: producer, partitions: partitions}
}

// click is the value of the n-th click, an ordinary one.
func click(n int) []byte {
	c := events.Click{
		TimeUnixMicro: time.Now().UnixMicro(),
		Host:          "go.test", SlugKey: "launch", Status: 302, LinkVersion: 1,
		EdgeRegion: "fra", Edge: "fra-0",
		Address:   []byte{192, 0, 2, byte(n)},
		UserAgent: []byte("Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36"),
	}
	binary.BigEndian.PutUint64(c.ID[8:], uint64(n))
	c.WorkspaceID[0], c.LinkID[0] = 1, 2
	return events.AppendClick(nil, &c)
}

// produce writes n clicks, each with an id that no other has.
func (s *system) produce(n int) {
	s.t.Helper()
	records := make([]*kgo.Record, n)
	for i := range records {
		records[i] = &kgo.Record{Topic: s.topic.Name, Value: click(s.produced)}
		s.produced++
	}
	s.write(records...)
}

func (s *system) write(records ...*kgo.Record) {
	s.t.Helper()
	if err := s.producer.ProduceSync(s.t.Context(), records...).FirstErr(); err != nil {
		s.t.Fatal(err)
	}
}

// ingester is one running Consumer.
type ingester struct {
	consumer *Consumer
	registry *prometheus.Registry
	stop     func() // returns when it has stopped
}

type option func(*Settings)

func (s *system) settings(options ...option) Settings {
	log := slog.New(slog.NewTextHandler(s.t.Output(), nil))
	settings := Settings{
		Topic: s.topic, MaxRows: 100, MaxWait: 20 * time.Millisecond, Drain: 5 * time.Second,
		Broker: outage.New(outage.Store{Name: "broker"}, log), ClickHouse: outage.New(outage.Store{Name: "clickhouse"}, log),
	}
	for _, o := range options {
		o(&settings)
	}
	return settings
}

func (s *system) consumer(rows store, settings Settings) *Consumer {
	s.t.Helper()
	consumer, _ := s.measuredConsumer(rows, settings)
	return consumer
}

func (s *system) measuredConsumer(rows store, settings Settings) (*Consumer, *prometheus.Registry) {
	s.t.Helper()
	registry := prometheus.NewRegistry()
	log := slog.New(slog.NewTextHandler(s.t.Output(), &slog.HandlerOptions{Level: slog.LevelInfo}))
	consumer, err := newConsumer([]kgo.Opt{
		kgo.SeedBrokers(s.broker.ListenAddrs()...),
		kgo.HeartbeatInterval(100 * time.Millisecond), // a rebalance is noticed at the next heartbeat
		kgo.FetchMaxWait(100 * time.Millisecond),
	}, rows, s.ch, &enrich.Places{}, settings, NewMetrics(registry), log)
	if err != nil {
		s.t.Fatal(err)
	}
	return consumer, registry
}

// start runs an ingester; rows nil is the real store.
func (s *system) start(rows store, options ...option) *ingester {
	s.t.Helper()
	if rows == nil {
		rows = s.ch
	}
	consumer, registry := s.measuredConsumer(rows, s.settings(options...))
	ctx, cancel := context.WithCancel(s.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := consumer.Run(ctx); err != nil {
			s.t.Error(err)
		}
	}()
	i := &ingester{consumer: consumer, registry: registry, stop: func() { cancel(); <-done }}
	s.t.Cleanup(i.stop)
	return i
}

// value is a counter's value.
func (i *ingester) value(name string) int {
	families, err := i.registry.Gather()
	if err != nil {
		return -1
	}
	for _, f := range families {
		if f.GetName() == name {
			return int(f.GetMetric()[0].GetCounter().GetValue())
		}
	}
	return -1
}

// rows returns how many rows there are and how many different clicks.
func (s *system) rows() (rows, clicks uint64, err error) {
	ctx, cancel := context.WithTimeout(s.t.Context(), 10*time.Second)
	defer cancel()
	err = s.ch.conn.QueryRow(ctx, "SELECT count(), uniqExact(click_id) FROM clicks").Scan(&rows, &clicks)
	return rows, clicks, err
}

// wantExactly waits until all clicks are there, then says whether any is there
// twice. Committed must be true when no ingester is left that could still insert.
func (s *system) wantExactly(want int) {
	s.t.Helper()
	s.eventually("all clicks are in the table", func() bool {
		_, clicks, err := s.rows()
		return err == nil && clicks == uint64(want)
	})
	s.eventually("all offsets are committed without a note", s.committed)
	rows, clicks, err := s.rows()
	if err != nil || rows != uint64(want) || clicks != uint64(want) {
		s.t.Errorf("%d rows of %d clicks (%v), want %d", rows, clicks, err, want)
	}
	s.wantRollups(want)
}

// wantRollups says whether the rollups have every click once, too.
func (s *system) wantRollups(want int) {
	s.t.Helper()
	for _, query := range []string{
		"SELECT sum(clicks) FROM clicks_by_link WHERE link_id = '00000000-0000-0000-0000-000000000000'",
		"SELECT sum(clicks) FROM clicks_by_link WHERE link_id != '00000000-0000-0000-0000-000000000000'",
		"SELECT sum(clicks) FROM clicks_by_value WHERE dimension = 'country'",
		"SELECT sum(clicks) FROM clicks_by_value WHERE dimension = 'status' AND value = '302'",
	} {
		var got uint64
		if err := s.ch.conn.QueryRow(s.t.Context(), query).Scan(&got); err != nil || got != uint64(want) {
			s.t.Errorf("%s: %d (%v), want %d", query, got, err, want)
		}
	}
}

// committed says whether the group has done everything in the topic.
func (s *system) committed() bool {
	ctx, cancel := context.WithTimeout(s.t.Context(), 5*time.Second)
	defer cancel()
	for partition, end := range s.ends(ctx) {
		offset, metadata := s.offset(ctx, partition)
		if end > 0 && (offset != end || metadata != "") {
			return false
		}
	}
	return true
}

func (s *system) ends(ctx context.Context) map[int32]int64 {
	req := kmsg.NewListOffsetsRequest()
	req.ReplicaID = -1
	topic := kmsg.NewListOffsetsRequestTopic()
	topic.Topic = s.topic.Name
	for p := range s.partitions {
		part := kmsg.NewListOffsetsRequestTopicPartition()
		part.Partition, part.Timestamp = p, -1
		topic.Partitions = append(topic.Partitions, part)
	}
	req.Topics = append(req.Topics, topic)
	resp, err := req.RequestWith(ctx, s.producer)
	if err != nil {
		return map[int32]int64{0: -1} // not known: not committed
	}
	out := map[int32]int64{}
	for _, p := range resp.Topics[0].Partitions {
		out[p.Partition] = p.Offset
	}
	return out
}

func (s *system) offset(ctx context.Context, partition int32) (int64, string) {
	req := kmsg.NewOffsetFetchRequest()
	req.Group = Group
	topic := kmsg.NewOffsetFetchRequestTopic()
	topic.Topic, topic.Partitions = s.topic.Name, []int32{partition}
	req.Topics = append(req.Topics, topic)
	group := kmsg.NewOffsetFetchRequestGroup()
	group.Group = Group
	groupTopic := kmsg.NewOffsetFetchRequestGroupTopic()
	groupTopic.Topic, groupTopic.TopicID, groupTopic.Partitions = s.topic.Name, s.topic.ID, []int32{partition}
	group.Topics = append(group.Topics, groupTopic)
	req.Groups = append(req.Groups, group)
	resp, err := req.RequestWith(ctx, s.producer)
	if err != nil {
		return -2, err.Error()
	}
	answer := fetched(resp)
	if len(answer) != 1 {
		return -2, "no answer"
	}
	metadata := ""
	if answer[0].Metadata != nil {
		metadata = *answer[0].Metadata
	}
	return answer[0].Offset, metadata
}

// eventually polls until the fact is true.
func (s *system) eventually(fact string, check func() bool) {
	s.t.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !check() {
		select {
		case <-deadline:
			rows, clicks, err := s.rows()
			for p, end := range s.ends(s.t.Context()) {
				offset, note := s.offset(s.t.Context(), p)
				s.t.Logf("partition %d: committed %d %q of %d", p, offset, note, end)
			}
			s.t.Fatalf("not in 30 seconds: %s (%d rows of %d clicks, %v)", fact, rows, clicks, err)
		case <-tick.C:
		}
	}
}

// faulty is the real store with failures around it.
type faulty struct {
	store
	before, after func() error
}

func (f *faulty) insert(ctx context.Context, token string, rows *columns) error {
	if f.before != nil {
		if err := f.before(); err != nil {
			return err
		}
	}
	if err := f.store.insert(ctx, token, rows); err != nil {
		return err
	}
	if f.after != nil {
		return f.after()
	}
	return nil
}

var errInjected = errors.New("injected")
