package kafka

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/linkstream/linkstream/events"
)

// ErrNoAnswer says that no broker said in time whether the topics are there.
var ErrNoAnswer = errors.New("no broker answered")

// Forever is the patience of a service that has nothing to do without a broker.
const Forever time.Duration = math.MaxInt64

// askAgain is the pause between two questions. The client tries again within one
// question too, so this only keeps a broker that answers with errors from being
// asked without pause.
const askAgain = 250 * time.Millisecond

// AwaitTopics asks, for as long as patience, until a broker says whether the topics
// are there. It returns nil when all are, and ErrMissingTopics at once when one is
// not, which ends every service: no topic appears by itself.
//
// A broker that does not answer is ErrNoAnswer, and means something else to each
// service. One that works without a broker (redirect, links) has little patience and
// goes on. One that does not (cacheupdater, clicks) waits Forever in the task that
// reads, beside an admin listener whose /readyz says "broker: ...". ErrNoAnswer also
// wraps the reason, and when ctx is done, ctx's.
func AwaitTopics(ctx context.Context, client *kgo.Client, prefix string, patience time.Duration, topics ...events.Topic) error {
	asking, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	again := time.NewTicker(askAgain)
	defer again.Stop()
	for {
		err := CheckTopics(asking, client, prefix, topics...)
		if err == nil || errors.Is(err, ErrMissingTopics) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ErrNoAnswer, context.Cause(ctx))
		case <-asking.Done():
			return fmt.Errorf("%w within %s: %w", ErrNoAnswer, patience, err)
		case <-again.C:
		}
	}
}
