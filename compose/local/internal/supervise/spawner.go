package supervise

import (
	"context"
	"errors"
	"os/exec"
	"runtime"
)

// Spawner starts all children from one operating system thread. Linux ends a child with its parent's *thread*
// (PDEATHSIG), so a child started from any goroutine's thread could be ended when the Go runtime retires that thread.
type Spawner struct {
	requests chan spawn
	stopped  chan struct{}
}

type spawn struct {
	cmd    *exec.Cmd
	result chan error
}

// NewSpawner returns a spawner; nothing starts before its Run.
func NewSpawner() *Spawner {
	return &Spawner{requests: make(chan spawn), stopped: make(chan struct{})}
}

var errSpawnerStopped = errors.New("no process is started any more")

// Run starts what it is asked to until ctx is cancelled, which must be after the last child has ended.
func (s *Spawner) Run(ctx context.Context) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(s.stopped)
	for {
		select {
		case <-ctx.Done():
			return nil
		case request := <-s.requests:
			request.result <- request.cmd.Start()
		}
	}
}

func (s *Spawner) start(cmd *exec.Cmd) error {
	request := spawn{cmd: cmd, result: make(chan error, 1)}
	select {
	case s.requests <- request:
		return <-request.result
	case <-s.stopped:
		return errSpawnerStopped
	}
}
