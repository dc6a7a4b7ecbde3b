//go:build !linux

package load

import (
	"time"

	"github.com/linkstream/linkstream/loadtest/internal/cpu"
)

func read(int, []byte) (int, error) { return 0, cpu.ErrNotLinux }

func write(int, []byte) (int, error) { return 0, cpu.ErrNotLinux }

type poller struct{}

func newPoller([]*blocking) (*poller, error) { return nil, cpu.ErrNotLinux }

func (*poller) wait(time.Duration, func(conn int) error) error { return cpu.ErrNotLinux }

func (*poller) close() {}
