// Package deliver brings what is queued to the endpoints.
//
// It promises that a delivery is made at least once or is given up with a reason, that
// what one endpoint does holds up nobody else's deliveries, and that of one endpoint and
// link the next event is not sent before the one before it was taken or given up. What
// is being sent when the process dies is sent again by whoever comes next, when the
// claim ends. It refuses to follow redirects, and whatever package outbound refuses.
package deliver

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/linkstream/linkstream/services/webhooks/internal/postgres"
)

// Settings of a Deliverer.
type Settings struct {
	// Workers bounds the attempts at the same time, and PerEndpoint those to one endpoint.
	Workers, PerEndpoint int
	// Lease is how long a claim lasts. It is longer than any attempt with its writing.
	Lease time.Duration
	// Drain is how long attempts may take when the process is stopped.
	Drain time.Duration
	// Schedule says when to try again.
	Schedule Schedule
}

// DefaultSettings fit an attempt of ten seconds.
func DefaultSettings() Settings {
	return Settings{Workers: 64, PerEndpoint: 4, Lease: time.Minute, Drain: 10 * time.Second, Schedule: DefaultSchedule()}
}

const (
	// pollEvery finds retries that became due; what is queued anew wakes us.
	pollEvery = time.Second
	// retryAfter is the pause after the database failed.
	pauseAfterError = time.Second
	// writeTimeout bounds the writing of an outcome.
	writeTimeout = 5 * time.Second
)

// Deliverer sends deliveries.
type Deliverer struct {
	store    *postgres.Store
	client   *http.Client
	settings Settings
	metrics  *metrics
	log      *slog.Logger

	wake chan struct{}
	wg   sync.WaitGroup

	mu   sync.Mutex
	busy map[uuid.UUID]int // attempts under way, by endpoint
	free int               // workers
}

// New returns a Deliverer that sends through the client.
func New(store *postgres.Store, client *http.Client, s Settings, registry *prometheus.Registry, log *slog.Logger) *Deliverer {
	return &Deliverer{
		store: store, client: client, settings: s, metrics: newMetrics(registry), log: log,
		wake: make(chan struct{}, 1), busy: map[uuid.UUID]int{}, free: s.Workers,
	}
}

// Run sends until ctx is done, then finishes what it has begun, within the drain time.
func (d *Deliverer) Run(ctx context.Context) error {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer d.client.CloseIdleConnections()
	defer d.wg.Wait()
	stop := context.AfterFunc(ctx, func() {
		limit := time.AfterFunc(d.settings.Drain, cancel)
		context.AfterFunc(work, func() { limit.Stop() })
	})
	defer stop()
	d.wg.Go(func() { d.listen(ctx) })
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	for ctx.Err() == nil {
		more, err := d.claim(ctx, work)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			d.log.ErrorContext(ctx, "deliveries not claimed", "err", err)
			rest(ctx, pauseAfterError)
			continue
		case more:
			continue
		}
		select {
		case <-ctx.Done():
		case <-d.wake:
		case <-poll.C:
		}
	}
	return nil
}

// rest waits, or until ctx is done.
func rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

func (d *Deliverer) ring() {
	select {
	case d.wake <- struct{}{}:
	default: // it rings already
	}
}

func (d *Deliverer) listen(ctx context.Context) {
	for ctx.Err() == nil {
		if err := d.store.Listen(ctx, d.ring); err != nil && ctx.Err() == nil {
			d.log.WarnContext(ctx, "not woken by the database", "err", err)
			rest(ctx, pauseAfterError)
		}
	}
}

// claim takes what is due and there are workers for, and starts to send it. It says
// whether there may be more.
func (d *Deliverer) claim(ctx, work context.Context) (more bool, err error) {
	d.mu.Lock()
	free := d.free
	busy := maps.Clone(d.busy)
	d.mu.Unlock()
	if free == 0 {
		return false, nil // whoever ends rings
	}
	claimed, err := d.store.Claim(ctx, free, d.settings.PerEndpoint, busy, d.settings.Lease)
	if err != nil {
		return false, err
	}
	d.mu.Lock()
	for i := range claimed {
		d.busy[claimed[i].Endpoint]++
		d.free--
	}
	d.mu.Unlock()
	for i := range claimed {
		d.wg.Go(func() { d.attempt(work, &claimed[i]) })
	}
	return len(claimed) == free, nil
}

func (d *Deliverer) release(id uuid.UUID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.free++
	if d.busy[id]--; d.busy[id] == 0 {
		delete(d.busy, id)
	}
}

func (d *Deliverer) attempt(ctx context.Context, c *postgres.Delivery) {
	defer d.ring()
	defer d.release(c.Endpoint)
	a := send(ctx, d.client, c, time.Now())
	if ctx.Err() != nil && a.Status == 0 {
		return // stopped: the claim ends, and somebody tries again
	}
	result := d.settings.Schedule.judge(c, a, time.Now())
	writing, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	disabled, err := d.store.Finish(writing, c, result)
	d.metrics.observe(result)
	if err != nil {
		if !errors.Is(err, context.Canceled) {
			d.log.ErrorContext(ctx, "outcome not written", "endpoint", c.Endpoint, "delivery", c.ID, "err", err)
		}
		return
	}
	if disabled != "" {
		d.metrics.disabled(disabled)
		d.log.WarnContext(ctx, "endpoint disabled", "endpoint", c.Endpoint, "reason", string(disabled))
	}
}
