package round

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/linkstream/linkstream/services/canary/internal/customer"
)

// live waits until the edge leads to the new target, and watches it a little longer.
func (c *Canary) live(ctx context.Context, v *customer.Visitor, slug, old, want string, edited time.Time) error {
	var arrived time.Time
	err := poll(ctx, c.settings.LiveLimit+lingers, pollEvery, func(ctx context.Context) (bool, error) {
		location, gone, err := v.Peek(ctx, slug)
		switch {
		case err != nil:
			return false, err
		case location == want && arrived.IsZero():
			arrived = time.Now()
			c.metrics.live.WithLabelValues(v.Name()).Observe(arrived.Sub(edited).Seconds())
			if arrived.Sub(edited) > c.settings.LiveLimit {
				return false, final{errLate}
			}
			return false, nil
		case location == want:
			return time.Since(arrived) > lingers, nil
		case !arrived.IsZero():
			return false, final{errBack}
		case gone || location != old:
			return false, final{errTarget}
		}
		return false, nil
	})
	if err != nil {
		return failure{Live, fmt.Errorf("%s: %w", v.Name(), err)}
	}
	return nil
}

// counted waits until analytics has all visits since begun. More than there were is worse
// than none.
func (c *Canary) counted(ctx context.Context, id string, visits int64, begun, last time.Time) error {
	if visits == 0 {
		return nil // that is another step's failure
	}
	err := poll(ctx, c.settings.CountLimit, countEvery, func(ctx context.Context) (bool, error) {
		n, err := c.customer.Clicks(ctx, id, begun.Add(-time.Minute), time.Now())
		switch {
		case err != nil:
			return false, err
		case n > visits:
			return false, final{errOver}
		}
		return n == visits, nil
	})
	if err != nil {
		return failure{Count, err}
	}
	c.metrics.took(c.metrics.counted, last)
	return nil
}

// remove deletes the link, also when the canary is told to stop, and waits until every
// edge knows it no more.
func (c *Canary) remove(ctx context.Context, link customer.Link) error {
	stopping := ctx.Err() != nil
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callLimit+c.settings.LiveLimit)
	defer cancel()
	if err := c.api(ctx, Delete, func(ctx context.Context) error { return c.customer.Delete(ctx, link.ID) }); err != nil || stopping {
		return err
	}
	removed := time.Now()
	return c.everywhere(func(v *customer.Visitor) error {
		err := poll(ctx, c.settings.LiveLimit, pollEvery, func(ctx context.Context) (bool, error) {
			_, gone, err := v.Peek(ctx, link.Slug)
			return gone, err
		})
		if err != nil {
			return failure{Gone, fmt.Errorf("%s: %w", v.Name(), err)}
		}
		c.metrics.took(c.metrics.gone.WithLabelValues(v.Name()), removed)
		return nil
	})
}

// sweep removes what a killed canary left. What cannot be removed now is removed later.
func (c *Canary) sweep(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*callLimit)
	defer cancel()
	links, err := c.customer.Leftovers(ctx, Tag, time.Now().Add(-leftoverAge))
	for _, link := range links {
		err = errors.Join(err, c.customer.Delete(ctx, link.ID))
	}
	if err != nil && ctx.Err() == nil {
		c.log.WarnContext(ctx, "leftovers stay for now", "err", err)
	}
}

// final is an error that asking again does not mend.
type final struct{ error }

func (f final) Unwrap() error { return f.error }

// poll asks until the answer is yes, an error is final, or the limit has passed, when it
// returns errLate and the last error.
func poll(ctx context.Context, limit, every time.Duration, ask func(context.Context) (bool, error)) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(every)
	defer tick.Stop()
	var last error
	for {
		done, err := ask(limited)
		if done {
			return nil
		}
		if f, ok := errors.AsType[final](err); ok {
			return f.error
		}
		if err != nil && limited.Err() == nil {
			last = err
		}
		select {
		case <-limited.Done():
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return errors.Join(errLate, last)
		case <-tick.C:
		}
	}
}
