package apply

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func (u *Updater) assigned(_ context.Context, _ *kgo.Client, assigned map[string][]int32) {
	u.partitions.assign(assigned[u.topic], time.Now())
}

// resumed is called after assigned with the committed offsets, and changes none.
func (u *Updater) resumed(_ context.Context, offsets map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
	for id, o := range offsets[u.topic] {
		if at := o.EpochOffset().Offset; at >= 0 {
			u.partitions.resume(id, at, time.Now())
		}
	}
	return offsets, nil
}

// revoked commits what is done of the partitions that another process gets. It
// runs between two steps, so nothing is half done.
func (u *Updater) revoked(ctx context.Context, client *kgo.Client, revoked map[string][]int32) {
	if err := client.CommitMarkedOffsets(ctx); err != nil {
		u.log.Warn("committing before partitions are handed over", "err", err)
	}
	u.partitions.revoke(revoked[u.topic])
}

// lost commits nothing: somebody else reads these partitions already.
func (u *Updater) lost(_ context.Context, _ *kgo.Client, lost map[string][]int32) {
	u.partitions.revoke(lost[u.topic])
}

// fetchClock knows when a broker last answered a fetch, with records or without.
type fetchClock struct {
	at atomic.Int64 // Unix nanoseconds
}

// OnBrokerRead implements kgo.HookBrokerRead.
func (c *fetchClock) OnBrokerRead(_ kgo.BrokerMetadata, key int16, _ int, _, _ time.Duration, err error) {
	if err == nil && key == int16(kmsg.Fetch) {
		c.at.Store(time.Now().UnixNano())
	}
}

func (c *fetchClock) silent() time.Duration {
	return time.Duration(time.Now().UnixNano() - c.at.Load())
}
