package http1

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"time"
)

// portable serves with a goroutine for each connection: for systems without an event
// loop here, and as a second opinion in tests.
type portable struct {
	server   *Server
	lifetime context.Context //nolint:containedctx // it is the server's, and ends with it
	stopping chan struct{}

	mu    sync.Mutex
	conns map[net.Conn]bool // whether a request is under way
}

func (s *Server) runPortable(ctx, lifetime context.Context, end func()) error {
	p := &portable{server: s, lifetime: lifetime, stopping: make(chan struct{}), conns: map[net.Conn]bool{}}
	var running sync.WaitGroup
	stopped := make(chan error, 1)
	running.Go(func() {
		for {
			conn, err := s.listener.Accept()
			if err != nil {
				stopped <- err
				return
			}
			running.Go(func() { p.serve(conn) })
		}
	})
	select {
	case err := <-stopped:
		end()
		p.stop(true)
		running.Wait()
		return err
	case <-ctx.Done():
	}
	close(p.stopping)
	err := s.listener.Close()
	p.stop(false)
	drained := make(chan struct{})
	go func() { running.Wait(); close(drained) }()
	grace := time.NewTimer(s.Grace)
	defer grace.Stop()
	select {
	case <-drained:
		return err
	case <-grace.C:
		end()
		p.stop(false)
		<-drained
		return errors.Join(err, errCutOff)
	}
}

// stop closes the connections on which nothing is under way, or all.
func (p *portable) stop(all bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn, busy := range p.conns {
		if all || !busy {
			_ = conn.SetReadDeadline(time.Unix(1, 0))
		}
	}
}

func (p *portable) mark(conn net.Conn, busy bool) {
	p.mu.Lock()
	p.conns[conn] = busy
	p.mu.Unlock()
}

func (p *portable) stops() bool {
	select {
	case <-p.stopping:
		return true
	default:
		return false
	}
}

func (p *portable) serve(conn net.Conn) {
	p.mark(conn, false)
	defer func() {
		_ = conn.Close()
		p.mu.Lock()
		delete(p.conns, conn)
		p.mu.Unlock()
	}()
	var (
		date   clock
		req    Request
		res    Response
		worker = p.server.handler.Worker()
		room   = make([]byte, maxHead+maxBody)
		have   int
		begun  time.Time // when the first bytes of a request came that is not all there
	)
	if tcp, ok := conn.RemoteAddr().(*net.TCPAddr); ok {
		req.Peer = peerOf(tcp.AddrPort().Addr())
	}
	for !p.stops() {
		until := time.Now().Add(p.server.Waits.Idle)
		if have > 0 { // the whole of it, however many pieces it comes in
			until = begun.Add(p.server.Waits.Head)
		}
		_ = conn.SetReadDeadline(until)
		n, err := conn.Read(room[have:])
		now := time.Now()
		if err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) && have > 0 && !p.stops() {
				res.refuse(nil, date.at(now))
				worker.Refuse(http.StatusRequestTimeout, &res)
				worker.Flush()
				_ = conn.SetWriteDeadline(now.Add(p.server.Waits.Write))
				_, _ = conn.Write(res.buf)
			}
			return
		}
		p.mark(conn, true)
		if have == 0 {
			begun = now
		}
		have += n
		req.Time = now
		out, used, ends := p.answer(worker, &req, &res, room[:have], date.at(now))
		if have = copy(room, room[used:have]); used > 0 {
			begun = now
		}
		worker.Flush()
		if len(out) > 0 {
			_ = conn.SetWriteDeadline(now.Add(p.server.Waits.Write))
			if _, err := conn.Write(out); err != nil {
				return
			}
		}
		if ends {
			return
		}
		p.mark(conn, false)
	}
}

// answer answers the requests at the start of data.
func (p *portable) answer(worker Worker, req *Request, res *Response, data []byte, date string) (out []byte, used int, ends bool) {
	for used < len(data) && !ends {
		n, refusal := req.parse(data[used:])
		switch {
		case refusal != 0:
			res.refuse(out, date)
			worker.Refuse(refusal, res)
			return res.buf, len(data), true
		case n == 0:
			return out, used, false
		case len(data)-used < n+req.bodyLen:
			if req.expects && len(data)-used == n {
				out = append(out, continues...)
			}
			return out, used, false
		}
		req.Body = data[used+n : used+n+req.bodyLen]
		res.Begin(out, req, date)
		if p.stops() {
			res.Close()
		}
		if !worker.Answer(p.lifetime, req, res) {
			worker.Wait(p.lifetime, req, res)
		}
		out, ends = res.buf, res.ends
		used += n + req.bodyLen
	}
	return out, used, ends
}

const continues = "HTTP/1.1 100 Continue\r\n\r\n"

func peerOf(addr netip.Addr) netip.Addr { return addr.Unmap().WithZone("") }
