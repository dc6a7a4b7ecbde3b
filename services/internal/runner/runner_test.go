package runner_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/linkstream/linkstream/services/internal/runner"
)

type order struct {
	mu     sync.Mutex
	events []string
}

func (o *order) add(event string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.events = append(o.events, event)
}

// slow ends a second after it was told to, so that an overlap would show.
func (o *order) slow(name string) runner.Task {
	return runner.Task{Name: name, Run: func(ctx context.Context) error {
		<-ctx.Done()
		o.add(name + " stopping")
		time.Sleep(time.Second) //nolint:forbidigo // virtual time: called in a synctest bubble only
		o.add(name + " stopped")
		return nil
	}}
}

func TestTasksStopFromLastToFirstOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o order
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := runner.Run(ctx, o.slow("clicks"), o.slow("server")); err != nil {
			t.Errorf("got %v", err)
		}
		want := []string{"server stopping", "server stopped", "clicks stopping", "clicks stopped"}
		if !slices.Equal(o.events, want) {
			t.Errorf("got %v, want %v", o.events, want)
		}
	})
}

func TestTheFirstTaskThatFailsStopsTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o order
		broken := errors.New("broken")
		err := runner.Run(t.Context(), o.slow("clicks"), runner.Task{Name: "server", Run: func(context.Context) error { return broken }})
		if !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "server: ") {
			t.Errorf("got %v", err)
		}
		if want := []string{"clicks stopping", "clicks stopped"}; !slices.Equal(o.events, want) {
			t.Errorf("got %v, want %v", o.events, want)
		}
	})
}

func TestATaskThatEndsByItselfIsAFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := runner.Run(t.Context(), runner.Task{Name: "relay", Run: func(context.Context) error { return nil }})
		if err == nil || !strings.Contains(err.Error(), "relay: ended by itself") {
			t.Errorf("got %v", err)
		}
	})
}
