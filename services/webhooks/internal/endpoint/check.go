package endpoint

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"golang.org/x/net/idna"

	"github.com/linkstream/linkstream/services/webhooks/internal/event"
)

// Bounds of what an endpoint may ask for.
const (
	maxURL         = 2000
	maxDescription = 500
	maxFilter      = 100
	maxThresholds  = 20
	maxThreshold   = 1_000_000_000_000

	minSummaryEvery = time.Minute
	maxSummaryEvery = 24 * time.Hour
)

// DefaultSummaryEvery is how long clicks are collected unless the endpoint says so.
const DefaultSummaryEvery = 5 * time.Minute

// DefaultThresholds are those of an endpoint that names none.
func DefaultThresholds() []int64 { return []int64{100, 1_000, 10_000, 100_000, 1_000_000} }

// WrongError lists the fields that are wrong.
type WrongError []Wrong

// Wrong is what is wrong with a field.
type Wrong struct{ Field, Code, Detail string }

// Error implements error.
func (w WrongError) Error() string {
	texts := make([]string, len(w))
	for i, f := range w {
		texts[i] = f.Field + ": " + f.Detail
	}
	return strings.Join(texts, "; ")
}

func (w *WrongError) add(field, code, detail string) {
	*w = append(*w, Wrong{Field: field, Code: code, Detail: detail})
}

// Err is nil when nothing is wrong.
func (w WrongError) Err() error {
	if len(w) == 0 {
		return nil
	}
	return w
}

// Rules are what an installation allows.
type Rules struct {
	// Permits says whether a literal address may be called; see package outbound.
	Permits func(netip.Addr) bool
	// Plain allows http, which is for local stacks and tests.
	Plain bool
	// MinSummaryEvery is 0 for the usual minute.
	MinSummaryEvery time.Duration
}

// Draft is what a caller says about an endpoint, complete.
type Draft struct {
	URL, Description string
	Events           []string
	Domains, Tags    []string
	Links            []string
	Thresholds       []int64
	SummaryEvery     time.Duration
	Enabled          bool
}

// Check turns a draft into the fields of an endpoint, or says all that is wrong.
func (r *Rules) Check(d *Draft, e *Endpoint) error {
	var wrong WrongError
	e.URL, e.Description, e.Thresholds, e.SummaryEvery = r.url(d.URL, &wrong), d.Description, d.Thresholds, d.SummaryEvery
	if utf8.RuneCountInString(d.Description) > maxDescription {
		wrong.add("description", "too_long", "it has at most 500 characters")
	}
	e.Filter = Filter{Types: checkTypes(d.Events, &wrong), Domains: checkDomains(d.Domains, &wrong), Tags: d.Tags, Links: checkLinks(d.Links, &wrong)}
	if len(d.Tags) > maxFilter {
		wrong.add("tags", "too_many", "there are at most 100")
	}
	least := minSummaryEvery
	if r.MinSummaryEvery > 0 {
		least = r.MinSummaryEvery
	}
	if d.SummaryEvery < least || d.SummaryEvery > maxSummaryEvery {
		wrong.add("summary_interval_seconds", "invalid", fmt.Sprintf("it is %d to %d", int(least.Seconds()), int(maxSummaryEvery.Seconds())))
	}
	if len(d.Thresholds) > maxThresholds {
		wrong.add("click_thresholds", "too_many", "there are at most 20")
	}
	for i, t := range d.Thresholds {
		if t < 1 || t > maxThreshold {
			wrong.add(fmt.Sprintf("click_thresholds[%d]", i), "invalid", "it is 1 to 1,000,000,000,000")
		}
	}
	e.Thresholds = slices.Compact(slices.Sorted(slices.Values(d.Thresholds)))
	return wrong.Err()
}

func (r *Rules) url(text string, wrong *WrongError) string {
	u, err := url.Parse(text)
	switch {
	case len(text) > maxURL:
		wrong.add("url", "too_long", "it has at most 2,000 bytes")
	case err != nil || u.Hostname() == "" || u.Opaque != "" || strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c == 0x7f }):
		wrong.add("url", "invalid", "it is an absolute https address")
	case u.User != nil:
		wrong.add("url", "not_allowed", "credentials in it would end up in logs: verify the signature instead")
	case u.Fragment != "":
		wrong.add("url", "not_allowed", "a fragment is never sent")
	case u.Scheme != "https" && (!r.Plain || u.Scheme != "http"):
		wrong.add("url", "not_allowed", "it begins with https://")
	default:
		if addr, err := netip.ParseAddr(u.Hostname()); err == nil && !r.Permits(addr) {
			wrong.add("url", "not_allowed", "this address is not a public one")
		}
	}
	return text
}

func checkTypes(names []string, wrong *WrongError) []event.Type {
	if len(names) == 0 {
		return event.Types()
	}
	var types []event.Type
	for i, name := range names {
		t := event.Type(name)
		switch {
		case !slices.Contains(event.Types(), t):
			wrong.add(fmt.Sprintf("events[%d]", i), "invalid", "there is no such event")
		case !slices.Contains(types, t):
			types = append(types, t)
		}
	}
	return types
}

func checkDomains(names []string, wrong *WrongError) []string {
	if len(names) > maxFilter {
		wrong.add("domains", "too_many", "there are at most 100")
		return nil
	}
	hosts := []string{}
	for i, name := range names {
		host, err := idna.Lookup.ToASCII(strings.ToLower(name))
		if err != nil || host == "" {
			wrong.add(fmt.Sprintf("domains[%d]", i), "invalid", "it is a host name without scheme and port")
			continue
		}
		hosts = append(hosts, host)
	}
	return hosts
}

func checkLinks(ids []string, wrong *WrongError) []uuid.UUID {
	if len(ids) > maxFilter {
		wrong.add("link_ids", "too_many", "there are at most 100")
		return nil
	}
	links := []uuid.UUID{}
	for i, text := range ids {
		link, err := uuid.Parse(text)
		if err != nil {
			wrong.add(fmt.Sprintf("link_ids[%d]", i), "invalid", "it is the id of a link")
			continue
		}
		links = append(links, link)
	}
	return links
}
