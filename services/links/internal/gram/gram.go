// Package gram makes the pieces of four characters by which links are found by a piece of
// their text.
//
// It promises that a set of texts has every gram of whatever ILIKE finds in one of them,
// whichever locale the database has; it may have more, so whoever asks has to compare the
// texts. To that end only grams of ASCII characters count, in lower case: about all
// others, locales differ.
//
// Four and not three, because numbers are looked for, too: 500 links with a number of ten
// digits each have most of the 1,000 groups of three, but a third of those of four, and
// none of seven in a row by chance.
//
// No gram reaches over the end of a line. Texts are joined by line feeds (title, slug,
// destination), and what is around one is different for each link and of no use to
// anybody: it was half of all grams, and the index of the grams was a third of what a link
// cost that was made with others (13 of 39 microseconds, adr/0019).
package gram

import "github.com/google/uuid"

const (
	size = 4
	bits = 7 // of an ASCII character
	mask = 1<<(size*bits) - 1

	recentBits = 12
	mix        = 0x9E3779B1 // spreads neighbours
)

// Set is the grams of the texts of one workspace.
type Set struct {
	seen map[uint32]struct{}
	// recent are windows that are in seen, each at its place: nine of ten are found here,
	// for links that are made together have most of their text in common.
	recent [1 << recentBits]uint32
	grams  []int32
	salt   uint32
}

// NewSet returns a set without texts. Each workspace has numbers of its own, so that
// one finds little of another.
func NewSet(workspace uuid.UUID) *Set {
	salt := uint32(2166136261) // FNV-1a
	for _, b := range workspace {
		salt = (salt ^ uint32(b)) * 16777619
	}
	return &Set{seen: map[uint32]struct{}{}, salt: salt}
}

// Add adds the grams of a text.
func (s *Set) Add(text string) {
	var window uint32
	have := 0
	for i := 0; i < len(text); {
		c, width := fold(text[i:])
		i += width
		have = s.push(&window, have, c)
	}
}

// Grams are those of all texts, each once. The numbers are stored: they never change.
func (s *Set) Grams() []int32 { return s.grams }

// Of returns the grams that a set has if ILIKE finds the piece in one of its texts;
// none if it is too short to tell.
func Of(workspace uuid.UUID, piece string) []int32 {
	s := NewSet(workspace)
	var window uint32
	have := 0
	for i := range len(piece) {
		c := piece[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		have = s.push(&window, have, c)
	}
	return s.grams
}

// push takes the next character, and returns how many in a row were ASCII.
func (s *Set) push(window *uint32, have int, c byte) int {
	if c >= 0x80 || c == '\n' {
		return 0
	}
	*window = (*window<<bits | uint32(c)) & mask
	if have++; have < size {
		return have
	}
	place := *window * mix >> (32 - recentBits)
	if s.recent[place] == *window {
		return size // four NULs are nobody's: the zero value does no harm
	}
	s.recent[place] = *window
	if _, there := s.seen[*window]; !there {
		s.seen[*window] = struct{}{}
		s.grams = append(s.grams, int32((*window^s.salt)*mix)) //nolint:gosec // the bits matter, not the number
	}
	return size
}

// fold returns the next character of a text in lower case, one of 0x80 or more if it is not ASCII, and how long it
// is. Two characters beyond ASCII have an ASCII lower case in some locales.
func fold(text string) (c byte, width int) {
	switch c := text[0]; {
	case 'A' <= c && c <= 'Z':
		return c + 'a' - 'A', 1
	case c == 0xC4 && len(text) > 1 && text[1] == 0xB0: // U+0130, I with a dot above
		return 'i', 2
	case c == 0xE2 && len(text) > 2 && text[1] == 0x84 && text[2] == 0xAA: // U+212A, the sign of the kelvin
		return 'k', 3
	default:
		return c, 1
	}
}
