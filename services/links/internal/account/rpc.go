package account

import (
	"context"
	"errors"
	"log/slog"

	"connectrpc.com/connect/v2"
	"github.com/google/uuid"

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

// ListWorkspaces lists the workspaces of a session's user.
func (s *Service) ListWorkspaces(ctx context.Context, req *accessv1.ListWorkspacesRequest) (*accessv1.ListWorkspacesResponse, error) {
	workspaces, err := s.accounts.Workspaces(ctx, req.GetToken())
	if err != nil {
		return nil, s.rpcError(ctx, err)
	}
	answer := &accessv1.ListWorkspacesResponse{}
	for _, w := range workspaces {
		answer.Workspaces = append(answer.Workspaces, &accessv1.Workspace{Id: w.ID[:], Name: w.Name, Role: string(w.Role)})
	}
	return answer, nil
}

// SwitchWorkspace moves a session to another workspace.
func (s *Service) SwitchWorkspace(ctx context.Context, req *accessv1.SwitchWorkspaceRequest) (*accessv1.SwitchWorkspaceResponse, error) {
	workspace, err := uuid.FromBytes(req.GetWorkspaceId())
	if err != nil {
		return nil, s.rpcError(ctx, access.ErrNotMember) // the id of no workspace
	}
	token, left, err := s.accounts.Switch(ctx, req.GetToken(), workspace)
	if err != nil {
		return nil, s.rpcError(ctx, err)
	}
	return &accessv1.SwitchWorkspaceResponse{Token: token, ExpiresInSeconds: int64(left.Seconds())}, nil
}

// JoinWorkspaces makes one account of several that are one person's.
func (s *Service) JoinWorkspaces(ctx context.Context, req *accessv1.JoinWorkspacesRequest) (*accessv1.JoinWorkspacesResponse, error) {
	token, left, err := s.accounts.Join(ctx, req.GetToken(), req.GetPassword(), req.GetNewPassword())
	if err != nil {
		return nil, s.rpcError(ctx, err)
	}
	return &accessv1.JoinWorkspacesResponse{Token: token, ExpiresInSeconds: int64(left.Seconds())}, nil
}

// ChangePassword gives a session's user another password.
func (s *Service) ChangePassword(ctx context.Context, req *accessv1.ChangePasswordRequest) (*accessv1.ChangePasswordResponse, error) {
	token, left, err := s.accounts.ChangePassword(ctx, req.GetToken(), req.GetPassword(), req.GetNewPassword())
	if err != nil {
		return nil, s.rpcError(ctx, err)
	}
	return &accessv1.ChangePasswordResponse{Token: token, ExpiresInSeconds: int64(left.Seconds())}, nil
}

// rpcError tells the caller what it may know; the rest goes to the log.
func (s *Service) rpcError(ctx context.Context, err error) error {
	var wrong WrongError
	switch {
	case errors.Is(err, access.ErrUnauthenticated):
		return connect.NewError(connect.CodeUnauthenticated, access.ErrUnauthenticated.Error())
	case errors.Is(err, access.ErrNotMember):
		return connect.NewError(connect.CodeNotFound, access.ErrNotMember.Error())
	case errors.Is(err, access.ErrWrongCredentials):
		return connect.NewError(connect.CodePermissionDenied, access.ErrWrongCredentials.Error())
	case errors.Is(err, access.ErrSamePassword):
		return connect.NewError(connect.CodeFailedPrecondition, access.ErrSamePassword.Error())
	case errors.As(err, &wrong):
		return connect.NewError(connect.CodeInvalidArgument, wrong[0].Detail)
	}
	if ctx.Err() == nil {
		s.log.ErrorContext(ctx, "account question failed", "err", err)
	}
	return connect.NewError(connect.CodeUnavailable, access.ErrUnavailable.Error())
}
