// Package far makes places that are far away: network namespaces of this machine,
// each with one link to the rest of it on which packets take a while.
//
// The link is a pair of veth with netem where the kernel has netem; else it is a pair
// of tun devices, and this process holds every packet for as long as netem would. A
// place needs Linux and root, and refuses to be made without them: Check says what is
// missing and how to get it. Nothing of a place is left when it is closed, or when
// this process ends in whatever way.
package far

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

// Means is how a link is made slow.
type Means string

// The means, the better first.
const (
	Netem Means = "veth with netem"
	Tun   Means = "tun, with the delay made by this process"
)

// ErrMissing says that this machine cannot have places.
var ErrMissing = errors.New("this machine cannot have regions with latency")

// Place is one place.
type Place struct {
	// Gateway is the address of the rest of the machine as seen from the place.
	Gateway string
	// RoundTrip is how long a packet takes there and back.
	RoundTrip time.Duration

	number int
	ns     int // file
	close  []func() error
}

// Dial makes a connection from the place.
func (p *Place) Dial(ctx context.Context, network, addr string) (conn net.Conn, err error) {
	err = p.Do(func() error {
		var dialer net.Dialer
		conn, err = dialer.DialContext(ctx, network, addr)
		return err
	})
	return conn, err
}

// Listen listens in the place.
func (p *Place) Listen(ctx context.Context, addr string) (l net.Listener, err error) {
	err = p.Do(func() error {
		var lc net.ListenConfig
		l, err = lc.Listen(ctx, "tcp", addr)
		return err
	})
	return l, err
}

// Close ends the link. The place itself ends with the last process in it.
func (p *Place) Close() error {
	var errs []error
	for _, end := range p.close {
		errs = append(errs, end())
	}
	p.close = nil
	return errors.Join(errs...)
}

// subnet is that of the link of the place number n: home is this machine's end.
func subnet(n int) (home, away string) {
	return fmt.Sprintf("10.203.%d.1", n), fmt.Sprintf("10.203.%d.2", n)
}
