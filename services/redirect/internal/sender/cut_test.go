package sender

import (
	"context"
	"io"
	"net"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kgo"
)

// scissors cut a client's connection at the answer that comes next.
type scissors struct{ next atomic.Bool }

func (s *scissors) cutNext() { s.next.Store(true) }

// dialer makes a client's connections ones that can be cut.
func (s *scissors) dialer() kgo.Opt {
	return kgo.Dialer(func(ctx context.Context, network, host string) (net.Conn, error) {
		var d net.Dialer
		conn, err := d.DialContext(ctx, network, host)
		return cutConn{conn, s}, err
	})
}

type cutConn struct {
	net.Conn

	scissors *scissors
}

func (c cutConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err == nil && c.scissors.next.CompareAndSwap(true, false) {
		_ = c.Close()
		return 0, io.ErrUnexpectedEOF
	}
	return n, err
}
