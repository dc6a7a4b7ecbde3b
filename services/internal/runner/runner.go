// Package runner starts and stops the living parts of a process in order.
//
// It promises that parts are started top to bottom and stopped bottom to top,
// each one finished before the next is told to stop, and that the first part
// that ends by itself takes the process down with its error. It refuses to
// restart anything: that is the job of whoever supervises the process.
package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Task is one living part. Run blocks until ctx is done or the part fails; when
// it has returned, no goroutine of it remains. After ctx is done it finishes
// what it holds, within a time limit of its own.
type Task struct {
	Name string
	Run  func(ctx context.Context) error
}

type running struct {
	name   string
	cancel context.CancelFunc
	done   chan error
}

// Run runs all tasks until ctx is done or one of them returns, then stops them
// from the last to the first. It returns nil when ctx ended and every task
// returned nil or the context's error.
func Run(ctx context.Context, tasks ...Task) error {
	var (
		started []running
		ended   = make(chan struct{}, len(tasks))
	)
	for _, task := range tasks {
		// The task's end is decided below, in order, not by ctx itself.
		taskCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		r := running{name: task.Name, cancel: cancel, done: make(chan error, 1)}
		started = append(started, r)
		go func() {
			err := task.Run(taskCtx)
			if taskCtx.Err() == nil && err == nil {
				err = errors.New("ended by itself")
			}
			r.done <- err
			ended <- struct{}{}
		}()
	}

	select {
	case <-ctx.Done():
	case <-ended:
	}

	var errs []error
	for _, r := range slices.Backward(started) {
		r.cancel()
		if err := <-r.done; err != nil && !errors.Is(err, context.Canceled) {
			errs = append(errs, fmt.Errorf("%s: %w", r.name, err))
		}
	}
	return errors.Join(errs...)
}
