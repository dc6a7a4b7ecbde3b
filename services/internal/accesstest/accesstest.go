// Package accesstest is the access service of a test in which nobody logs in. It promises
// the answers that links gives to tokens that nobody has; it holds none.
package accesstest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"

	"github.com/linkstream/linkstream/services/internal/rpc/accessv1"
	"github.com/linkstream/linkstream/services/internal/rpc/accessv1/accessv1connect"
)

// Nobody starts a service that knows no token, and returns its address.
func Nobody(t *testing.T) string {
	t.Helper()
	rpc := connect.NewServer()
	accessv1connect.RegisterAccessServiceHandler(rpc, nobody{})
	mux := http.NewServeMux()
	connecthttp.Mount(mux, rpc)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

type nobody struct {
	accessv1connect.AccessServiceHandler
}

// Authenticate implements the service.
func (nobody) Authenticate(context.Context, *accessv1.AuthenticateRequest) (*accessv1.AuthenticateResponse, error) {
	return nil, connect.NewError(connect.CodeUnauthenticated, "no such token")
}
