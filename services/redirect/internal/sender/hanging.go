package sender

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// markerPatience is how long a broker may take from saying that a transaction has
// ended to its end being in the partition. It takes milliseconds, or for ever.
const markerPatience = 5 * time.Second

// closed waits until the broker has nothing of this producer open in the partitions,
// and is an error when that does not come to be.
//
// A broker answers the end of a transaction when it has written down what is to
// become of it. Then it tells the partitions, and says to whoever asks that the
// transaction is done. Apache Kafka (4.4.0, TransactionMarkerChannelManager) leaves
// out a partition that has no leader at that moment, taking it for one that was
// deleted, and still says that all is done. That is every partition of a single
// broker that is started again after it was killed, or that hung for longer than its
// session, and those of a cluster whose only copy that is in sync is away. What was
// committed then stays open: nobody reads it, nor what is behind it, and the next
// transaction of this producer there decides what becomes of it. So the partition is
// asked itself.
func (l *link) closed(ctx context.Context, partitions ...int32) error {
	ctx, cancel := context.WithTimeout(ctx, markerPatience)
	defer cancel()
	return stubborn(ctx, func() error {
		req := kmsg.NewPtrDescribeProducersRequest()
		topic := kmsg.NewDescribeProducersRequestTopic()
		topic.Topic, topic.Partitions = l.topic, partitions
		req.Topics = append(req.Topics, topic)
		resp, err := req.RequestWith(ctx, l.client)
		if err != nil {
			return fmt.Errorf("asking for open transactions: %w", err)
		}
		answered := 0
		for _, t := range resp.Topics {
			for _, p := range t.Partitions {
				answered++
				if err := l.closedIn(p); err != nil {
					return err
				}
			}
		}
		if answered != len(partitions) {
			return fmt.Errorf("asking for open transactions: %d partitions in the answer, want %d", answered, len(partitions))
		}
		return nil
	})
}

func (l *link) closedIn(p kmsg.DescribeProducersResponseTopicPartition) error {
	if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
		return fmt.Errorf("asking for open transactions of partition %d: %w", p.Partition, err)
	}
	for _, a := range p.ActiveProducers {
		if a.ProducerID == l.id && a.CurrentTxnStartOffset >= 0 {
			return fmt.Errorf("a transaction that has ended is open in partition %d: %w", p.Partition, kerr.ConcurrentTransactions)
		}
	}
	return nil
}
