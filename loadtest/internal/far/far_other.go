//go:build !linux

package far

import (
	"context"
	"fmt"
	"time"
)

// Check says whether this machine can have places, and how.
func Check(context.Context) (Means, error) {
	return "", fmt.Errorf("%w: it needs the network namespaces of Linux", ErrMissing)
}

// Open makes the place number n.
func Open(context.Context, Means, int, time.Duration) (*Place, error) { return nil, ErrMissing }

// Do runs f in the place.
func (*Place) Do(func() error) error { return ErrMissing }

// Enter takes the calling thread into the place.
func (*Place) Enter() (leave func() error, err error) { return nil, ErrMissing }
