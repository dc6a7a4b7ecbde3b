// Package origintest is the other side of the origin RPC, for tests: a server that
// speaks the real protocol and answers what a test has put in.
//
// It promises that a gate sees every question after its answer was decided, so a
// test can hold an answer back while the world moves on.
package origintest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"

	"github.com/linkstream/linkstream/events/eventspb"
	"github.com/linkstream/linkstream/services/internal/rpc/originv1"
	"github.com/linkstream/linkstream/services/internal/rpc/originv1/originv1connect"
)

// Server is an origin.
type Server struct {
	URL string

	http *httptest.Server

	mu        sync.Mutex
	passwords map[string]*password // by link id
	links     map[string]*eventspb.LinkChanged
	asked     int
	down      bool
	gate      func(slugKey string)
	callers   []string
}

// New starts a server. Close ends it.
func New() *Server {
	s := &Server{links: map[string]*eventspb.LinkChanged{}, passwords: map[string]*password{}}
	rpc := connect.NewServer()
	originv1connect.RegisterOriginServiceHandler(rpc, s)
	mux := http.NewServeMux()
	connecthttp.Mount(mux, rpc)
	s.http = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.callers = append(s.callers, r.Header.Get("traceparent"))
		s.mu.Unlock()
		mux.ServeHTTP(w, r)
	}))
	s.URL = s.http.URL
	return s
}

// Close ends the server: questions are refused from now on.
func (s *Server) Close() {
	s.http.CloseClientConnections()
	s.http.Close()
}

// Put makes the server answer with a link at its address.
func (s *Server) Put(link *eventspb.LinkChanged) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.links[link.GetAddress().GetHost()+"/"+link.GetAddress().GetSlugKey()] = link
}

// SetDown makes the server answer that its database is away.
func (s *Server) SetDown(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}

// SetGate has every answer pass through gate before it is sent; nil for none.
func (s *Server) SetGate(gate func(slugKey string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gate = gate
}

// Asked is how many questions have come.
func (s *Server) Asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// Callers are where in a trace those who asked were since the last call, empty for those
// in none.
func (s *Server) Callers() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	callers := s.callers
	s.callers = nil
	return callers
}

// Resolve implements originv1connect.OriginServiceHandler.
func (s *Server) Resolve(_ context.Context, req *originv1.ResolveRequest) (*originv1.ResolveResponse, error) {
	s.mu.Lock()
	s.asked++
	link, down, gate := s.links[req.GetHost()+"/"+req.GetSlugKey()], s.down, s.gate
	s.mu.Unlock()
	if gate != nil {
		gate(req.GetSlugKey())
	}
	if down {
		return nil, connect.NewError(connect.CodeUnavailable, "the database cannot be asked")
	}
	return &originv1.ResolveResponse{Link: link}, nil
}

// password is what a link is unlocked with.
type password struct {
	text    string
	key     []byte
	guesses int
}

// SetPassword has VerifyPassword know a link's password and its unlock key.
func (s *Server) SetPassword(linkID []byte, text string, unlockKey []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.passwords[string(linkID)] = &password{text: text, key: unlockKey}
}

// Guesses is how often a link's password was compared.
func (s *Server) Guesses(linkID []byte) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.passwords[string(linkID)]; p != nil {
		return p.guesses
	}
	return 0
}

// VerifyPassword implements originv1connect.OriginServiceHandler.
func (s *Server) VerifyPassword(_ context.Context, req *originv1.VerifyPasswordRequest) (*originv1.VerifyPasswordResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.passwords[string(req.GetLinkId())]
	switch {
	case s.down:
		return nil, connect.NewError(connect.CodeUnavailable, "the database cannot be asked")
	case p == nil:
		return nil, connect.NewError(connect.CodeNotFound, "the link has no password")
	}
	p.guesses++
	if p.text != req.GetPassword() {
		return &originv1.VerifyPasswordResponse{}, nil
	}
	return &originv1.VerifyPasswordResponse{Correct: true, UnlockKey: p.key}, nil
}
