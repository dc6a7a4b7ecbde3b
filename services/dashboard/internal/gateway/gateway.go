// Package gateway forwards the public API to the service that answers it.
//
// It promises that a request arrives as it was sent, with one request id for the
// whole way, and that a service which is away gives a problem, not a blank page.
// It refuses bodies over MaxBodyBytes, or MaxUploadBytes where files are taken, and to pass cookies on.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"

	"github.com/linkstream/linkstream/services/internal/httpapi"
)

// MaxBodyBytes fits the largest call, 1,000 links at once with destinations of
// 8,000 bytes each.
const MaxBodyBytes = 16 << 20

// MaxUploadBytes fits the largest file of links, 100 MiB, and the form around it. It may
// take uploadTimeout to arrive.
const (
	MaxUploadBytes = 101 << 20
	uploadTimeout  = 10 * time.Minute
)

// Limits towards the services. Only the wait for the first byte is limited:
// exports and event streams go on for as long as they go on.
const (
	dialTimeout   = 2 * time.Second
	headerTimeout = 30 * time.Second
	idleTimeout   = 90 * time.Second
	idlePerHost   = 64
)

const requestID = "X-Request-Id"

// Gateway forwards to one service.
type Gateway struct {
	name   string
	target *url.URL
	log    *slog.Logger
	proxy  httputil.ReverseProxy
}

// New returns a gateway to the service at target, for instance
// http://127.0.0.1:8010, named in log lines as name.
func New(name string, target *url.URL, log *slog.Logger) *Gateway {
	g := &Gateway{name: name, target: target, log: log}
	g.proxy = httputil.ReverseProxy{
		Transport:      newTransport(),
		Rewrite:        g.rewrite,
		ModifyResponse: dropDoubles,
		ErrorHandler:   g.refuse,
		ErrorLog:       slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	return g
}

// ServeHTTP implements http.Handler.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.forward(w, r, MaxBodyBytes)
}

// Uploads forwards files, too: bodies of up to MaxUploadBytes that come slowly.
func (g *Gateway) Uploads() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(uploadTimeout)) // the server's own limit is behind it
		}
		g.forward(w, r, MaxUploadBytes)
	})
}

func (g *Gateway) forward(w http.ResponseWriter, r *http.Request, limit int64) {
	if r.ContentLength > limit {
		httpapi.Write(r.Context(), w, tooLarge(limit))
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, limit)
	g.proxy.ServeHTTP(w, r)
}

func (g *Gateway) rewrite(r *httputil.ProxyRequest) {
	r.SetURL(g.target)
	r.SetXForwarded()
	// As it came: the proxy would drop what it cannot read, and a filter with it.
	r.Out.URL.RawQuery = r.In.URL.RawQuery
	r.Out.Header.Set(requestID, httpapi.RequestID(r.In.Context()))
	r.Out.Header.Del("Cookie")
}

// dropDoubles removes what the middleware in front has set already: a second
// value would be one too many.
func dropDoubles(answer *http.Response) error {
	answer.Header.Del(requestID)
	answer.Header.Del("X-Content-Type-Options")
	return nil
}

func newTransport() *http.Transport {
	return &http.Transport{
		// No Proxy: the services are on private addresses.
		DialContext:           (&net.Dialer{Timeout: dialTimeout}).DialContext,
		ResponseHeaderTimeout: headerTimeout,
		IdleConnTimeout:       idleTimeout,
		MaxIdleConnsPerHost:   idlePerHost,
		DisableCompression:    true, // what the service sent is passed on as it is
	}
}

// refuse tells what kept a request from being answered: the caller, the way to
// the service, or the service.
func (g *Gateway) refuse(w http.ResponseWriter, r *http.Request, err error) {
	ctx := r.Context()
	var large *http.MaxBytesError
	var network *net.OpError
	var timeout net.Error
	problem := httpapi.NewProblem(http.StatusBadGateway, "bad_gateway", "The service behind this address broke off its answer.")
	switch {
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return // the caller hung up; there is nobody to answer and nothing to log
	case errors.As(err, &large):
		httpapi.Write(ctx, w, tooLarge(large.Limit))
		return
	case errors.As(err, &network) && network.Op == "dial", errors.As(err, &timeout) && timeout.Timeout():
		w.Header().Set("Retry-After", "1")
		problem = httpapi.NewProblem(http.StatusServiceUnavailable, "unavailable", "The service behind this address cannot be reached right now. Try again in a moment.")
	}
	g.log.ErrorContext(ctx, "request not forwarded", "to", g.name, "request_id", httpapi.RequestID(ctx), "err", err)
	httpapi.Write(ctx, w, problem)
}

func tooLarge(limit int64) *httpapi.Problem {
	return httpapi.NewProblem(http.StatusRequestEntityTooLarge, "body_too_large", fmt.Sprintf("The body is larger than %d MiB.", limit>>20))
}
