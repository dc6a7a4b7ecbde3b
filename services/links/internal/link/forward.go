package link

// ForwardQuery says what becomes of the query that a visitor brings along.
type ForwardQuery string

// The modes: the visitor's query is dropped, is put behind the destination's own, or is
// put there with one side's parameters only where both have one of the same name.
const (
	ForwardOff         ForwardQuery = "off"
	ForwardAdd         ForwardQuery = "add"
	ForwardVisitorWins ForwardQuery = "visitor_wins"
	ForwardOwnerWins   ForwardQuery = "owner_wins"
)

func (f ForwardQuery) known() bool {
	switch f {
	case ForwardOff, ForwardAdd, ForwardVisitorWins, ForwardOwnerWins:
		return true
	}
	return false
}
