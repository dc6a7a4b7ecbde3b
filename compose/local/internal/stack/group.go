package stack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/linkstream/linkstream/compose/local/internal/console"
	"github.com/linkstream/linkstream/compose/local/internal/plan"
	"github.com/linkstream/linkstream/compose/local/internal/readiness"
	"github.com/linkstream/linkstream/compose/local/internal/supervise"
)

const (
	readyPoll    = 50 * time.Millisecond
	readyAttempt = 2 * time.Second  // for one answer
	readySlow    = 5 * time.Second  // after this long, and as often, the watcher is told what is missing
	readyLimit   = 90 * time.Second // first starts on two busy cores took up to 10 s
	// A process that was started this often (it takes about 3 s) before it became ready will not become so: what it
	// logged is the answer.
	maxStarts = 8
)

// group is the running processes of a stack.
type group struct {
	console *console.Console
	members []*member
}

type member struct {
	process *supervise.Process
	tier    plan.Tier
	probe   readiness.Probe
	port    int // for the watcher; 0: none to speak of
	cancel  context.CancelFunc
	stopped chan struct{}
	err     error // of Run; to be read after stopped
}

// start runs a process until the group stops it: not when ctx ends, since the order of the stop matters.
func (g *group) start(ctx context.Context, m *member) {
	ctx, m.cancel = context.WithCancel(context.WithoutCancel(ctx))
	m.stopped = make(chan struct{})
	go func() {
		defer close(m.stopped)
		m.err = m.process.Run(ctx)
	}()
	g.members = append(g.members, m)
}

// waitReady waits until all the members are ready. The first that cannot become so is the error.
func (g *group) waitReady(ctx context.Context, members []*member) error {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	failures := make(chan error, len(members))
	var waiting sync.WaitGroup
	for _, m := range members {
		waiting.Go(func() {
			if err := g.waitOne(ctx, m); err != nil {
				failures <- err
				cancel() // the others are of no use without it
			}
		})
	}
	waiting.Wait()
	close(failures)
	return <-failures
}

func (g *group) waitOne(ctx context.Context, m *member) error {
	name := m.process.Name()
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	started := time.Now()
	tell := started.Add(readySlow)
	var missing error
	for {
		attempt, cancel := context.WithTimeout(ctx, readyAttempt)
		err := m.probe(attempt)
		cancel()
		if err == nil {
			g.announce(m, started)
			return nil
		}
		if ctx.Err() == nil {
			missing = err
		}
		if time.Now().After(tell) {
			g.console.Step("still waiting for %s: %v", name, missing)
			tell = time.Now().Add(readySlow)
		}
		if m.process.Starts() >= maxStarts {
			return fmt.Errorf("%s keeps ending instead of becoming ready. The end of %s:\n%s",
				name, m.process.LogPath(), tail(m.process.LogPath(), 12))
		}
		select {
		case <-tick.C:
		case <-m.stopped:
			return errors.Join(m.err, ctx.Err())
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return ctx.Err()
			}
			return fmt.Errorf("%s is not ready after %s: %w. The end of %s:\n%s",
				name, readyLimit, missing, m.process.LogPath(), tail(m.process.LogPath(), 12))
		}
	}
}

func (g *group) announce(m *member, started time.Time) {
	took := time.Since(started).Round(10 * time.Millisecond)
	if m.port == 0 {
		g.console.Step("%s is ready (%s)", m.process.Name(), took)
		return
	}
	g.console.Step("%s is ready on port %d (%s)", m.process.Name(), m.port, took)
}

// stop ends all processes, the highest tier first, and waits for them. When force is closed those that are still
// there are killed.
func (g *group) stop(force <-chan struct{}) {
	done := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-done:
			return
		case <-force:
		}
		// Again and again: a process that was just being started is not there to be killed yet.
		tick := time.NewTicker(readyPoll)
		defer tick.Stop()
		for {
			for _, m := range g.members {
				m.process.Kill()
			}
			select {
			case <-done:
				return
			case <-tick.C:
			}
		}
	})
	defer watch.Wait()
	defer close(done)

	tiers := map[plan.Tier][]*member{}
	var order []plan.Tier
	for _, m := range g.members {
		if tiers[m.tier] == nil {
			order = append(order, m.tier)
		}
		tiers[m.tier] = append(tiers[m.tier], m)
	}
	slices.Sort(order)
	for _, tier := range slices.Backward(order) {
		for _, m := range tiers[tier] {
			m.cancel()
		}
		for _, m := range tiers[tier] {
			<-m.stopped
		}
	}
}
