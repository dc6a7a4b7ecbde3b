// Package limit counts the redirects of links that give only so many, over all edges of
// all regions: in one Redis, the links' home.
//
// It promises that all edges together never give more redirects than a link's limit, as
// long as that Redis keeps what it has confirmed. A take is one script with a receipt, so
// a reply that was lost is asked for again and counts once; a visitor whose replies are
// all lost gets no redirect, and may have used one up. When Redis does not answer, nobody
// gets a redirect of such a link (ErrAway): fewer than the limit, never more.
//
// A count begins at nothing when a link gets a limit while it has none, and survives
// every other edit: who raises a limit from 100 to 200 gives 100 more.
package limit

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
)

const (
	// timeout bounds one question, tries how often it is asked.
	timeout = 250 * time.Millisecond
	tries   = 2
	// receiptFor is how long Redis knows a take again, many times what the tries take.
	receiptFor = 10 * time.Second
	// spentRoom bounds how many links are remembered to have nothing left.
	spentRoom = 8192
)

// ErrAway says that the Redis which counts did not answer, or that there is none.
var ErrAway = errors.New("the clicks of links with a limit cannot be counted")

// take uses one up, unless the limit is reached. The receipt remembers the answer of this
// very take. It answers 1 for a redirect and 0 for none.
//
//nolint:gochecknoglobals // a constant in all but type
var take = redis.NewScript(`
local receipt = redis.call('GET', KEYS[2])
if receipt then return tonumber(receipt) end
local used = tonumber(redis.call('GET', KEYS[1]) or '0')
local answer = 0
if used < tonumber(ARGV[1]) then
  redis.call('INCR', KEYS[1])
  answer = 1
end
redis.call('SET', KEYS[2], answer, 'PX', ARGV[2])
return answer
`)

// Count is one count: that of a link, since it got its limit.
type Count struct {
	Link  [16]byte
	Since uint64
	Max   uint64
}

// key is where the count is. Both keys of a take are in one slot.
func (c *Count) key() string {
	return fmt.Sprintf("clicklimit:{%s}:%d", uuid.UUID(c.Link), c.Since)
}

// Counter counts. It is safe for concurrent use.
type Counter struct {
	client redis.UniversalClient // nil: nobody counts

	mu    sync.RWMutex
	spent map[Count]struct{} // what is used up stays so

	taken, refused, away prometheus.Counter
}

// New returns a counter over the home Redis. Without one every question is ErrAway.
func New(client redis.UniversalClient, registry prometheus.Registerer) *Counter {
	vec := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "click_limit_total", Help: "Redirects that links with a limit were asked for: taken, refused because it is reached, or away because nobody could count.",
	}, []string{"answer"})
	registry.MustRegister(vec)
	return &Counter{
		client: client, spent: map[Count]struct{}{},
		taken: vec.WithLabelValues("taken"), refused: vec.WithLabelValues("refused"), away: vec.WithLabelValues("away"),
	}
}

// Spent says whether this process knows that a limit is reached. It asks nobody.
func (c *Counter) Spent(count Count) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	_, spent := c.spent[count]
	return spent
}

// Take uses one redirect up and says true, or says false when there is none left.
func (c *Counter) Take(ctx context.Context, count Count) (bool, error) {
	if c.Spent(count) {
		c.refused.Inc()
		return false, nil
	}
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	key := count.key()
	keys := []string{key, key + ":" + hex.EncodeToString(id[:])}
	got, err := c.ask(ctx, func(ctx context.Context) (int64, error) {
		return take.Run(ctx, c.client, keys, count.Max, receiptFor.Milliseconds()).Int64()
	})
	switch {
	case err != nil:
		c.away.Inc()
		return false, err
	case got == 0:
		c.refused.Inc()
		c.remember(count)
		return false, nil
	}
	c.taken.Inc()
	return true, nil
}

// Left says whether there is a redirect left, and uses none up.
func (c *Counter) Left(ctx context.Context, count Count) (bool, error) {
	if c.Spent(count) {
		return false, nil
	}
	used, err := c.ask(ctx, func(ctx context.Context) (int64, error) {
		// A transaction is answered by the primary: a replica may lag.
		pipe := c.client.TxPipeline()
		value := pipe.Get(ctx, count.key())
		_, _ = pipe.Exec(ctx) // value has the error
		n, err := value.Int64()
		if errors.Is(err, redis.Nil) {
			return 0, nil
		}
		return n, err
	})
	if err != nil {
		c.away.Inc()
		return false, err
	}
	if uint64(used) >= count.Max { //nolint:gosec // it is only counted up
		c.remember(count)
		return false, nil
	}
	return true, nil
}

// ask asks again when the reply is lost. Whatever is asked may be asked twice.
func (c *Counter) ask(ctx context.Context, question func(ctx context.Context) (int64, error)) (int64, error) {
	if c.client == nil {
		return 0, ErrAway
	}
	var failed error
	for range tries {
		once, cancel := context.WithTimeout(ctx, timeout)
		n, err := question(once)
		cancel()
		if err == nil {
			return n, nil
		}
		failed = err
	}
	return 0, fmt.Errorf("%w: %w", ErrAway, failed)
}

func (c *Counter) remember(count Count) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.spent) >= spentRoom {
		clear(c.spent)
	}
	c.spent[count] = struct{}{}
}
