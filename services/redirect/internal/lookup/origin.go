package lookup

import (
	"context"
	"errors"
	"net/http"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"

	"github.com/linkstream/linkstream/events/eventspb"
	"github.com/linkstream/linkstream/services/internal/rpc/originv1"
	"github.com/linkstream/linkstream/services/internal/rpc/originv1/originv1connect"
)

// originTimeout bounds one question. Postgres answers in a few milliseconds; the
// visitor is better off with a 503 than with a page that loads for seconds.
const originTimeout = time.Second

// OriginClient asks the links service, over connections that it keeps.
type OriginClient struct {
	rpc  originv1connect.OriginServiceClient
	http *http.Client
}

// NewOriginClient asks the RPC listener at baseURL, for instance
// http://127.0.0.1:8011.
func NewOriginClient(baseURL string) *OriginClient {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil // a private address: no proxy stands between
	transport.MaxIdleConnsPerHost = originInFlight
	transport.MaxConnsPerHost = originInFlight
	client := &http.Client{Transport: transport, Timeout: originTimeout}
	return &OriginClient{
		rpc:  originv1connect.NewOriginServiceClient(connect.NewClient(connecthttp.NewTransport(client, baseURL))),
		http: client,
	}
}

// Resolve returns the link at an address, nil when there is none.
func (o *OriginClient) Resolve(ctx context.Context, host, slugKey string) (*eventspb.LinkChanged, error) {
	ctx, cancel := context.WithTimeout(ctx, originTimeout)
	defer cancel()
	answer, err := o.rpc.Resolve(ctx, &originv1.ResolveRequest{Host: host, SlugKey: slugKey})
	if err != nil {
		var e *connect.Error
		if errors.As(err, &e) && (e.Code() == connect.CodeNotFound || e.Code() == connect.CodeInvalidArgument) {
			return nil, nil //nolint:nilnil // no link is an answer: what is no address can have none
		}
		return nil, err
	}
	return answer.GetLink(), nil
}

// Close closes the connections that are not in use.
func (o *OriginClient) Close() { o.http.CloseIdleConnections() }
