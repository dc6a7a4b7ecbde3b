package linkoption

import (
	"slices"
	"time"
)

// Limits of rules. They bound what one visit may cost an edge.
const (
	MaxRules      = 50
	MaxConditions = 20  // of a rule
	MaxValues     = 100 // of a condition
	maxValue      = 200 // characters
	// MaxRulesBytes bounds all texts of a link's rules together, targets included: an
	// edge holds them in memory.
	MaxRulesBytes = 64 << 10
)

// Type is a kind of condition.
type Type string

// The types.
const (
	Country   Type = "country"
	Region    Type = "region"
	Continent Type = "continent"
	Language  Type = "language"
	Device    Type = "device"
	OS        Type = "os"
	Browser   Type = "browser"
	Bot       Type = "bot"
	Query     Type = "query"
	Time      Type = "time"
	Address   Type = "address"
)

// Types are all types, in the order of their documentation.
func Types() []Type {
	return []Type{Country, Region, Continent, Language, Device, OS, Browser, Bot, Query, Time, Address}
}

// Rule sends those visitors to its destination for whom all conditions hold.
type Rule struct {
	Conditions  []Condition `json:"conditions" nullable:"false" minItems:"1" maxItems:"20" doc:"All of them must hold."`
	Destination string      `json:"destination" doc:"Where such visitors are sent. The same rules as for the link's destination."`
}

// Condition holds when any of its values fits; a time condition when everything that it
// sets does.
type Condition struct {
	Type     Type     `json:"type" enum:"country,region,continent,language,device,os,browser,bot,query,time,address" doc:"What is looked at."`
	Values   []string `json:"values,omitempty" nullable:"false" maxItems:"100" doc:"One of them must fit. Countries as ISO 3166-1 alpha-2 (DE), regions by name (Bavaria, or DE/Bavaria), continents as AF, AN, AS, EU, NA, OC, SA, languages as tags (en fits en-US), devices as desktop, mobile, tablet, tv, systems and browsers by name, bot as true or false, query as name or name=value, addresses as address or network. Not for time."`
	Zone     string   `json:"zone,omitempty" doc:"Only for time: the IANA zone that weekdays, from and to are in; UTC when left out."`
	Weekdays []string `json:"weekdays,omitempty" nullable:"false" enum:"mon,tue,wed,thu,fri,sat,sun" doc:"Only for time. A window past midnight belongs to the day it began on."`
	From     string   `json:"from,omitempty" pattern:"^([01][0-9]|2[0-3]):[0-5][0-9]$" doc:"Only for time, with to: the time of day from which it holds (09:00)."`
	To       string   `json:"to,omitempty" pattern:"^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$" doc:"Only for time, with from: the time of day at which it ends. Not after from means on the next day."`

	StartsAt *time.Time `json:"starts_at,omitempty" doc:"Only for time: it holds from this moment on."`
	EndsAt   *time.Time `json:"ends_at,omitempty" doc:"Only for time: it holds until this moment."`
}

// EqualRules says whether two lists mean the same, and are written the same.
func EqualRules(a, b []Rule) bool {
	return slices.EqualFunc(a, b, func(x, y Rule) bool {
		return x.Destination == y.Destination && slices.EqualFunc(x.Conditions, y.Conditions, equalCondition)
	})
}

func equalCondition(a, b Condition) bool {
	return a.Type == b.Type && slices.Equal(a.Values, b.Values) && a.Zone == b.Zone &&
		slices.Equal(a.Weekdays, b.Weekdays) && a.From == b.From && a.To == b.To &&
		equalTime(a.StartsAt, b.StartsAt) && equalTime(a.EndsAt, b.EndsAt)
}

func equalTime(a, b *time.Time) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Equal(*b)
}
