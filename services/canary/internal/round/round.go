// Package round uses the system as a customer and a visitor would, again and again, and
// measures what they would feel.
//
// A round makes a link, visits it at every edge, edits it, waits until every edge leads to
// the new target, waits until analytics has counted exactly the visits that were answered,
// and deletes it, waiting until every edge knows it no more.
//
// It promises that every step ends within its limit, that a step which does not do what
// the system promises is counted under its name, and that no link of it stays: what a
// killed canary left is removed later. It refuses to run two rounds at once: a slow system
// is asked less often, not more.
package round

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/linkstream/linkstream/services/canary/internal/customer"
)

// Tag is on every link of the canary: by it leftovers are found.
const Tag = "linkstream-canary"

const (
	// callLimit bounds one call of the API, or one visit.
	callLimit = 5 * time.Second
	// pollEvery is how finely the way of an edit is measured. Each look is a HEAD at an edge.
	pollEvery = 5 * time.Millisecond
	// countEvery is the same for counting, where an answer costs ClickHouse a query.
	countEvery = 100 * time.Millisecond
	// lingers is how long an edge is watched after it led to the new target: an edge that
	// goes back to an old one breaks a promise.
	lingers = 250 * time.Millisecond
	// leftoverAge is older than any round can be.
	leftoverAge = 10 * time.Minute
	// sweepEvery is how often leftovers are looked for.
	sweepEvery = 5 * time.Minute
)

// Settings of the canary.
type Settings struct {
	Domain     string
	Every      time.Duration // from the start of a round to that of the next
	LiveLimit  time.Duration // for an edit or a removal to arrive at an edge
	CountLimit time.Duration // for a visit to be counted
}

// Canary makes rounds.
type Canary struct {
	settings Settings
	customer *customer.Customer
	visitors []*customer.Visitor
	metrics  *metrics
	log      *slog.Logger
}

// New returns a canary of the visitors' edges.
func New(settings Settings, c *customer.Customer, visitors []*customer.Visitor, registry prometheus.Registerer, log *slog.Logger) *Canary {
	names := make([]string, len(visitors))
	for i, v := range visitors {
		names[i] = v.Name()
	}
	return &Canary{settings: settings, customer: c, visitors: visitors, metrics: newMetrics(registry, names), log: log}
}

// Run makes rounds until ctx is done. The link of the round that is under way is removed
// before it returns.
func (c *Canary) Run(ctx context.Context) error {
	tick := time.NewTicker(c.settings.Every)
	defer tick.Stop()
	var swept time.Time
	for {
		if time.Since(swept) > sweepEvery {
			c.sweep(ctx)
			swept = time.Now()
		}
		c.round(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// failure is a step that did not do what it promises.
type failure struct {
	step Step
	err  error
}

func (f failure) Error() string { return string(f.step) + ": " + f.err.Error() }
func (f failure) Unwrap() error { return f.err }

func (c *Canary) round(ctx context.Context) {
	err := c.Once(ctx)
	if ctx.Err() != nil {
		return // told to stop in the middle: that says nothing about the system
	}
	if err == nil {
		c.metrics.rounds.WithLabelValues("ok").Inc()
		c.metrics.last.SetToCurrentTime()
		return
	}
	c.metrics.rounds.WithLabelValues("failed").Inc()
	for _, f := range failures(err) {
		c.metrics.failures.WithLabelValues(string(f.step)).Inc()
		c.log.WarnContext(ctx, "a step failed", "step", string(f.step), "err", f.err)
	}
}

// failures takes joined errors apart. What is no failure of a step does not occur.
func failures(err error) []failure {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var out []failure
		for _, e := range joined.Unwrap() {
			out = append(out, failures(e)...)
		}
		return out
	}
	if one, ok := errors.AsType[failure](err); ok {
		return []failure{one}
	}
	return nil
}

// Once makes one round. The error joins what every step that failed has to say.
func (c *Canary) Once(ctx context.Context) (err error) {
	begun := time.Now()
	first := "https://example.com/linkstream-canary/" + strconv.FormatInt(begun.UnixNano(), 36)
	var link customer.Link
	if err := c.api(ctx, Create, func(ctx context.Context) (err error) {
		link, err = c.customer.Create(ctx, c.settings.Domain, first, Tag)
		return err
	}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.remove(ctx, link)) }()

	visits, followErr := c.follow(ctx, link.Slug, first)
	last := time.Now()
	second := first + "/edited"
	editErr := c.api(ctx, Edit, func(ctx context.Context) error { return c.customer.Edit(ctx, link.ID, second) })
	if editErr == nil {
		edited := time.Now()
		editErr = c.everywhere(func(v *customer.Visitor) error { return c.live(ctx, v, link.Slug, first, second, edited) })
	}
	return errors.Join(followErr, editErr, c.counted(ctx, link.ID, visits, begun, last))
}

// api makes one call and measures it.
func (c *Canary) api(ctx context.Context, step Step, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	begun := time.Now()
	if err := call(ctx); err != nil {
		return failure{step, err}
	}
	c.metrics.took(c.metrics.api.WithLabelValues(string(step)), begun)
	return nil
}

// everywhere does something at all edges at once.
func (c *Canary) everywhere(do func(*customer.Visitor) error) error {
	errs := make([]error, len(c.visitors))
	var all sync.WaitGroup
	for i, v := range c.visitors {
		all.Go(func() { errs[i] = do(v) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// follow visits the link twice at every edge: the first visit is a miss. It returns how
// many visits were answered with a redirect, which is how many have to be counted.
func (c *Canary) follow(ctx context.Context, slug, want string) (int64, error) {
	var visits int64
	var mu sync.Mutex
	err := c.everywhere(func(v *customer.Visitor) error {
		for range 2 {
			ctx, cancel := context.WithTimeout(ctx, callLimit)
			begun := time.Now()
			location, err := v.Follow(ctx, slug)
			cancel()
			if err != nil {
				return failure{Follow, fmt.Errorf("%s: %w", v.Name(), err)}
			}
			c.metrics.took(c.metrics.follow.WithLabelValues(v.Name()), begun)
			mu.Lock()
			visits++
			mu.Unlock()
			if location != want {
				return failure{Follow, fmt.Errorf("%s: %w", v.Name(), errTarget)}
			}
		}
		return nil
	})
	return visits, err
}

var (
	errTarget = errors.New("it leads elsewhere")
	errBack   = errors.New("it went back to the old target")
	errLate   = errors.New("not within the limit")
	errOver   = errors.New("more was counted than visited")
)
