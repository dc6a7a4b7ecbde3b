package sender

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

const (
	// transactionTimeout is after how long the broker aborts what an edge that is
	// gone left open. Until then, readers of that partition wait.
	transactionTimeout = 30 * time.Second
	// produceTimeout is how long the broker may take to store a batch.
	produceTimeout = 10 * time.Second
	// The pauses while the broker still finishes the transaction before.
	firstPause, longestPause = 2 * time.Millisecond, 100 * time.Millisecond
)

// versions are those of the protocol as spoken here: transactions in which the
// client says which partitions and groups are part of them, and topics by name. All
// brokers since Kafka 2.8 understand these.
func versions() *kversion.Versions {
	v := kversion.Stable()
	for _, limit := range []struct {
		key kmsg.Key
		max int16
	}{{kmsg.Produce, 11}, {kmsg.AddPartitionsToTxn, 3}, {kmsg.AddOffsetsToTxn, 3}, {kmsg.TxnOffsetCommit, 4}, {kmsg.EndTxn, 4}, {kmsg.InitProducerID, 4}, {kmsg.OffsetCommit, 8}, {kmsg.OffsetFetch, 8}} {
		v.SetMaxKeyVersion(limit.key.Int16(), limit.max)
	}
	return v
}

// link is a connection to the brokers that speaks for one transactional id.
type link struct {
	client *kgo.Client
	topic  string
	txid   string // also the group whose offset is the checkpoint
	producer
}

// stubborn repeats a request for as long as the broker says that it is still busy
// with the transaction before.
func stubborn(ctx context.Context, do func() error) error {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		err := do()
		if !errors.Is(err, kerr.ConcurrentTransactions) && !errors.Is(err, kerr.UnstableOffsetCommit) {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-timer.C:
		}
	}
}

// takeName makes this process the one that has the transactional id. Whatever
// another one had open is finished or aborted, and its requests are refused.
func (l *link) takeName(ctx context.Context) error {
	return stubborn(ctx, func() error {
		req := kmsg.NewPtrInitProducerIDRequest()
		req.TransactionalID = &l.txid
		req.TransactionTimeoutMillis = int32(transactionTimeout.Milliseconds())
		req.ProducerID, req.ProducerEpoch = -1, -1
		resp, err := req.RequestWith(ctx, l.client)
		if err == nil {
			err = kerr.ErrorForCode(resp.ErrorCode)
		}
		if err != nil {
			return fmt.Errorf("taking the transactional id: %w", err)
		}
		l.producer = producer{id: resp.ProducerID, epoch: resp.ProducerEpoch}
		return nil
	})
}

// leaders are the brokers of the topic's partitions.
func (l *link) leaders(ctx context.Context) ([]int32, error) {
	req := kmsg.NewPtrMetadataRequest()
	topic := kmsg.NewMetadataRequestTopic()
	topic.Topic = &l.topic
	req.Topics = append(req.Topics, topic)
	resp, err := req.RequestWith(ctx, l.client)
	if err != nil {
		return nil, fmt.Errorf("asking for the partitions: %w", err)
	}
	if len(resp.Topics) != 1 {
		return nil, fmt.Errorf("asking for the partitions: %d topics in the answer", len(resp.Topics))
	}
	t := resp.Topics[0]
	if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
		return nil, fmt.Errorf("asking for the partitions: %w", err)
	}
	if len(t.Partitions) == 0 {
		return nil, errors.New("asking for the partitions: there are none")
	}
	leaders := make([]int32, len(t.Partitions))
	for _, p := range t.Partitions {
		if err := kerr.ErrorForCode(p.ErrorCode); err != nil && !errors.Is(err, kerr.ReplicaNotAvailable) {
			return nil, fmt.Errorf("asking for partition %d: %w", p.Partition, err)
		}
		if p.Partition < 0 || int(p.Partition) >= len(leaders) {
			return nil, fmt.Errorf("asking for the partitions: number %d of %d", p.Partition, len(leaders))
		}
		leaders[p.Partition] = p.Leader
	}
	return leaders, nil
}

// add makes partitions part of the transaction.
func (l *link) add(ctx context.Context, partitions ...int32) error {
	return stubborn(ctx, func() error {
		req := kmsg.NewPtrAddPartitionsToTxnRequest()
		req.TransactionalID, req.ProducerID, req.ProducerEpoch = l.txid, l.id, l.epoch
		topic := kmsg.NewAddPartitionsToTxnRequestTopic()
		topic.Topic, topic.Partitions = l.topic, partitions
		req.Topics = append(req.Topics, topic)
		resp, err := req.RequestWith(ctx, l.client)
		if err != nil {
			return fmt.Errorf("beginning a transaction: %w", err)
		}
		for _, t := range resp.Topics {
			for _, p := range t.Partitions {
				if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
					return fmt.Errorf("beginning a transaction: %w", err)
				}
			}
		}
		return nil
	})
}

