// Package enrich turns a click as an edge recorded it into the row that is
// counted: what the headers say in words that people group by, where the address
// is, and an anonymous number for the visitor.
//
// It promises that a row is the same however often it is made from one record, one
// key and one reading of the clock (an interrupted insert is made again), except for
// the place when the file of places changes in between; that every text in it is
// valid UTF-8 of bounded length whatever bytes the visitor sent; and that the
// visitor's address does not get into it. It refuses to guess: what a header does not
// say is "".
//
// The key is the same in every process only while that of the day is kept. A click
// that comes more than two days late may have another visitor number when its row is
// made again, and nothing else of it differs: see Visitors.
package enrich

import (
	"bytes"
	"net/netip"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/internal/agent"
	"github.com/linkstream/linkstream/services/internal/place"
	"github.com/linkstream/linkstream/services/internal/untrusted"
)

const (
	// maxText bounds a text that a visitor controls, in bytes: hosts end at 253, and
	// a campaign name that is longer than a line groups nothing.
	maxText = 255
	// maxSlug bounds what the edge takes from the link, in bytes: 128 characters.
	maxSlug = 512
	// MaxAhead is how far ahead an edge's clock may be before its clicks are moved to
	// the time when they were read. Clocks that are looked after differ by
	// milliseconds; a minute is not worth a mark.
	MaxAhead = time.Minute
)

// Bounds of the halves of the caches; their texts have at most maxText bytes or are
// part of a header.
const (
	// At 700 bytes an agent they take about 12 MB at most; a guess at how many agents an
	// hour really brings.
	cachedAgents    = 8192
	cachedLanguages = 1024
	cachedCampaigns = 4096
	cachedNames     = 16_384
)

type (
	// Place is where a visitor was.
	Place = place.Place
	// Places are the files that say it.
	Places = place.Files
)

// Row is one click as the table holds it. The texts about the visitor are "" when
// they are unknown.
type Row struct {
	TimeUnixMilli  int64
	ClockAhead     bool // TimeUnixMilli is when the click was read, not when it was made
	ClickID        uuid.UUID
	WorkspaceID    uuid.UUID
	LinkID         uuid.UUID
	LinkVersion    uint64
	Host           string
	Slug           string
	Status         uint16
	EdgeRegion     string
	Edge           string
	Visitor        uint64
	Bot            bool
	BotKind        string
	Place          Place
	Device         string
	OS             string
	Browser        string
	Language       string
	Referrer       string
	ReferrerSource string
	ReferrerMedium string
	Campaign       Campaign
	Variant, Rule  uint8
	Source         string
}

// Tables are what never changes: the lists of bots and sites and the parser's own.
// They are safe for concurrent use.
type Tables struct {
	agents *agent.Reader
	sites  map[string]site
}

// NewTables reads the embedded lists. It takes some milliseconds and 5 MB.
func NewTables() *Tables {
	return &Tables{agents: agent.NewReader(), sites: newSites()}
}

// Enricher makes rows. It is not safe for concurrent use: its caches are its own,
// so that side by side nobody waits.
type Enricher struct {
	agents    cache[agent.Agent]
	referrers cache[referrer]
	languages cache[string]
	campaigns cache[Campaign]
	names     cache[string]
	hosts     cache[string]
	finder    place.Finder
}

// New returns an Enricher with empty caches.
func New(tables *Tables, places *Places) *Enricher {
	return &Enricher{
		agents:    newCache(cachedAgents, tables.agents.Read),
		referrers: newCache(cachedReferrers, tables.readReferrer),
		languages: newCache(cachedLanguages, language),
		campaigns: newCache(cachedCampaigns, campaign),
		names:     newCache(cachedNames, func(b []byte) string { return untrusted.Text(b, maxSlug) }),
		hosts:     newCache(cachedNames, func(b []byte) string { return strings.ToLower(untrusted.Text(b, maxText)) }),
		finder:    place.NewFinder(places),
	}
}

// At is the time of a click in microseconds since 1970 for an ingester that reads
// it at now, and whether the edge's clock was too far ahead to be believed.
func At(c *Click, now time.Time) (unixMicro int64, ahead bool) {
	if limit := now.Add(MaxAhead).UnixMicro(); c.TimeUnixMicro > limit {
		return now.UnixMicro(), true
	}
	return c.TimeUnixMicro, false
}

// Fill makes the row of a click. The time is what At says, and the key that of its
// day: see Day and Visitors. No part of the row points into the record.
func (e *Enricher) Fill(row *Row, c *Click, unixMicro int64, ahead bool, key *Key) {
	who := e.agents.get(c.UserAgent[:min(len(c.UserAgent), agent.MaxBytes)])
	referrer := e.referrers.get(c.Referrer)
	row.TimeUnixMilli, row.ClockAhead = unixMicro/1000, ahead
	row.ClickID, row.WorkspaceID, row.LinkID = uuid.UUID(c.ID), uuid.UUID(c.WorkspaceID), uuid.UUID(c.LinkID)
	row.LinkVersion = c.LinkVersion
	row.Host, row.Slug = e.hosts.get(c.Host), e.names.get(c.SlugKey)
	row.Status = uint16(min(c.Status, 999))
	row.EdgeRegion, row.Edge = e.names.get(c.EdgeRegion), e.names.get(c.Edge)
	row.Visitor = key.visitor(c.WorkspaceID, c.Address, c.UserAgent)
	row.BotKind = who.Bot
	if row.BotKind == "" {
		row.BotKind = agent.Automatic(c.Purpose)
	}
	row.Bot = row.BotKind != ""
	addr, _ := netip.AddrFromSlice(c.Address)
	row.Place = e.finder.Find(addr)
	row.Device, row.OS, row.Browser = who.Device, who.OS, who.Browser
	row.Language = e.languages.get(c.AcceptLanguage)
	row.Referrer, row.ReferrerSource, row.ReferrerMedium = referrer.host, referrer.source, referrer.medium
	row.Campaign = e.campaign(c)
	row.Variant, row.Rule = uint8(min(c.Variant, 255)), uint8(min(c.Rule, 255))
	row.Source = e.names.get(c.Source)
}

// campaign takes what the visitor asked for before what the owner wrote into the
// target: somebody who shares a link with parameters of their own means those.
func (e *Enricher) campaign(c *Click) Campaign {
	var asked, target Campaign
	if hasCampaign(c.Query) {
		asked = e.campaigns.get(c.Query)
	}
	if hasCampaign(c.TargetQuery) && !bytes.Equal(c.Query, c.TargetQuery) {
		target = e.campaigns.get(c.TargetQuery)
	}
	return asked.or(target)
}
