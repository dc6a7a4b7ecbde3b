package events

// Topic is one of the topics linkstream uses. The list is closed: no other
// string ever reaches a broker.
type Topic string

const (
	// LinksChangelog carries LinkChanged, keyed by link id (16 bytes), compacted:
	// the newest record of a key is the link's whole state.
	LinksChangelog Topic = "linkstream.links.changelog.v1"
	// Clicks carries Click without key, kept for 7 days.
	Clicks Topic = "linkstream.clicks.v1"
	// DeadClicks carries records of Clicks that did not decode, byte for byte, kept
	// for 30 days. DeadRecord says what their headers hold.
	DeadClicks Topic = "linkstream.clicks.dead.v1"
	// DeadLinksChangelog is the same for LinksChangelog.
	DeadLinksChangelog Topic = "linkstream.links.dead.v1"
)

// Topics lists all topics, in the order in which they are documented.
func Topics() []Topic {
	return []Topic{LinksChangelog, Clicks, DeadClicks, DeadLinksChangelog}
}

// Name is the topic's name on a broker that is shared by several installations,
// told apart by a prefix. An empty prefix changes nothing.
func (t Topic) Name(prefix string) string { return prefix + string(t) }
