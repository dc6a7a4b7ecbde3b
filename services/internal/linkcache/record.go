// Package linkcache is what a region's Redis holds of a link: the key, the
// record, the script that writes it, and the message that tells the edges.
// cacheupdater writes them, redirect reads them, and both use this package, so
// that neither can understand them differently.
//
// It promises that a record is replaced only by a newer one (by revision, never by
// arrival), and that a deletion is a record too, so that an old read cannot bring
// a link back.
package linkcache

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/linkstream/linkstream/events/eventspb"
)

// Flags say what an edge has to look at beyond the destination. A record whose
// flags it does not know all of must not be served as a plain link.
type Flags uint16

// The flags of version 1 of the record. New ones are only ever added.
const (
	// FlagPassword: visitors must give a password; the options hold the key of those who did.
	FlagPassword Flags = 1 << 0
	// FlagRules: rules in the options may choose another target.
	FlagRules Flags = 1 << 2
	// At most one of these is set: what becomes of a visitor's query.
	FlagForwardAdd         Flags = 1 << 3
	FlagForwardVisitorWins Flags = 1 << 4
	FlagForwardOwnerWins   Flags = 1 << 5
	// FlagVariants: visitors are split over the variants in the options.
	FlagVariants Flags = 1 << 6
	// FlagMaxClicks: redirects are counted against the limit in the options.
	FlagMaxClicks Flags = 1 << 7
	// FlagForwardPath: what is asked for beneath the slug goes into the target.
	FlagForwardPath Flags = 1 << 8
	// FlagPreview: the options hold what preview bots are shown.
	FlagPreview Flags = 1 << 9
	// FlagDisabled: the link is switched off.
	FlagDisabled Flags = 1 << 10
	// FlagDeleted marks what is left of a deleted or moved link: its revision.
	FlagDeleted Flags = 1 << 15
	// KnownFlags are all that this release understands.
	KnownFlags = FlagForwardAdd | FlagForwardVisitorWins | FlagForwardOwnerWins | FlagDeleted |
		FlagPassword | FlagRules | FlagVariants | FlagMaxClicks | FlagForwardPath | FlagPreview | FlagDisabled
)

// DefaultStatus is the status of a record without `s`.
const DefaultStatus = 302

// Record is the value of one key, as compact JSON that a person can read with
// redis-cli. Times are milliseconds since 1970-01-01 UTC, 0 means none.
type Record struct {
	Destination string    `json:"d"`
	Flags       Flags     `json:"f"`
	Version     uint64    `json:"v"`
	Revision    uint64    `json:"r"`
	LinkID      uuid.UUID `json:"i"`
	WorkspaceID uuid.UUID `json:"w"`
	Status      int       `json:"s,omitempty"`
	StartsAt    int64     `json:"a,omitempty"`
	ExpiresAt   int64     `json:"e,omitempty"`
	Fallback    string    `json:"b,omitempty"`
	// Title is for the preview page.
	Title string `json:"t,omitempty"`
	// Options are what the flags announce, "" for none: a plain link pays nothing.
	Options OptionText `json:"o,omitempty"`
}

// CreatedAt is when the link was made: its id says so.
func (r *Record) CreatedAt() time.Time { return time.Unix(r.LinkID.Time().UnixTime()) }

// Deleted says whether the record is only the marker of a deleted link.
func (r *Record) Deleted() bool { return r.Flags&FlagDeleted != 0 }

// Entry is a record and where it belongs.
type Entry struct {
	Key    string
	Record Record
}

// Entries are what one change writes: the record at the link's address and, if
// the link was moved, a marker at the address it left.
func Entries(ev *eventspb.LinkChanged) ([]Entry, error) {
	record, err := fromLinkChanged(ev)
	if err != nil {
		return nil, err
	}
	entries := []Entry{{Key: Key(ev.GetAddress().GetHost(), ev.GetAddress().GetSlugKey()), Record: record}}
	if previous := ev.GetPreviousAddress(); previous != nil {
		entries = append(entries, Entry{Key: Key(previous.GetHost(), previous.GetSlugKey()), Record: marker(record)})
	}
	return entries, nil
}

func fromLinkChanged(ev *eventspb.LinkChanged) (Record, error) {
	linkID, err := uuid.FromBytes(ev.GetLinkId())
	if err != nil {
		return Record{}, fmt.Errorf("reading the link id: %w", err)
	}
	workspaceID, err := uuid.FromBytes(ev.GetWorkspaceId())
	if err != nil {
		return Record{}, fmt.Errorf("reading the workspace id: %w", err)
	}
	r := Record{
		Destination: ev.GetDestination(),
		Version:     ev.GetVersion(),
		Revision:    ev.GetRevision(),
		LinkID:      linkID,
		WorkspaceID: workspaceID,
		StartsAt:    millis(ev.GetStartsAt()),
		ExpiresAt:   millis(ev.GetExpiresAt()),
		Fallback:    ev.GetFallbackUrl(),
		Title:       ev.GetTitle(),
		Flags:       forward(ev.GetForwardQuery()),
	}
	if status := int(ev.GetStatusCode()); status != DefaultStatus {
		r.Status = status
	}
	if ev.GetKind() == eventspb.LinkChanged_KIND_DELETED {
		return marker(r), nil
	}
	if err := r.addOptions(ev); err != nil {
		return Record{}, err
	}
	return r, nil
}

// forward maps a mode that is not known to none: the target is the owner's alone then.
func forward(mode eventspb.LinkChanged_ForwardQuery) Flags {
	switch mode {
	case eventspb.LinkChanged_FORWARD_QUERY_ADD:
		return FlagForwardAdd
	case eventspb.LinkChanged_FORWARD_QUERY_VISITOR_WINS:
		return FlagForwardVisitorWins
	case eventspb.LinkChanged_FORWARD_QUERY_OWNER_WINS:
		return FlagForwardOwnerWins
	case eventspb.LinkChanged_FORWARD_QUERY_UNSPECIFIED:
	}
	return 0
}

func marker(r Record) Record {
	return Record{Flags: FlagDeleted, Version: r.Version, Revision: r.Revision, LinkID: r.LinkID, WorkspaceID: r.WorkspaceID}
}

func millis(t *timestamppb.Timestamp) int64 {
	if t == nil {
		return 0
	}
	return t.AsTime().UnixMilli()
}

// ErrBadRecord says that a key holds something that no release wrote.
var ErrBadRecord = errors.New("not a link record")

// Encode is the value that Redis holds.
func (r *Record) Encode() ([]byte, error) {
	value, err := r.append(make([]byte, 0, 256+len(r.Destination)+len(r.Options)))
	if err != nil {
		return nil, fmt.Errorf("encoding a link record: %w", err)
	}
	return value, nil
}

// Decode reads a value. Fields it does not know are ignored, flags it does not
// know are kept: the reader decides.
func Decode(value []byte) (Record, error) {
	var r Record
	if err := json.Unmarshal(value, &r); err != nil {
		return Record{}, fmt.Errorf("%w: %w", ErrBadRecord, err)
	}
	if r.Revision == 0 || (r.Destination == "" && !r.Deleted()) {
		return Record{}, ErrBadRecord
	}
	if r.Status == 0 {
		r.Status = DefaultStatus
	}
	return r, nil
}
