package link

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/google/uuid"
)

// New is a link that shall be made.
type New struct {
	WorkspaceID uuid.UUID
	ID          ID
	// MayExist says that an earlier try whose outcome nobody saw may have made the
	// link with this id. If so, it is what was made.
	MayExist bool
	// FindFirst asks for an existing link of the workspace that fits instead of a new
	// one, if there is one. Of two that ask at the same time one finds the other's.
	FindFirst bool
	Checked   *Checked
}

// Outcome is what became of a New.
type Outcome struct {
	// Link is what was made or found; nil with an error.
	Link *Link
	// Found says that the link was there before.
	Found bool
	Err   error
}

// Fits says whether a link has the destination and all options that the change
// gives. Domain and slug are compared as they are looked up.
func (c *Checked) Fits(l *Link) bool {
	g := &c.change
	return fits(g.Destination, l.Destination) && fits(g.Domain, l.Domain.Host) &&
		(!g.Slug.Set || l.Domain.SlugKey(g.Slug.Value) == l.SlugKey) &&
		fits(g.Title, l.Title) && fits(g.Notes, l.Notes) && (!g.Tags.Set || sameTags(g.Tags.Value, l.Tags)) &&
		fits(g.StatusCode, l.StatusCode) && (!g.StartsAt.Set || sameTime(g.StartsAt.Value, l.StartsAt)) &&
		(!g.ExpiresAt.Set || sameTime(g.ExpiresAt.Value, l.ExpiresAt)) &&
		fits(g.FallbackURL, l.FallbackURL) && fits(g.ForwardQuery, l.ForwardQuery) && g.Archived.Value == l.Archived && // an archived link is found by who asks for one
		fits(g.Disabled, l.Disabled) && (!g.MaxClicks.Set || g.MaxClicks.Value == nil && l.MaxClicks == 0 || g.MaxClicks.Value != nil && *g.MaxClicks.Value == l.MaxClicks) &&
		(!g.Password.Set || c.password.Hash == l.Password.Hash) && g.Options.fits(&l.Options)
}

// sameTags does not look at the order, which nobody sees a meaning in. No tag is there twice.
func sameTags(a, b []string) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(tag string) bool { return !slices.Contains(b, tag) })
}

func fits[T comparable](given Optional[T], has T) bool { return !given.Set || given.Value == has }

// Given is the change, in the form that is stored.
func (c *Checked) Given() Change { return c.change }

// DerivedID is the n-th id that belongs to a seed, which is a UUIDv7: the same
// every time. Ids of one seed sort by n, after what was made before the seed. n is at
// most 4095.
func DerivedID(seed uuid.UUID, n int) ID {
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(seed[:], uint64(n))) //nolint:gosec // n is small and positive
	id := uuid.UUID(sum[:16])
	copy(id[:6], seed[:6]) // milliseconds since 1970
	id[6] = 0x70 | byte(n>>8)&0x0f
	id[7] = byte(n)
	id[8] = id[8]&0x3f | 0x80
	return ID{id}
}
