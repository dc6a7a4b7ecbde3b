package feed

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"github.com/google/uuid"

	"github.com/linkstream/linkstream/events/eventspb"
	"github.com/linkstream/linkstream/services/internal/rpc/originv1"
	"github.com/linkstream/linkstream/services/internal/rpc/originv1/originv1connect"
)

// originTimeout bounds one question: Postgres answers in a few milliseconds.
const originTimeout = 2 * time.Second

// Origin asks the links service what a link is now.
type Origin struct {
	rpc  originv1connect.OriginServiceClient
	http *http.Client
}

// NewOrigin asks the RPC listener at baseURL, for instance http://127.0.0.1:8011.
func NewOrigin(baseURL string) *Origin {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil // a private address: no proxy stands between
	client := &http.Client{Transport: transport, Timeout: originTimeout}
	return &Origin{rpc: originv1connect.NewOriginServiceClient(connect.NewClient(connecthttp.NewTransport(client, baseURL))), http: client}
}

// Find returns the link, if it still lives at the address, else nil.
func (o *Origin) Find(ctx context.Context, host, slugKey string, link uuid.UUID) (*eventspb.LinkChanged, error) {
	ctx, cancel := context.WithTimeout(ctx, originTimeout)
	defer cancel()
	answer, err := o.rpc.Resolve(ctx, &originv1.ResolveRequest{Host: host, SlugKey: slugKey})
	switch {
	case err != nil && (connect.CodeOf(err) == connect.CodeNotFound || connect.CodeOf(err) == connect.CodeInvalidArgument):
		return nil, nil //nolint:nilnil // no link is an answer
	case err != nil:
		return nil, fmt.Errorf("asking for a link: %w", err)
	case answer.GetLink() == nil || uuid.UUID(answer.GetLink().GetLinkId()) != link:
		return nil, nil //nolint:nilnil // likewise
	}
	return answer.GetLink(), nil
}

// Close closes the connections that are not in use.
func (o *Origin) Close() { o.http.CloseIdleConnections() }
