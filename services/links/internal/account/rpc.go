package account

import (
	"context"
	"errors"
	"log/slog"

	"connectrpc.com/connect/v2"

	"github.com/linkstream/linkstream/services/internal/access"
	"github.com/linkstream/linkstream/services/internal/rpc/accessv1"
	"github.com/linkstream/linkstream/services/internal/rpc/accessv1/accessv1connect"
)

// Service answers the other services' questions over RPC.
type Service struct {
	accounts *Accounts
	log      *slog.Logger
}

var _ accessv1connect.AccessServiceHandler = (*Service)(nil)

// NewService returns the AccessService over the accounts.
func NewService(accounts *Accounts, log *slog.Logger) *Service {
	return &Service{accounts: accounts, log: log}
}

// Authenticate says whose token it is.
func (s *Service) Authenticate(ctx context.Context, req *accessv1.AuthenticateRequest) (*accessv1.AuthenticateResponse, error) {
	id, err := s.accounts.Authenticate(ctx, req.GetToken())
	if err != nil {
		return nil, s.rpcError(ctx, err)
	}
	answer := &accessv1.AuthenticateResponse{
		WorkspaceId: id.WorkspaceID[:], SubjectId: id.Subject[:], Email: id.Email,
		RateCapacity: int32(id.RateCapacity), RateRefillPerSecond: id.RateRefillPerSecond, //nolint:gosec // an integer column
	}
	for _, scope := range id.Scopes {
		answer.Scopes = append(answer.Scopes, string(scope))
	}
	return answer, nil
}

// LogIn starts a dashboard session.
func (s *Service) LogIn(ctx context.Context, req *accessv1.LogInRequest) (*accessv1.LogInResponse, error) {
	token, err := s.accounts.LogIn(ctx, req.GetEmail(), req.GetPassword())
	if err != nil {
		return nil, s.rpcError(ctx, err)
	}
	return &accessv1.LogInResponse{Token: token, ExpiresInSeconds: int64(SessionLifetime.Seconds())}, nil
}

// LogOut ends a dashboard session.
func (s *Service) LogOut(ctx context.Context, req *accessv1.LogOutRequest) (*accessv1.LogOutResponse, error) {
	if err := s.accounts.LogOut(ctx, req.GetToken()); err != nil {
		return nil, s.rpcError(ctx, err)
	}
	return &accessv1.LogOutResponse{}, nil
}

// rpcError tells the caller what it may know; the rest goes to the log.
func (s *Service) rpcError(ctx context.Context, err error) error {
	if errors.Is(err, access.ErrUnauthenticated) {
		return connect.NewError(connect.CodeUnauthenticated, access.ErrUnauthenticated.Error())
	}
	if ctx.Err() == nil {
		s.log.ErrorContext(ctx, "account question failed", "err", err)
	}
	return connect.NewError(connect.CodeUnavailable, access.ErrUnavailable.Error())
}
