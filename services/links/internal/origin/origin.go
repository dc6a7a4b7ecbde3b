// Package origin answers edges that found a link in no cache, from the database.
//
// It promises the link's whole state with its revision, as the changelog would
// carry it, so that the answer of a slow look-up can be told from a newer record; and
// that a password never leaves it, nor what is stored of one. It refuses to answer for a database that is away: an edge gets the code
// unavailable, never "no such link".
package origin

import (
	"context"
	"errors"
	"log/slog"

	"connectrpc.com/connect/v2"

	"github.com/linkstream/linkstream/services/internal/rpc/originv1"
	"github.com/linkstream/linkstream/services/internal/rpc/originv1/originv1connect"
	"github.com/linkstream/linkstream/services/links/internal/changelog"
	"github.com/linkstream/linkstream/services/links/internal/link"
)

type resolver interface {
	// Resolve returns the link at an address or link.ErrNotFound.
	Resolve(ctx context.Context, host, slug string) (*link.Link, error)
}

// Service is the OriginService.
type Service struct {
	links     resolver
	passwords verifier
	log       *slog.Logger
}

var _ originv1connect.OriginServiceHandler = (*Service)(nil)

// New returns the OriginService over the store of links and their passwords.
func New(links resolver, passwords verifier, log *slog.Logger) *Service {
	return &Service{links: links, passwords: passwords, log: log}
}

// Resolve returns the link at the address; the answer has none when nothing lives
// there. The kind is created for a link at version 1, else updated.
func (s *Service) Resolve(ctx context.Context, req *originv1.ResolveRequest) (*originv1.ResolveResponse, error) {
	l, err := s.links.Resolve(ctx, req.GetHost(), req.GetSlugKey())
	switch {
	case errors.Is(err, link.ErrNotFound):
		return &originv1.ResolveResponse{}, nil
	case err != nil:
		if ctx.Err() == nil {
			s.log.ErrorContext(ctx, "origin look-up failed", "err", err)
		}
		return nil, connect.NewError(connect.CodeUnavailable, "the database cannot be asked")
	}
	return &originv1.ResolveResponse{Link: changelog.Current(l)}, nil
}
