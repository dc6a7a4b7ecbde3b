package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/linkstream/linkstream/events/eventspb"
	"github.com/linkstream/linkstream/services/internal/rpc/controlv1"
	"github.com/linkstream/linkstream/services/links/internal/changelog"
	"github.com/linkstream/linkstream/services/links/internal/link"
	"github.com/linkstream/linkstream/services/links/internal/postgres"
)

// RedisState says what a command has done in a region's Redis.
type RedisState string

// The states of a region's Redis after a command.
const (
	RedisDone        RedisState = "done"
	RedisUnreachable RedisState = "unreachable" // its edges could not reach it
	RedisUnconfirmed RedisState = "unconfirmed" // no edge of the region has said
)

// Region is what has become of a command in one region.
type Region struct {
	Name string
	// Live edges were there when the command was given; Done is how many of them have
	// confirmed that their memory is as it should be.
	Live, Done int
	Redis      RedisState
	// Took is until the region's last confirmation.
	Took time.Duration
}

// Result is what has become of a command.
type Result struct {
	// Version of the link that was sent.
	Version uint64
	Regions []Region // by name
	Took    time.Duration
}

// Live is how many edges were live when the command was given.
func (r *Result) Live() (n int) {
	for i := range r.Regions {
		n += r.Regions[i].Live
	}
	return n
}

// Done is how many of them have confirmed.
func (r *Result) Done() (n int) {
	for i := range r.Regions {
		n += r.Regions[i].Done
	}
	return n
}

// Purge drops every copy of a link that caches hold, at the address it has and at
// those it has left, and puts what is true in their place. A link that was deleted is
// purged as well, for as long as it is remembered. It fails with link.ErrNotFound or
// link.ErrUnavailable; edges that do not answer are no failure.
func (c *Control) Purge(ctx context.Context, workspace uuid.UUID, id link.ID) (Result, error) {
	start := time.Now()
	version, states, err := c.store.Standing(ctx, workspace, id)
	if err != nil {
		return Result{}, err
	}
	return c.give(ctx, start, version, &controlv1.Command{Kind: controlv1.Command_KIND_PURGE, Links: states})
}

// Prewarm has every live edge and every region's Redis hold a link. It fails as Purge
// does; a link that was deleted is link.ErrNotFound.
func (c *Control) Prewarm(ctx context.Context, workspace uuid.UUID, id link.ID) (Result, error) {
	start := time.Now()
	l, err := c.store.Get(ctx, workspace, id)
	if err != nil {
		return Result{}, err
	}
	return c.give(ctx, start, l.Version, &controlv1.Command{
		Kind: controlv1.Command_KIND_PREWARM, Links: []*eventspb.LinkChanged{changelog.Current(l)},
	})
}

// give stores a command and waits for the edges.
func (c *Control) give(ctx context.Context, start time.Time, version uint64, command *controlv1.Command) (Result, error) {
	id, err := c.store.Command(ctx, command)
	if err != nil {
		return Result{}, err
	}
	confirmations, err := c.await(ctx, id)
	if err != nil {
		return Result{}, err
	}
	result := Result{Version: version, Regions: regions(confirmations), Took: time.Since(start)}
	kind := label(command.GetKind())
	c.given.WithLabelValues(kind).Inc()
	c.unconfirmed.WithLabelValues(kind).Add(float64(result.Live() - result.Done()))
	c.took.WithLabelValues(kind).Observe(result.Took.Seconds())
	for _, k := range confirmations {
		if !k.MemoryDone {
			c.log.WarnContext(ctx, "an edge did not confirm", "edge", k.Edge.Name, "region", k.Edge.Region, "instance", k.Edge.Instance, "kind", kind, "command", id, "answered", k.Answered)
		}
	}
	return result, nil
}

// await returns what the edges have said once all have, or when it has waited long
// enough. What was stored goes on its way even if the caller does not wait.
func (c *Control) await(ctx context.Context, id int64) ([]postgres.Confirmation, error) {
	enough := time.NewTimer(patience)
	defer enough.Stop()
	look := time.NewTicker(lookAgain)
	defer look.Stop()
	for last := false; ; {
		news := c.confirmations.heard()
		confirmations, err := c.store.Confirmations(ctx, id)
		if err != nil {
			return nil, fmt.Errorf("reading the edges' confirmations: %w", err)
		}
		waiting := slices.ContainsFunc(confirmations, func(k postgres.Confirmation) bool { return !k.Answered })
		if !waiting || last {
			return confirmations, nil
		}
		select {
		case <-news:
		case <-look.C:
		case <-enough.C:
			last = true
		case <-ctx.Done():
			return nil, errors.Join(link.ErrUnavailable, ctx.Err())
		}
	}
}

// regions sums up what edges, ordered by region, have said.
func regions(confirmations []postgres.Confirmation) []Region {
	out := []Region{}
	for _, k := range confirmations {
		if len(out) == 0 || out[len(out)-1].Name != k.Edge.Region {
			out = append(out, Region{Name: k.Edge.Region, Redis: RedisUnconfirmed})
		}
		r := &out[len(out)-1]
		r.Live++
		if k.MemoryDone {
			r.Done++
		}
		switch {
		case k.RedisDone:
			r.Redis = RedisDone
		case k.Answered && r.Redis == RedisUnconfirmed:
			r.Redis = RedisUnreachable
		}
		r.Took = max(r.Took, k.Took)
	}
	return out
}
