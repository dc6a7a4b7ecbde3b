package origin

import (
	"context"
	"errors"

	"connectrpc.com/connect/v2"
	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/internal/rpc/originv1"
	"github.com/linkstream/linkstream/services/links/internal/link"
	"github.com/linkstream/linkstream/services/links/internal/unlock"
)

type verifier interface {
	// Verify returns the link's unlock key when the guess is its password, else nil. It
	// fails with link.ErrNotFound or unlock.ErrBusy.
	Verify(ctx context.Context, id link.ID, guess string) ([]byte, error)
}

// VerifyPassword compares what a visitor typed with a link's password. Neither is ever
// logged.
func (s *Service) VerifyPassword(ctx context.Context, req *originv1.VerifyPasswordRequest) (*originv1.VerifyPasswordResponse, error) {
	id, err := uuid.FromBytes(req.GetLinkId())
	if err != nil {
		return nil, connect.NewError(connect.CodeInvalidArgument, "the link id has 16 bytes")
	}
	key, err := s.passwords.Verify(ctx, link.ID{UUID: id}, req.GetPassword())
	switch {
	case errors.Is(err, link.ErrNotFound):
		return nil, connect.NewError(connect.CodeNotFound, "there is no such link, or it has no password")
	case errors.Is(err, unlock.ErrBusy):
		return nil, connect.NewError(connect.CodeResourceExhausted, err.Error())
	case err != nil:
		if ctx.Err() == nil {
			s.log.ErrorContext(ctx, "comparing a password failed", "err", err)
		}
		return nil, connect.NewError(connect.CodeUnavailable, "the database cannot be asked")
	}
	return &originv1.VerifyPasswordResponse{Correct: key != nil, UnlockKey: key}, nil
}
