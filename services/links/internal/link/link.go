// Package link is the domain: what a link is, which slugs and destinations may
// be given to one, and what can go wrong.
//
// It promises that create, edit and whatever else writes links go through one
// set of rules, and that every field that is wrong is reported at once. It refuses
// to judge rows that are stored already: a rule that becomes stricter never makes
// an old link unreadable, and editing a link judges only the fields that the edit
// names. It knows no database, no HTTP and no Kafka.
package link

import (
	"errors"
	"time"

	"github.com/google/uuid"
)

// ID is a link's UUIDv7.
type ID struct{ uuid.UUID }

// NewID makes an id that sorts after those made before it in this process.
func NewID() (ID, error) {
	id, err := uuid.NewV7()
	return ID{id}, err
}

// Domain is where short links live.
type Domain struct {
	ID uuid.UUID
	// Host is in normal form: lower case, punycode, without port.
	Host string
	// CaseSensitive says whether "a" and "A" are two slugs.
	CaseSensitive bool
}

// Link is one short link, as stored.
type Link struct {
	ID          ID
	WorkspaceID uuid.UUID
	Domain      Domain
	// Slug is as its owner wrote it, SlugKey as it is looked up: unique per domain.
	Slug, SlugKey string
	// Destination is where the redirect leads, as it goes into Location.
	Destination string
	Title       string
	Notes       string
	Tags        []string
	// StatusCode is 301, 302, 307 or 308.
	StatusCode int
	// StartsAt and ExpiresAt bound when the link answers; nil means no bound.
	StartsAt, ExpiresAt *time.Time
	// FallbackURL is where an expired link leads; empty means nowhere.
	FallbackURL string
	// ForwardQuery is what becomes of the query that a visitor brings along.
	ForwardQuery ForwardQuery
	Archived     bool
	// Disabled links answer as if they were over.
	Disabled bool
	// MaxClicks is how many redirects the link gives in all; 0 for no limit.
	// MaxClicksSince is the version at which it got a limit while it had none: edges
	// count anew from there, and at no other change.
	MaxClicks      int64
	MaxClicksSince uint64
	Password       Password
	Options        Options
	// Version counts this link's mutations from 1. Revision grows with every
	// change of an address, whichever link it belongs to.
	Version, Revision uint64
	// CreatedAt and UpdatedAt are the database's clock, to the microsecond.
	CreatedAt, UpdatedAt time.Time
}

// Address is where a link lives.
type Address struct{ Host, Slug, SlugKey string }

// Address returns where the link lives.
func (l *Link) Address() Address {
	return Address{Host: l.Domain.Host, Slug: l.Slug, SlugKey: l.SlugKey}
}

// Left says that a link has left an address, by being deleted or moved, and the
// link's version and revision after that.
type Left struct {
	ID          ID
	WorkspaceID uuid.UUID
	Address     Address

	Version, Revision uint64
}

// What can go wrong with a link, beyond its fields.
var (
	// ErrNotFound: there is no such link in the workspace.
	ErrNotFound = errors.New("no such link")
	// ErrSlugTaken: another link lives at the address.
	ErrSlugTaken = errors.New("the slug is taken on this domain")
	// ErrStale: the link has another version than the caller knew.
	ErrStale = errors.New("the link has changed since")
	// ErrUnavailable: the store cannot be reached; the same call may work later.
	ErrUnavailable = errors.New("the store cannot be reached")
)

// Precondition says which version a change is meant for.
type Precondition func(version uint64) bool

// Always lets every version pass.
func Always(uint64) bool { return true }

// Filter selects the links of a list. The zero value selects all.
type Filter struct {
	// Domain is a host as the caller wrote it; an unknown one selects nothing.
	Domain string
	// Tag has to be among the link's tags, exactly.
	Tag string
	// Query is looked for in title, slug and destination, whatever its case.
	Query string
	// IDs is nil for all links; an empty list selects nothing.
	IDs []ID
	// Archived is nil for both kinds.
	Archived *bool
	// CreatedAfter is inclusive, CreatedBefore exclusive; zero means no bound.
	CreatedAfter, CreatedBefore time.Time
}

// Position is a place in the list of links, which is ordered by creation, newest
// first, and then by id.
type Position struct {
	CreatedAt time.Time
	ID        ID
}

// Page is a part of the list.
type Page struct {
	Links []Link
	// Next is where the next page begins, after the last link of this one; nil when
	// there is none.
	Next *Position
}
