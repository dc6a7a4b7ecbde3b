// Package ends says when a topic has been read to where it ended when reading began,
// also where the last offsets hold nothing that a reader is ever told of.
//
// Ends are those of a reader of committed records. Not safe for concurrent use.
package ends

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Ends are the partitions of a topic that have not been read to where they ended
// when reading began.
type Ends struct {
	topic string
	open  map[int32]span
}

// span is what is still to be read of a partition: next <= offset < end.
type span struct{ next, end int64 }

// Read asks for the ends as a reader sees them who reads committed records.
// A topic that is not there is an error.
func Read(ctx context.Context, client *kgo.Client, topic string) (*Ends, error) {
	admin := kadm.NewClient(client)
	starts, err := admin.ListStartOffsets(ctx, topic)
	if err != nil {
		return nil, fmt.Errorf("asking where %s begins: %w", topic, err)
	}
	listed, err := admin.ListCommittedOffsets(ctx, topic)
	if err != nil {
		return nil, fmt.Errorf("asking where %s ends: %w", topic, err)
	}
	e := &Ends{topic: topic, open: map[int32]span{}}
	for partition, end := range listed[topic] {
		if errors.Is(end.Err, kerr.UnknownTopicOrPartition) {
			return nil, fmt.Errorf("there is no topic %s: %w", topic, end.Err)
		}
		start, ok := starts.Lookup(topic, partition)
		if end.Err != nil || !ok || start.Err != nil {
			return nil, fmt.Errorf("asking where partition %d of %s ends: %w", partition, topic, firstError(end.Err, start.Err))
		}
		if start.Offset < end.Offset {
			e.open[partition] = span{start.Offset, end.Offset}
		}
	}
	if len(listed[topic]) == 0 {
		return nil, fmt.Errorf("there is no topic %s", topic)
	}
	return e, nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return kerr.UnknownTopicOrPartition
}

// Passed notes that a record was read.
func (e *Ends) Passed(partition int32, offset int64) {
	s, ok := e.open[partition]
	if !ok {
		return
	}
	s.next = max(s.next, offset+1)
	e.open[partition] = s
	if s.next >= s.end {
		delete(e.open, partition)
	}
}

// Reached says whether nothing is left to be read.
func (e *Ends) Reached() bool { return len(e.open) == 0 }

// probeBytes is what a probe may be answered with: the broker sends a whole batch at
// least, whatever the limit.
const probeBytes = 1 << 16

// Probe finds out about partitions whose last offsets hold nothing to be seen:
// compaction has removed it, it was aborted, or a mark that ends a transaction is there.
// A reader is not told of those offsets, and would wait for them for ever. So the broker
// is asked for what is there from where the reader is: an answer without anything, or
// with nothing to be seen up to the end, proves it.
func (e *Ends) Probe(ctx context.Context, client *kgo.Client) error {
	if e.Reached() {
		return nil
	}
	listed, err := kadm.NewClient(client).ListTopics(ctx, e.topic)
	if err != nil {
		return fmt.Errorf("asking who leads %s: %w", e.topic, err)
	}
	detail := listed[e.topic]
	for partition, s := range e.open {
		leader, ok := detail.Partitions[partition]
		if !ok || leader.Err != nil {
			continue // it is asked again
		}
		next, err := nothingUpTo(ctx, client.Broker(int(leader.Leader)), detail, partition, s)
		if err != nil {
			return fmt.Errorf("asking for the end of partition %d of %s: %w", partition, e.topic, err)
		}
		e.Passed(partition, next-1)
	}
	return nil
}

// nothingUpTo is the offset before which there is nothing to be seen from s.next on.
func nothingUpTo(ctx context.Context, leader *kgo.Broker, topic kadm.TopicDetail, partition int32, s span) (int64, error) {
	request := kmsg.NewPtrFetchRequest()
	request.MaxWaitMillis, request.MinBytes, request.MaxBytes, request.IsolationLevel = 100, 1, probeBytes, 1
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.PartitionMaxBytes = partition, s.next, probeBytes
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.TopicID, t.Partitions = topic.Topic, topic.ID, append(t.Partitions, p)
	request.Topics = append(request.Topics, t)
	answer, err := request.RequestWith(ctx, leader)
	if err != nil {
		return s.next, err
	}
	// A throttled answer is empty, whatever there is.
	if answer.ErrorCode != 0 || answer.ThrottleMillis > 0 || len(answer.Topics) != 1 || len(answer.Topics[0].Partitions) != 1 {
		return s.next, nil
	}
	got := &answer.Topics[0].Partitions[0]
	if got.ErrorCode == 0 && len(got.RecordBatches) == 0 && got.LastStableOffset >= s.end {
		return s.end, nil
	}
	read, next := kgo.ProcessFetchPartition(
		kgo.ProcessFetchPartitionOpts{Offset: s.next, IsolationLevel: kgo.ReadCommitted(), Topic: topic.Topic, Partition: partition},
		got, kgo.DefaultDecompressor(), nil)
	if read.Err == nil && len(read.Records) == 0 {
		return next, nil
	}
	return s.next, nil // the reader is going to see it, whatever it is
}

// Begin says where reading begins, for those partitions that are read at all. What is
// before does not have to be read.
func (e *Ends) Begin(starts map[int32]int64) {
	for partition := range e.open {
		start, read := starts[partition]
		if !read {
			delete(e.open, partition)
			continue
		}
		e.Passed(partition, start-1)
	}
}
