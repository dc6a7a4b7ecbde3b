// Package enrich turns a click as an edge recorded it into the row that is
// counted: what the headers say in words that people group by, and an anonymous
// number for the visitor.
//
// It promises that a row is the same however often it is made from one record and
// one key (an interrupted insert is made again), that every text in it is valid
// UTF-8 of bounded length whatever bytes the visitor sent, and that the visitor's
// address does not get into it. It refuses to guess: what a header does not say is "".
//
// The key is the same in every process only while that of the day is kept. A click
// that comes more than two days late, or from a clock more than a day ahead, may have
// another visitor number when its row is made again, and nothing else of it differs:
// see Visitors.
package enrich

import (
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/linkstream/linkstream/events/eventspb"
)

// maxText bounds a text that a visitor controls, in bytes: hosts end at 253, and
// a campaign name that is longer than a line groups nothing.
const maxText = 255

// Row is one click as the table holds it. The texts about the visitor are "" when
// they are unknown; place is unknown for now.
type Row struct {
	TimeUnixMilli int64
	ClickID       uuid.UUID
	WorkspaceID   uuid.UUID
	LinkID        uuid.UUID
	LinkVersion   uint64
	Host          string
	Slug          string
	Status        uint16
	EdgeRegion    string
	Edge          string
	Visitor       uint64
	Bot           bool
	Country       string
	Region        string
	City          string
	Continent     string
	Device        string
	OS            string
	Browser       string
	Language      string
	Referrer      string
	Campaign      Campaign
}

// Enricher makes rows. It is safe for concurrent use.
type Enricher struct {
	agents *agents
}

// New returns an Enricher with an empty cache of user agents.
func New() *Enricher { return &Enricher{agents: newAgents()} }

// Row makes the row of a decoded click. The key is that of the click's day: see
// Day and Visitors.
func (e *Enricher) Row(c *eventspb.Click, key Key) Row {
	agent := e.agents.parse(text(c.GetUserAgent(), maxAgent))
	return Row{
		TimeUnixMilli: c.GetTimeUnixUs() / 1000,
		ClickID:       uuid.UUID(c.GetId()),
		WorkspaceID:   uuid.UUID(c.GetWorkspaceId()),
		LinkID:        uuid.UUID(c.GetLinkId()),
		LinkVersion:   c.GetLinkVersion(),
		Host:          strings.ToLower(c.GetHost()),
		Slug:          c.GetSlugKey(),
		Status:        uint16(min(c.GetStatus(), 999)),
		EdgeRegion:    c.GetEdgeRegion(),
		Edge:          c.GetEdge(),
		Visitor:       key.visitor(c.GetWorkspaceId(), c.GetAddress(), c.GetUserAgent()),
		Bot:           agent.bot || automatic(c.GetPurpose()),
		Device:        agent.device,
		OS:            agent.os,
		Browser:       agent.browser,
		Language:      language(c.GetAcceptLanguage()),
		Referrer:      referrerHost(c.GetReferrer()),
		Campaign:      campaign(c.GetQuery()),
	}
}

// text makes bytes of a visitor a text: valid UTF-8 (what is not becomes
// U+FFFD), no NUL, at most limit bytes, cut between two characters.
func text(b []byte, limit int) string {
	return cut(strings.ReplaceAll(strings.ToValidUTF8(string(b), "\uFFFD"), "\x00", "\uFFFD"), limit)
}

func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}