// produce stores a batch in a partition. It returns the offset of its first record.
func (l *link) produce(ctx context.Context, leader, partition int32, batch []byte) (int64, error) {
	req := kmsg.NewPtrProduceRequest()
	req.TransactionID, req.Acks, req.TimeoutMillis = &l.txid, -1, int32(produceTimeout.Milliseconds())
	part := kmsg.NewProduceRequestTopicPartition()
	part.Partition, part.Records = partition, batch
	topic := kmsg.NewProduceRequestTopic()
	topic.Topic, topic.Partitions = l.topic, append(topic.Partitions, part)
	req.Topics = append(req.Topics, topic)
	answer, err := l.client.Broker(int(leader)).Request(ctx, req)
	if err != nil {
		return 0, fmt.Errorf("producing: %w", err)
	}
	resp, ok := answer.(*kmsg.ProduceResponse)
	if !ok || len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return 0, errors.New("producing: the answer is not about this partition")
	}
	p := resp.Topics[0].Partitions[0]
	if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
		return 0, fmt.Errorf("producing: %w", err)
	}
	return p.BaseOffset, nil
}

// addGroup makes the group part of the transaction.
func (l *link) addGroup(ctx context.Context) error {
	return stubborn(ctx, func() error {
		req := kmsg.NewPtrAddOffsetsToTxnRequest()
		req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Group = l.txid, l.id, l.epoch, l.txid
		resp, err := req.RequestWith(ctx, l.client)
		if err == nil {
			err = kerr.ErrorForCode(resp.ErrorCode)
		}
		if err != nil {
			return fmt.Errorf("adding the checkpoint: %w", err)
		}
		return nil
	})
}

// checkpoint makes an offset of the group part of the transaction.
func (l *link) checkpoint(ctx context.Context, offset int64, metadata string) error {
	if err := l.addGroup(ctx); err != nil {
		return err
	}
	return stubborn(ctx, func() error {
		req := kmsg.NewPtrTxnOffsetCommitRequest()
		req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Group = l.txid, l.id, l.epoch, l.txid
		part := kmsg.NewTxnOffsetCommitRequestTopicPartition()
		part.Offset, part.Metadata = offset, &metadata
		topic := kmsg.NewTxnOffsetCommitRequestTopic()
		topic.Topic, topic.Partitions = l.topic, append(topic.Partitions, part)
		req.Topics = append(req.Topics, topic)
		resp, err := req.RequestWith(ctx, l.client)
		if err != nil {
			return fmt.Errorf("writing the checkpoint: %w", err)
		}
		for _, t := range resp.Topics {
			for _, p := range t.Partitions {
				if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
					return fmt.Errorf("writing the checkpoint: %w", err)
				}
			}
		}
		return nil
	})
}

// end commits the transaction or aborts it.
func (l *link) end(ctx context.Context, commit bool) error {
	return stubborn(ctx, func() error {
		req := kmsg.NewPtrEndTxnRequest()
		req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = l.txid, l.id, l.epoch, commit
		resp, err := req.RequestWith(ctx, l.client)
		if err == nil {
			err = kerr.ErrorForCode(resp.ErrorCode)
		}
		if err != nil {
			return fmt.Errorf("ending a transaction: %w", err)
		}
		return nil
	})
}

// read returns a group's offset and its metadata, -1 when there is none. It waits
// for transactions that are being finished.
func (l *link) read(ctx context.Context, group string) (offset int64, metadata string, err error) {
	offset = -1
	err = stubborn(ctx, func() error {
		req := kmsg.NewPtrOffsetFetchRequest()
		req.RequireStable = true
		topic := kmsg.NewOffsetFetchRequestGroupTopic()
		topic.Topic, topic.Partitions = l.topic, []int32{0}
		of := kmsg.NewOffsetFetchRequestGroup()
		of.Group, of.Topics = group, append(of.Topics, topic)
		req.Groups = append(req.Groups, of)
		resp, err := req.RequestWith(ctx, l.client)
		if err != nil {
			return fmt.Errorf("reading an offset of %s: %w", group, err)
		}
		for _, g := range resp.Groups {
			if err := kerr.ErrorForCode(g.ErrorCode); err != nil {
				if errors.Is(err, kerr.GroupIDNotFound) {
					return nil
				}
				return fmt.Errorf("reading an offset of %s: %w", group, err)
			}
			for _, t := range g.Topics {
				for _, p := range t.Partitions {
					if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
						return fmt.Errorf("reading an offset of %s: %w", group, err)
					}
					offset = p.Offset
					if p.Metadata != nil {
						metadata = *p.Metadata
					}
				}
			}
		}
		return nil
	})
	return offset, metadata, err
}

// write sets a group's offset outside any transaction.
func (l *link) write(ctx context.Context, group string, offset int64, metadata string) error {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Generation = group, -1
	part := kmsg.NewOffsetCommitRequestTopicPartition()
	part.Offset, part.Metadata = offset, &metadata
	topic := kmsg.NewOffsetCommitRequestTopic()
	topic.Topic, topic.Partitions = l.topic, append(topic.Partitions, part)
	req.Topics = append(req.Topics, topic)
	resp, err := req.RequestWith(ctx, l.client)
	if err != nil {
		return fmt.Errorf("writing an offset of %s: %w", group, err)
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return fmt.Errorf("writing an offset of %s: %w", group, err)
			}
		}
	}
	return nil
}
