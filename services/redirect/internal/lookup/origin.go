package lookup

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"

	"github.com/linkstream/linkstream/events/eventspb"
	"github.com/linkstream/linkstream/services/internal/rpc/originv1"
	"github.com/linkstream/linkstream/services/internal/rpc/originv1/originv1connect"
	"github.com/linkstream/linkstream/services/internal/trace"
)

// originTimeout bounds one question. Postgres answers in a few milliseconds; the
// visitor is better off with a 503 than with a page that loads for seconds.
const originTimeout = time.Second

// verifyTimeout bounds a comparison of a password, which takes the origin a tenth of a
// second and its turn: a few at a time are compared.
const verifyTimeout = 5 * time.Second

// OriginClient asks the links service, over connections that it keeps.
type OriginClient struct {
	rpc  originv1connect.OriginServiceClient
	slow originv1connect.OriginServiceClient // for what takes the origin a while
	http *http.Client
}

// NewOriginClient asks the RPC listener at baseURL, for instance
// http://127.0.0.1:8011.
func NewOriginClient(baseURL string) *OriginClient {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil // a private address: no proxy stands between
	transport.MaxIdleConnsPerHost = originInFlight
	transport.MaxConnsPerHost = originInFlight
	carrying := trace.Carrying(transport)
	client := &http.Client{Transport: carrying, Timeout: originTimeout}
	patient := &http.Client{Transport: carrying, Timeout: verifyTimeout}
	return &OriginClient{
		rpc:  originv1connect.NewOriginServiceClient(connect.NewClient(connecthttp.NewTransport(client, baseURL))),
		slow: originv1connect.NewOriginServiceClient(connect.NewClient(connecthttp.NewTransport(patient, baseURL))),
		http: client,
	}
}

// ErrNotCompared says that the origin has not compared a password: it could not, or the
// link has none any more.
var ErrNotCompared = errors.New("the password was not compared")

// VerifyPassword has a password compared with that of a link, and returns the key that
// signs its cookies when it is the right one.
func (o *OriginClient) VerifyPassword(ctx context.Context, link [16]byte, password string) (key []byte, correct bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, verifyTimeout)
	defer cancel()
	answer, err := o.slow.VerifyPassword(ctx, &originv1.VerifyPasswordRequest{LinkId: link[:], Password: password})
	if err != nil {
		if e, ok := errors.AsType[*connect.Error](err); ok {
			switch e.Code() {
			case connect.CodeUnavailable, connect.CodeResourceExhausted, connect.CodeNotFound, connect.CodeUnimplemented:
				return nil, false, fmt.Errorf("%w: %w", ErrNotCompared, err)
			default:
			}
		}
		return nil, false, err
	}
	return answer.GetUnlockKey(), answer.GetCorrect(), nil
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
