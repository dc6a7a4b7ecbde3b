package events

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"

	"github.com/linkstream/linkstream/events/eventspb"
)

// ErrTombstone says that a record of the changelog has no value: the link was
// deleted longer ago than the grace period, and compaction may drop its key.
// Whoever keeps a copy of all links forgets the key; a cache has nothing to do,
// because the deletion itself came first.
var ErrTombstone = errors.New("tombstone: the link's key is being dropped")

// idSize is the length of a UUID in its binary form.
const idSize = 16

// Source is the CloudEvents source of every record that linkstream writes.
const Source = "linkstream/links"

// LinkChangedRecord is the changelog record of one mutation, with its key and
// its CloudEvents headers. The id is link id and revision, so a record that the
// outbox relay publishes twice has the same id both times.
func LinkChangedRecord(prefix string, ev *eventspb.LinkChanged) (*kgo.Record, error) {
	if err := checkLinkChanged(ev); err != nil {
		return nil, fmt.Errorf("encoding a link change: %w", err)
	}
	value, err := proto.Marshal(ev)
	if err != nil {
		return nil, fmt.Errorf("encoding a link change: %w", err)
	}
	brief := briefOf(ev)
	return brief.record(prefix, value), nil
}

// LinkTombstone is the record with a null value that follows a deletion after
// the grace period, so that compaction can drop the key.
func LinkTombstone(prefix string, linkID []byte) *kgo.Record {
	return &kgo.Record{Topic: LinksChangelog.Name(prefix), Key: linkID}
}

// DecodeLinkChanged reads a record of the changelog. It returns ErrTombstone for
// a null value, and another error for whatever no version of linkstream wrote.
func DecodeLinkChanged(r *kgo.Record) (*eventspb.LinkChanged, error) {
	if r.Value == nil {
		return nil, ErrTombstone
	}
	ev := &eventspb.LinkChanged{}
	if err := proto.Unmarshal(r.Value, ev); err != nil {
		return nil, fmt.Errorf("decoding a link change: %w", err)
	}
	if err := checkLinkChanged(ev); err != nil {
		return nil, fmt.Errorf("decoding a link change: %w", err)
	}
	return ev, nil
}

// checkLinkChanged holds what every version promises of a LinkChanged.
func checkLinkChanged(ev *eventspb.LinkChanged) error {
	var errs []error
	if n := len(ev.GetLinkId()); n != idSize {
		errs = append(errs, fmt.Errorf("link_id has %d bytes, want %d", n, idSize))
	}
	if n := len(ev.GetWorkspaceId()); n != idSize {
		errs = append(errs, fmt.Errorf("workspace_id has %d bytes, want %d", n, idSize))
	}
	if ev.GetAddress().GetHost() == "" || ev.GetAddress().GetSlugKey() == "" {
		errs = append(errs, errors.New("address is empty"))
	}
	if ev.GetVersion() == 0 {
		errs = append(errs, errors.New("version is 0"))
	}
	if ev.GetRevision() == 0 {
		errs = append(errs, errors.New("revision is 0"))
	}
	if cloudEventType(ev.GetKind()) == "" {
		errs = append(errs, fmt.Errorf("kind %d is unknown", ev.GetKind()))
	}
	if ev.GetKind() != eventspb.LinkChanged_KIND_DELETED && ev.GetDestination() == "" {
		errs = append(errs, errors.New("destination is empty"))
	}
	return errors.Join(errs...)
}

func cloudEventType(k eventspb.LinkChanged_Kind) string {
	switch k {
	case eventspb.LinkChanged_KIND_CREATED:
		return "linkstream.link.created"
	case eventspb.LinkChanged_KIND_UPDATED:
		return "linkstream.link.updated"
	case eventspb.LinkChanged_KIND_DELETED:
		return "linkstream.link.deleted"
	case eventspb.LinkChanged_KIND_UNSPECIFIED:
		return ""
	default:
		return ""
	}
}
