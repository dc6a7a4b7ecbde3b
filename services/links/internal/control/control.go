// Package control is how links reaches every edge when a link has to be gone or has to
// be there: purges and pre-warms; and how edges learn what domains there are.
//
// It promises that a command given in one process reaches the edges that are connected
// to any other, that whoever gave it is told which of the live edges have done it, and
// that an edge which was cut off is told of the purges it missed before it is counted
// as reached. It needs Postgres and the edges, and nothing else: no broker, no
// cacheupdater, no Redis, because a take-down has to work when those do not.
//
// It refuses to wait for ever: an edge that is silent costs a command two seconds, and
// is named in the log.
package control

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/linkstream/linkstream/services/internal/rpc/controlv1"
	"github.com/linkstream/linkstream/services/links/internal/postgres"
)

const (
	// patience is how long a command waits for the edges. An edge gives Redis one
	// second; the rest is for the way there and back on a busy machine.
	patience = 2 * time.Second
	// lookAgain is the net under the database's notifications.
	lookAgain = 250 * time.Millisecond
	// pollFor is how long an edge's poll is held when there is nothing to say. The
	// edge takes a poll that is not answered in a few times that for a dead process.
	pollFor = time.Second
	// retryAfter is the pause after the connection that listens broke.
	retryAfter = 500 * time.Millisecond
	tidyEvery  = 10 * time.Minute
)

// Control gives commands to edges and takes their confirmations. It is safe for
// concurrent use.
type Control struct {
	store *postgres.Store
	log   *slog.Logger

	commands, confirmations bell

	given, unconfirmed *prometheus.CounterVec
	took               *prometheus.HistogramVec
}

// New returns a Control over the store that all processes of the service share.
func New(store *postgres.Store, registry prometheus.Registerer, log *slog.Logger) *Control {
	labels := []string{"kind"}
	c := &Control{
		store: store, log: log,
		given:       prometheus.NewCounterVec(prometheus.CounterOpts{Name: "edge_commands_total", Help: "Purges and pre-warms that were given to the edges."}, labels),
		unconfirmed: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "edge_commands_unconfirmed_total", Help: "Live edges that did not confirm a command in time, or could not do it."}, labels),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "edge_command_duration_seconds", Help: "How long commands took until the last edge confirmed, or until nobody waited any more.",
			Buckets: []float64{.0025, .005, .01, .025, .05, .1, .25, .5, 1, 2, 4},
		}, labels),
	}
	for _, kind := range []controlv1.Command_Kind{controlv1.Command_KIND_PURGE, controlv1.Command_KIND_PREWARM} {
		c.given.WithLabelValues(label(kind))
		c.unconfirmed.WithLabelValues(label(kind))
		c.took.WithLabelValues(label(kind))
	}
	registry.MustRegister(c.given, c.unconfirmed, c.took)
	return c
}

// Run listens for what other processes have stored, and tidies up, until ctx is done.
// While the database cannot be listened to, polls and commands look for themselves.
func (c *Control) Run(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { c.tidy(ctx) })
	for {
		err := c.store.Listen(ctx, c.ring)
		if ctx.Err() != nil {
			return nil
		}
		c.log.WarnContext(ctx, "listening for edges' news starts again", "err", err)
		if !wait(ctx, retryAfter) {
			return nil
		}
	}
}

func (c *Control) ring(channel string) {
	switch channel {
	case postgres.ChannelCommands, postgres.ChannelDomains:
		c.commands.ring() // it ends polls
	case postgres.ChannelConfirmations:
		c.confirmations.ring()
	}
}

func (c *Control) tidy(ctx context.Context) {
	for wait(ctx, tidyEvery) {
		if err := c.store.Tidy(ctx); err != nil && ctx.Err() == nil {
			c.log.WarnContext(ctx, "old commands are still there", "err", err)
		}
	}
}

// wait says false when ctx ended first.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// bell wakes everybody who waits. It says only that there is news.
type bell struct {
	mu   sync.Mutex
	next chan struct{}
}

// heard returns a channel that is closed at the next ring. Take it before looking, so
// that no ring falls in between.
func (b *bell) heard() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == nil {
		b.next = make(chan struct{})
	}
	return b.next
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next != nil {
		close(b.next)
		b.next = nil
	}
}

// label is a command's kind in metrics and logs.
func label(kind controlv1.Command_Kind) string {
	if kind == controlv1.Command_KIND_PREWARM {
		return "prewarm"
	}
	return "purge"
}
