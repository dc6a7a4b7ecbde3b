//go:build !linux

package load

import (
	"context"

	"github.com/linkstream/linkstream/loadtest/internal/cpu"
)

// Run sends the load.
func (Fleet) Run(context.Context) (*Course, error) { return nil, cpu.ErrNotLinux }
