package access

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/internal/rpc/accessv1"
	"github.com/linkstream/linkstream/services/internal/rpc/accessv1/accessv1connect"
)

const callTimeout = 2 * time.Second

// Client asks the links service whose a token is. It is safe for concurrent use.
type Client struct {
	rpc accessv1connect.AccessServiceClient

	cache cache
}

// NewClient asks the RPC listener at baseURL, for instance http://127.0.0.1:8011.
func NewClient(baseURL string) *Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil // a private address: no proxy stands between
	httpClient := &http.Client{Transport: transport, Timeout: callTimeout}
	return &Client{
		rpc: accessv1connect.NewAccessServiceClient(connect.NewClient(connecthttp.NewTransport(httpClient, baseURL))),
	}
}

// Authenticate returns whose token it is, ErrUnauthenticated, or ErrUnavailable.
func (c *Client) Authenticate(ctx context.Context, token string) (*Identity, error) {
	return c.cache.authenticate(token, func() (*Identity, error) { return c.ask(ctx, token) })
}

func (c *Client) ask(ctx context.Context, token string) (*Identity, error) {
	answer, err := c.rpc.Authenticate(ctx, &accessv1.AuthenticateRequest{Token: token})
	if err != nil {
		return nil, translate(err)
	}
	return identity(answer)
}

// Ready is a readiness check: whoever knows the tokens answers.
func (c *Client) Ready(ctx context.Context) error {
	if _, err := c.ask(ctx, "no token"); err != nil && !errors.Is(err, ErrUnauthenticated) {
		return err
	}
	return nil
}

// LogIn starts a dashboard session and returns its token and how long it lasts.
func (c *Client) LogIn(ctx context.Context, email, password string) (string, time.Duration, error) {
	answer, err := c.rpc.LogIn(ctx, &accessv1.LogInRequest{Email: email, Password: password})
	if err != nil {
		return "", 0, translate(err)
	}
	return answer.GetToken(), time.Duration(answer.GetExpiresInSeconds()) * time.Second, nil
}

// LogOut ends a dashboard session.
func (c *Client) LogOut(ctx context.Context, token string) error {
	c.cache.forget(token)
	if _, err := c.rpc.LogOut(ctx, &accessv1.LogOutRequest{Token: token}); err != nil {
		return translate(err)
	}
	return nil
}

// Workspace is one that a session's user is a member of.
type Workspace struct {
	ID   uuid.UUID
	Name string
	// Role is owner, editor or viewer.
	Role string
}

// Workspaces returns those of a session's user, the one opened last first. Nothing of it
// is remembered.
func (c *Client) Workspaces(ctx context.Context, token string) ([]Workspace, error) {
	answer, err := c.rpc.ListWorkspaces(ctx, &accessv1.ListWorkspacesRequest{Token: token})
	if err != nil {
		return nil, translate(err)
	}
	out := make([]Workspace, len(answer.GetWorkspaces()))
	for i, w := range answer.GetWorkspaces() {
		id, err := uuid.FromBytes(w.GetId())
		if err != nil {
			return nil, fmt.Errorf("reading the workspace id: %w", err)
		}
		out[i] = Workspace{ID: id, Name: w.GetName(), Role: w.GetRole()}
	}
	return out, nil
}

// Switch moves a session to another workspace of its user, and returns its new token and
// how long it lasts. It returns ErrNotMember when there is no such workspace.
func (c *Client) Switch(ctx context.Context, token string, workspace uuid.UUID) (string, time.Duration, error) {
	c.cache.forget(token)
	answer, err := c.rpc.SwitchWorkspace(ctx, &accessv1.SwitchWorkspaceRequest{Token: token, WorkspaceId: workspace[:]})
	if err != nil {
		return "", 0, translate(err)
	}
	return answer.GetToken(), time.Duration(answer.GetExpiresInSeconds()) * time.Second, nil
}

// Join makes one account of a session's and of those with its email that have the given
// password. It returns ErrWrongCredentials or ErrUnfitPassword.
func (c *Client) Join(ctx context.Context, token, password, fresh string) (string, time.Duration, error) {
	c.cache.forget(token)
	answer, err := c.rpc.JoinWorkspaces(ctx, &accessv1.JoinWorkspacesRequest{Token: token, Password: password, NewPassword: fresh})
	if err != nil {
		return "", 0, translate(err)
	}
	return answer.GetToken(), time.Duration(answer.GetExpiresInSeconds()) * time.Second, nil
}

// ChangePassword gives a session's user another password, and returns the session's new
// token and how long it lasts. It returns ErrWrongCredentials when the current password is
// another, ErrUnfitPassword or ErrSamePassword.
func (c *Client) ChangePassword(ctx context.Context, token, password, fresh string) (string, time.Duration, error) {
	c.cache.forget(token)
	answer, err := c.rpc.ChangePassword(ctx, &accessv1.ChangePasswordRequest{Token: token, Password: password, NewPassword: fresh})
	if err != nil {
		return "", 0, translate(err)
	}
	return answer.GetToken(), time.Duration(answer.GetExpiresInSeconds()) * time.Second, nil
}

func translate(err error) error {
	switch connect.CodeOf(err) { //nolint:exhaustive // every other code means that nobody could say
	case connect.CodeUnauthenticated:
		return ErrUnauthenticated
	case connect.CodeNotFound:
		return ErrNotMember
	case connect.CodePermissionDenied:
		return ErrWrongCredentials
	case connect.CodeInvalidArgument:
		return ErrUnfitPassword
	case connect.CodeFailedPrecondition:
		return ErrSamePassword
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

func identity(answer *accessv1.AuthenticateResponse) (*Identity, error) {
	workspace, err := uuid.FromBytes(answer.GetWorkspaceId())
	if err != nil {
		return nil, fmt.Errorf("reading the workspace id: %w", err)
	}
	subject, err := uuid.FromBytes(answer.GetSubjectId())
	if err != nil {
		return nil, fmt.Errorf("reading the subject id: %w", err)
	}
	id := &Identity{
		WorkspaceID: workspace, Subject: subject, Email: answer.GetEmail(),
		RateCapacity: int(answer.GetRateCapacity()), RateRefillPerSecond: answer.GetRateRefillPerSecond(),
	}
	for _, s := range answer.GetScopes() {
		id.Scopes = append(id.Scopes, Scope(s))
	}
	return id, nil
}
