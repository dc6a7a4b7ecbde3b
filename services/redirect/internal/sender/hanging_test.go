package sender

import (
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/linkstream/linkstream/services/internal/facttest"
)

// forgetful is a broker that says once that a transaction is committed and does not
// tell its partition, and perhaps not the group, as Apache Kafka does when it is
// killed, or hangs, between the two. The next request of the session then fails, as
// one to a killed broker may.
type forgetful struct {
	groupKnows bool // the group's offset is committed
	group      string

	mu       sync.Mutex
	at       kmsg.TxnOffsetCommitRequestTopicPartition
	forgot   bool
	failed   bool
	unstable bool // the group waits to be told
	inHand   bool // the group is part of the transaction under way
}

func (f *forgetful) control(c *kfake.Cluster) {
	on := func(key kmsg.Key, do func(req kmsg.Request) (kmsg.Response, error, bool)) {
		c.ControlKey(key.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
			c.KeepControl()
			f.mu.Lock()
			defer f.mu.Unlock()
			return do(req)
		})
	}
	on(kmsg.TxnOffsetCommit, func(req kmsg.Request) (kmsg.Response, error, bool) {
		if !f.forgot {
			f.at = req.(*kmsg.TxnOffsetCommitRequest).Topics[0].Partitions[0]
		}
		return nil, nil, false
	})
	on(kmsg.EndTxn, func(req kmsg.Request) (kmsg.Response, error, bool) {
		switch r := req.(*kmsg.EndTxnRequest); {
		case r.Commit && !f.forgot:
			f.forgot, f.unstable = true, !f.groupKnows
			resp := r.ResponseKind().(*kmsg.EndTxnResponse)
			return resp, nil, true
		case f.inHand:
			f.inHand, f.unstable = false, false
		}
		return nil, nil, false
	})
	on(kmsg.AddPartitionsToTxn, func(req kmsg.Request) (kmsg.Response, error, bool) {
		if !f.forgot || f.failed {
			return nil, nil, false
		}
		f.failed = true
		r := req.(*kmsg.AddPartitionsToTxnRequest)
		resp := r.ResponseKind().(*kmsg.AddPartitionsToTxnResponse)
		for _, t := range r.Topics {
			refused := kmsg.NewAddPartitionsToTxnResponseTopic()
			refused.Topic = t.Topic
			for _, p := range t.Partitions {
				part := kmsg.NewAddPartitionsToTxnResponseTopicPartition()
				part.Partition, part.ErrorCode = p, kerr.InvalidProducerEpoch.Code
				refused.Partitions = append(refused.Partitions, part)
			}
			resp.Topics = append(resp.Topics, refused)
		}
		return resp, nil, true
	})
	on(kmsg.AddOffsetsToTxn, func(kmsg.Request) (kmsg.Response, error, bool) {
		f.inHand = f.forgot
		return nil, nil, false
	})
	on(kmsg.OffsetFetch, func(req kmsg.Request) (kmsg.Response, error, bool) {
		r := req.(*kmsg.OffsetFetchRequest)
		if !f.forgot || len(r.Groups) != 1 || r.Groups[0].Group != f.group || !f.unstable && !f.groupKnows {
			return nil, nil, false
		}
		part := kmsg.NewOffsetFetchResponseGroupTopicPartition()
		part.Offset, part.Metadata = f.at.Offset, f.at.Metadata
		if f.unstable {
			part.Offset, part.ErrorCode = -1, kerr.UnstableOffsetCommit.Code
		}
		topicAnswer := kmsg.NewOffsetFetchResponseGroupTopic()
		topicAnswer.Topic = topic
		topicAnswer.Partitions = append(topicAnswer.Partitions, part)
		group := kmsg.NewOffsetFetchResponseGroup()
		group.Group = f.group
		group.Topics = append(group.Topics, topicAnswer)
		resp := r.ResponseKind().(*kmsg.OffsetFetchResponse)
		resp.Groups = append(resp.Groups, group)
		return resp, nil, true
	})
}

// A broker that says that a transaction is committed and does not tell the partition:
// its clicks are sent again, whatever the group was told, and the edge does not wait
// for an offset that nobody will ever end.
//
// Guards I57.
func TestWhatThePartitionWasNotToldOfIsSentAgain(t *testing.T) {
	for what, groupKnows := range map[string]bool{"nor was the group": false, "the group was": true} {
		t.Run(what, func(t *testing.T) {
			c := cluster(t)
			f := &forgetful{groupKnows: groupKnows, group: name}
			f.control(c)
			j := open(t, t.TempDir())
			e := start(t, j, 10*time.Second, c.ListenAddrs()...)
			for i := range uint64(20) { // more than there are partitions
				add(t, j, i*100, 100)
				facttest.Eventually(t, "they are sent", settled(j))
			}
			e.stop()
			exactly(t, delivered(t, c.ListenAddrs()...), 2000)
			if s := j.Stats(); s.Produced != 2000 || s.Accepted != 2000 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// The answer to the end of a transaction was lost, and by the time that the edge is back
// the topic has forgotten the clicks: its checkpoint says that they were sent.
//
// Guards I31.
func TestACheckpointIsBelievedWhereTheTopicHasForgotten(t *testing.T) {
	c := cluster(t)
	var link scissors
	var cut sync.Once
	c.ControlKey(int16(kmsg.EndTxn), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		if req.(*kmsg.EndTxnRequest).Commit {
			cut.Do(link.cutNext)
		}
		return nil, nil, false
	})
	j := open(t, t.TempDir())
	add(t, j, 0, 1000)
	s, err := New(j, append(options(c.ListenAddrs()...), link.dialer(), kgo.RequestRetries(0)), Settings{Topic: topic, Name: name}, discard())
	if err != nil {
		t.Fatal(err)
	}
	n, err := s.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.send(t.Context()); err == nil {
		t.Fatal("the answer was not lost")
	}
	n.client.Close()
	note, ok := j.Unknown()
	if !ok || note.To != 1000 {
		t.Fatalf("%+v %v", note, ok)
	}
	client, err := kgo.NewClient(options(c.ListenAddrs()...)...)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	var upTo kadm.Offsets
	ends, err := admin.ListEndOffsets(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	ends.Each(func(o kadm.ListedOffset) { upTo.AddOffset(topic, o.Partition, o.Offset, -1) })
	if _, err := admin.DeleteRecords(t.Context(), upTo); err != nil {
		t.Fatal(err)
	}
	add(t, j, 1000, 10)
	sendAll(t, j, c.ListenAddrs()...)
	if stats := j.Stats(); stats.Produced != 1010 || stats.Waiting != 0 {
		t.Errorf("%+v", stats)
	}
	if seen := delivered(t, c.ListenAddrs()...); len(seen) != 10 {
		t.Errorf("%d clicks are in the topic, want the 10 new ones", len(seen))
	}
}
