package control

import (
	"context"
	"errors"
	"time"

	"connectrpc.com/connect/v2"
	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/internal/rpc/controlv1"
	"github.com/linkstream/linkstream/services/internal/rpc/controlv1/controlv1connect"
	"github.com/linkstream/linkstream/services/links/internal/postgres"
)

const (
	// maxName bounds what an edge calls itself and its region.
	maxName = 200
	// maxUnderWay bounds what an edge may say it works on. Its own bound is lower.
	maxUnderWay = 10_000
	// maxAge is longer than any process lives.
	maxAge = 100 * 365 * 24 * time.Hour
)

var _ controlv1connect.ControlServiceHandler = (*Control)(nil)

// Poll notes that the edge is live and answers with what it has to do, at once or as
// soon as there is something, or with nothing after a second.
func (c *Control) Poll(ctx context.Context, req *controlv1.PollRequest) (*controlv1.PollResponse, error) {
	e, err := edge(req.GetEdge())
	if err != nil {
		return nil, err
	}
	if len(req.GetUnderWay()) > maxUnderWay {
		return nil, connect.NewError(connect.CodeInvalidArgument, "too many commands are under way")
	}
	asked := postgres.Await{
		Edge: e, UnderWay: req.GetUnderWay(), CatchUp: req.GetCatchUp(),
		Age: time.Duration(min(req.GetAgeMs(), uint64(maxAge/time.Millisecond))) * time.Millisecond, //nolint:gosec // bounded
	}
	if err := c.store.Announce(ctx, &asked); err != nil {
		return nil, c.rpcError(ctx, err)
	}
	enough := time.NewTimer(pollFor)
	defer enough.Stop()
	for last := false; ; {
		news := c.commands.heard()
		commands, err := c.store.Commands(ctx, &asked)
		if err != nil {
			return nil, c.rpcError(ctx, err)
		}
		var table *controlv1.DomainTable
		if known := req.GetDomains(); known != nil {
			if table, err = c.store.DomainTable(ctx, known.GetRevision()); err != nil {
				return nil, c.rpcError(ctx, err)
			}
		}
		if len(commands) > 0 || table != nil || last {
			return &controlv1.PollResponse{Commands: commands, Domains: table}, nil
		}
		select {
		case <-news:
		case <-enough.C:
			last = true
		case <-ctx.Done():
			return nil, c.rpcError(ctx, ctx.Err())
		}
	}
}

// Domains answers with the table of domains, if the edge's is older.
func (c *Control) Domains(ctx context.Context, req *controlv1.DomainsRequest) (*controlv1.DomainsResponse, error) {
	table, err := c.store.DomainTable(ctx, req.GetRevision())
	if err != nil {
		return nil, c.rpcError(ctx, err)
	}
	return &controlv1.DomainsResponse{Table: table}, nil
}

// Confirm notes what has become of a command at an edge.
func (c *Control) Confirm(ctx context.Context, req *controlv1.ConfirmRequest) (*controlv1.ConfirmResponse, error) {
	e, err := edge(req.GetEdge())
	if err != nil {
		return nil, err
	}
	if err := c.store.Confirm(ctx, e, req.GetCommandId(), req.GetMemoryDone(), req.GetRedisDone()); err != nil {
		return nil, c.rpcError(ctx, err)
	}
	return &controlv1.ConfirmResponse{}, nil
}

// Leave forgets an edge that has stopped.
func (c *Control) Leave(ctx context.Context, req *controlv1.LeaveRequest) (*controlv1.LeaveResponse, error) {
	e, err := edge(req.GetEdge())
	if err != nil {
		return nil, err
	}
	if err := c.store.Leave(ctx, e.Instance); err != nil {
		return nil, c.rpcError(ctx, err)
	}
	return &controlv1.LeaveResponse{}, nil
}

func edge(e *controlv1.Edge) (postgres.Edge, error) {
	instance, err := uuid.FromBytes(e.GetInstance())
	if err != nil || e.GetName() == "" || e.GetRegion() == "" || len(e.GetName()) > maxName || len(e.GetRegion()) > maxName {
		return postgres.Edge{}, connect.NewError(connect.CodeInvalidArgument, "an edge has a UUID for an instance, a name and a region")
	}
	return postgres.Edge{Instance: instance, Name: e.GetName(), Region: e.GetRegion()}, nil
}

// rpcError tells the edge that it may try again; the rest goes to the log.
func (c *Control) rpcError(ctx context.Context, err error) error {
	if ctx.Err() == nil && !errors.Is(err, context.Canceled) {
		c.log.ErrorContext(ctx, "an edge was not answered", "err", err)
	}
	return connect.NewError(connect.CodeUnavailable, "the database cannot be asked")
}
