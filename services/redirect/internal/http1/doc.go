// Package http1 is the edge's HTTP/1.1 server: requests without a body to speak of,
// short answers, many connections.
//
// On Linux an event loop per processor takes whatever its connections have sent,
// answers all of it, lets the handler keep its records, and then writes the answers:
// one read and one write for a request and nothing for an idle connection but its
// descriptor and some 200 bytes. A request that cannot be answered at once leaves the
// loop and comes back when its answer is there. Elsewhere each connection has a
// goroutine. adr/0006 has the measurements that led here.
//
// It promises that requests on a connection are answered in order, that what is no
// well-formed HTTP/1.1 is refused and its connection closed (so that it and a proxy
// before it can never disagree where a request ends), that no visitor holds more than
// one head and one body in memory, and that a slow or silent one is let go in time.
//
// It refuses what an edge does not need: bodies in chunks are not read, upgrades,
// trailers and HTTP/2 are not spoken. TLS ends before it.
package http1

import (
	"context"
)

// Limits of one connection. A slow visitor holds a connection, not the edge.
const (
	// maxHead is how long a request's head may be: browsers send the cookies of the
	// whole domain along.
	maxHead = 16 << 10
	// maxBody is how long a body may be that is read. Forms are short.
	maxBody = 64 << 10
)

// Handler answers requests.
type Handler interface {
	// Worker returns what requests are answered with by one goroutine at a time.
	Worker() Worker
}

// Worker answers requests, one at a time. Nothing of a request may be kept.
type Worker interface {
	// Answer answers at once, or has done nothing and says false. ctx lives as long as
	// the server, here and in Wait, and longer than the request.
	Answer(ctx context.Context, req *Request, res *Response) bool
	// Wait answers a request for which Answer has said false. It may wait for
	// others, until ctx is done at the latest.
	Wait(ctx context.Context, req *Request, res *Response)
	// Refuse answers what is no request, with a status from 400.
	Refuse(status int, res *Response)
	// Flush is called when requests have been answered, before any of the answers
	// leaves the process.
	Flush()
}
