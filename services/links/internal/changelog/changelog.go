// Package changelog says what the changelog says of a link: it turns the domain's
// link into the LinkChanged that the outbox holds and the origin look-up answers.
//
// It promises that both agree, so that an edge cannot tell from which of the two
// it learnt of a link.
package changelog

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/linkstream/linkstream/events/eventspb"
	"github.com/linkstream/linkstream/services/internal/linkoption"
	"github.com/linkstream/linkstream/services/links/internal/link"
)

// Changed is the link's whole state after a mutation of the given kind.
// changed_at is the link's UpdatedAt.
func Changed(l *link.Link, kind eventspb.LinkChanged_Kind) *eventspb.LinkChanged {
	ev := &eventspb.LinkChanged{
		LinkId:      l.ID.UUID[:],
		WorkspaceId: l.WorkspaceID[:],
		Address:     address(l.Address()),
		Version:     l.Version,
		Revision:    l.Revision,
		Kind:        kind,
		ChangedAt:   timestamppb.New(l.UpdatedAt),
		Destination: l.Destination,
		StatusCode:  uint32(l.StatusCode), //nolint:gosec // 301 to 308
		Title:       l.Title,
		Tags:        l.Tags,
		Notes:       l.Notes,
		StartsAt:    timestamp(l.StartsAt),
		ExpiresAt:   timestamp(l.ExpiresAt),
		FallbackUrl: l.FallbackURL,
		Archived:    l.Archived,

		ForwardQuery: forwardQuery(l.ForwardQuery),

		CreatedAt: timestamppb.New(l.CreatedAt),
		UpdatedAt: timestamppb.New(l.UpdatedAt),

		Disabled:       l.Disabled,
		MaxClicks:      uint64(l.MaxClicks), //nolint:gosec // never negative
		MaxClicksSince: l.MaxClicksSince,
		Rules:          linkoption.RulesEvent(l.Options.Rules),
		Split:          l.Options.Split.Event(),
		ForwardPath:    l.Options.ForwardPath,
		Utm:            l.Options.UTM.Event(),
		Preview:        l.Options.Preview.Event(),
	}
	if l.Password.IsSet() {
		// The hash stays here: whoever has the changelog could try all the words there are.
		ev.Password = &eventspb.Password{UnlockKey: l.Password.UnlockKey}
	}
	return ev
}

func forwardQuery(f link.ForwardQuery) eventspb.LinkChanged_ForwardQuery {
	switch f {
	case link.ForwardAdd:
		return eventspb.LinkChanged_FORWARD_QUERY_ADD
	case link.ForwardVisitorWins:
		return eventspb.LinkChanged_FORWARD_QUERY_VISITOR_WINS
	case link.ForwardOwnerWins:
		return eventspb.LinkChanged_FORWARD_QUERY_OWNER_WINS
	case link.ForwardOff:
	}
	return eventspb.LinkChanged_FORWARD_QUERY_UNSPECIFIED
}

// Moved is Changed for an update that took the link away from another address.
func Moved(l *link.Link, from link.Address) *eventspb.LinkChanged {
	ev := Changed(l, eventspb.LinkChanged_KIND_UPDATED)
	ev.PreviousAddress = address(from)
	return ev
}

// Current is what the last record of the link's mutations said, as far as the
// row tells: a link at version 1 was created, any other updated.
func Current(l *link.Link) *eventspb.LinkChanged {
	if l.Version == 1 {
		return Changed(l, eventspb.LinkChanged_KIND_CREATED)
	}
	return Changed(l, eventspb.LinkChanged_KIND_UPDATED)
}

// Gone is what is left at an address that a link left, by being deleted or moved: the
// deletion, at the version and revision of the change that took it away.
func Gone(left *link.Left) *eventspb.LinkChanged {
	return &eventspb.LinkChanged{
		LinkId:      left.ID.UUID[:],
		WorkspaceId: left.WorkspaceID[:],
		Address:     address(left.Address),
		Version:     left.Version,
		Revision:    left.Revision,
		Kind:        eventspb.LinkChanged_KIND_DELETED,
	}
}

func address(a link.Address) *eventspb.Address {
	return &eventspb.Address{Host: a.Host, Slug: a.Slug, SlugKey: a.SlugKey}
}

func timestamp(t *time.Time) *timestamppb.Timestamp {
	if t == nil {
		return nil
	}
	return timestamppb.New(*t)
}
