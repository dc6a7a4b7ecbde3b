package api

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/internal/access"
	"github.com/linkstream/linkstream/services/internal/httpapi"
	"github.com/linkstream/linkstream/services/links/internal/account"
	"github.com/linkstream/linkstream/services/links/internal/idempotency"
)

// memberKeeper is what the API does with users; account.Members is one.
type memberKeeper interface {
	Add(ctx context.Context, workspace, id uuid.UUID, spec account.MemberSpec) (account.Member, string, error)
	List(ctx context.Context, workspace uuid.UUID, after *account.Position, limit int) ([]account.Member, error)
	Remove(ctx context.Context, workspace, id uuid.UUID) error
}

type usersAPI struct {
	members memberKeeper
	log     *slog.Logger
}

// RegisterUsers adds the operations on a workspace's users to h.
func RegisterUsers(h huma.API, members memberKeeper, log *slog.Logger) {
	a := &usersAPI{members: members, log: log}
	tags, admin := []string{"users"}, httpapi.Needs(access.Admin)
	h.OpenAPI().Tags = append(h.OpenAPI().Tags, &huma.Tag{Name: "users", Description: "People who may use the dashboard."})
	huma.Register(h, huma.Operation{
		OperationID: "create-user", Method: http.MethodPost, Path: "/v1/users", Summary: "Add a user to the workspace",
		Description: "No mail is sent: hand the password over yourself. It is in the answer, once; it is stored hashed and cannot be shown again. " +
			"It opens this workspace. Somebody who uses linkstream in another one already joins the two in the dashboard, with this password; nobody else learns of it.",
		DefaultStatus: http.StatusCreated, Tags: tags, Security: admin, Errors: []int{400, 401, 403, 409, 413, 415, 422, 503},
	}, a.create)
	huma.Register(h, huma.Operation{
		OperationID: "list-users", Method: http.MethodGet, Path: "/v1/users", Summary: "List the workspace's users, newest first",
		Tags: tags, Security: admin, RejectUnknownQueryParameters: true, Errors: []int{401, 403, 422, 503},
	}, a.list)
	huma.Register(h, huma.Operation{
		OperationID: "remove-user", Method: http.MethodDelete, Path: "/v1/users/{id}", Summary: "Remove a user from the workspace",
		Description:   "Their sessions in this workspace end at once. The last owner stays.",
		DefaultStatus: http.StatusNoContent, Tags: tags, Security: admin, SkipValidateParams: true, Errors: []int{401, 403, 404, 409, 503},
	}, a.remove)
}

type newUserInput struct {
	Body struct {
		Email    string        `json:"email" maxLength:"254" example:"someone@example.com"`
		Role     string        `json:"role" enum:"owner,editor,viewer" example:"editor" doc:"An owner may do everything, an editor changes links, a viewer reads"`
		Password field[string] `json:"password,omitzero" doc:"8 to 1,024 bytes; made up when left out"`
	}
}

// UserView is a user as callers see one. (huma sees exported embedded structs only.)
type UserView struct {
	ID        string    `json:"id" format:"uuid" example:"01a22c60-f107-73b4-a642-cb8fa6799a62"`
	Email     string    `json:"email" example:"someone@example.com"`
	Role      string    `json:"role" enum:"owner,editor,viewer" example:"editor"`
	CreatedAt time.Time `json:"created_at" example:"2026-11-30T12:00:00Z"`
}

type newUserView struct {
	UserView
	Password string `json:"password" doc:"The password to hand over. It is not shown again."`
}

type newUserOutput struct{ Body newUserView }

type usersOutput struct {
	Body struct {
		Data       []UserView `json:"data" nullable:"false"`
		NextCursor *string    `json:"next_cursor" nullable:"true" doc:"Where the next page begins; null on the last one"`
	}
}

type userInput struct {
	ID string `path:"id" format:"uuid" doc:"Id of the user"`
}

func viewUser(m account.Member) UserView {
	return UserView{ID: m.ID.String(), Email: m.Email, Role: string(m.Role), CreatedAt: m.CreatedAt}
}

func (a *usersAPI) create(ctx context.Context, in *newUserInput) (*newUserOutput, error) {
	ctx, workspace, done, err := begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	seed, err := idempotency.SeedOf(ctx)
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	m, password, err := a.members.Add(ctx, workspace, seed.ID, account.MemberSpec{
		Email: in.Body.Email, Role: account.Role(in.Body.Role), Password: in.Body.Password.Value,
	})
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	return &newUserOutput{Body: newUserView{UserView: viewUser(m), Password: password}}, nil
}

func (a *usersAPI) list(ctx context.Context, in *pageInput) (*usersOutput, error) {
	ctx, workspace, done, err := begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	after, err := accountPosition(cursorOfUsers, in.Cursor)
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	members, err := a.members.List(ctx, workspace, after, in.Limit+1)
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	out := &usersOutput{}
	out.Body.Data, out.Body.NextCursor = page(cursorOfUsers, members, in.Limit, viewUser, func(m account.Member) position {
		return position{createdAt: m.CreatedAt, id: m.ID}
	})
	return out, nil
}

func (a *usersAPI) remove(ctx context.Context, in *userInput) (*struct{}, error) {
	ctx, workspace, done, err := begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	id, err := accountID(in.ID)
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	if err := a.members.Remove(ctx, workspace, id); err != nil {
		return nil, problem(ctx, a.log, err)
	}
	return nil, nil
}
