package link

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"golang.org/x/net/idna"

	"github.com/linkstream/linkstream/services/internal/address"
)

// What can go wrong with a domain, beyond its fields.
var (
	// ErrDomainTaken: somebody has the host already.
	ErrDomainTaken = errors.New("the host is taken")
	// ErrSharedDomain: the domain is every workspace's, and no one's to change.
	ErrSharedDomain = errors.New("the domain belongs to the installation")
)

// DomainInUseError says that links live on a domain, so that it can neither be deleted
// nor change its case rule, which would change the keys they are found by.
type DomainInUseError struct {
	// Links is how many; MaxDomainCount stands for more, too.
	Links int64
}

// MaxDomainCount bounds the counting: nobody waits for millions to be counted.
const MaxDomainCount = 10_000

// Error implements error.
func (e *DomainInUseError) Error() string {
	switch e.Links {
	case 1:
		return "one link lives on the domain"
	case MaxDomainCount:
		return fmt.Sprintf("%d links or more live on the domain", e.Links)
	}
	return fmt.Sprintf("%d links live on the domain", e.Links)
}

// DomainRecord is a domain with all that its owner may say about it.
type DomainRecord struct {
	Domain
	// WorkspaceID is uuid.Nil when every workspace may use the domain, and none change it.
	WorkspaceID uuid.UUID
	// HomeURL is where / leads, FallbackURL where an unknown slug leads, and an expired
	// link that has no fallback of its own. Empty means nowhere.
	HomeURL, FallbackURL string
	// PreviewPages says whether a + behind a slug shows where the link leads.
	PreviewPages bool
	// Version counts this domain's changes from 1.
	Version              uint64
	CreatedAt, UpdatedAt time.Time
}

// Shared says whether every workspace may use the domain.
func (d *DomainRecord) Shared() bool { return d.WorkspaceID == uuid.Nil }

// UnicodeHost is the host as people read it.
func (d *DomainRecord) UnicodeHost() string {
	shown, err := idna.Display.ToUnicode(d.Host)
	if err != nil {
		return d.Host // stored under other rules
	}
	return shown
}

// DomainPosition is a place in the list of domains, which is ordered as that of links.
type DomainPosition struct {
	CreatedAt time.Time
	ID        uuid.UUID
}

// DomainPage is a part of the list.
type DomainPage struct {
	Domains []DomainRecord
	// Next is where the next page begins; nil when there is none.
	Next *DomainPosition
}

// DomainChange is what a request says about a domain. A cleared URL is set to "".
type DomainChange struct {
	// Host is for new domains only: another host would be another domain.
	Host                 Optional[string]
	HomeURL, FallbackURL Optional[string]
	CaseSensitive        Optional[bool]
	PreviewPages         Optional[bool]
}

// CheckedDomain is a change whose every field fits the rules. Only Rules makes one.
type CheckedDomain struct {
	change DomainChange
	// hosts are those of the URLs, by field.
	hosts map[string]string
}

// NewDomain is a domain that shall be made.
type NewDomain struct {
	WorkspaceID, ID uuid.UUID
	// MayExist says that an earlier try whose outcome nobody saw may have made it.
	MayExist bool
	Checked  *CheckedDomain
}

// Host is the host in normal form, of a change that makes a domain.
func (c *CheckedDomain) Host() string { return c.change.Host.Value }

// Hosts are the hosts of the URLs that the change sets, by field. None of them may be
// one of our own short domains, this one included: its visitors would go in circles.
func (c *CheckedDomain) Hosts() map[string]string { return c.hosts }

// Apply writes the named fields to the domain, except the host.
func (c *CheckedDomain) Apply(d *DomainRecord) {
	c.change.HomeURL.assign(&d.HomeURL)
	c.change.FallbackURL.assign(&d.FallbackURL)
	c.change.CaseSensitive.assign(&d.CaseSensitive)
	c.change.PreviewPages.assign(&d.PreviewPages)
}

// SameDomain says whether two states of a domain look the same to its owner.
func SameDomain(a, b *DomainRecord) bool {
	return a.HomeURL == b.HomeURL && a.FallbackURL == b.FallbackURL && a.CaseSensitive == b.CaseSensitive && a.PreviewPages == b.PreviewPages
}

// CheckNewDomain checks a change that makes a domain: a host is needed.
func (r *Rules) CheckNewDomain(c DomainChange) (*CheckedDomain, error) {
	var wrong FieldErrors
	host, err := newHost(c.Host.Value)
	wrong.addErr("host", err)
	c.Host.Value = host
	return r.checkDomain(c, wrong)
}

// CheckDomainEdit checks a change of a domain. It judges the named fields only.
func (r *Rules) CheckDomainEdit(c DomainChange) (*CheckedDomain, error) { return r.checkDomain(c, nil) }

func (r *Rules) checkDomain(c DomainChange, wrong FieldErrors) (*CheckedDomain, error) {
	checked := &CheckedDomain{hosts: map[string]string{}}
	for _, f := range []struct {
		name string
		url  *Optional[string]
	}{{"home_url", &c.HomeURL}, {"fallback_url", &c.FallbackURL}} {
		if !f.url.Set || f.url.Value == "" {
			continue
		}
		target, err := parseDestination(f.url.Value, nil) // a browser is sent there unasked: http and https only
		wrong.addErr(f.name, err)
		f.url.Value = target.url
		if err == nil {
			checked.hosts[f.name] = target.host
		}
	}
	checked.change = c
	return checked, wrong.Err()
}

// newHost holds the host of a new domain against the rules and returns its normal form.
// They are stricter than for the host of a target: this one has to be registered, get a
// certificate, and reach an edge.
func newHost(raw string) (string, *ruleError) {
	raw = strings.TrimSpace(raw)
	switch {
	case raw == "":
		return "", broken(CodeRequired, "a host name is needed, for instance go.example.com")
	case !utf8.ValidString(raw):
		return "", broken(CodeInvalid, "the host is not valid UTF-8")
	case strings.Contains(raw, "://") || strings.ContainsAny(raw, "/?#@"):
		return "", broken(CodeInvalid, "a host name is needed, not a URL")
	}
	if _, err := netip.ParseAddr(strings.Trim(raw, "[]")); err == nil {
		return "", broken(CodeNotAllowed, "a domain is a name, not an address")
	}
	if strings.Contains(raw, ":") {
		return "", broken(CodeInvalid, "a domain has no port")
	}
	host, err := idna.Lookup.ToASCII(strings.TrimSuffix(raw, "."))
	if err != nil || !isHostName(host) || host != address.Host(host) {
		return "", broken(CodeInvalid, "this is no valid domain name")
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	switch {
	case last == host:
		return "", broken(CodeNotAllowed, "a domain has two parts at least: a name without a dot means a machine nearby")
	case isNumeric(last):
		return "", broken(CodeNotAllowed, "a domain is a name, not an address")
	}
	return host, nil
}

// isNumeric says whether browsers take a name that ends in this label for an IPv4
// address, in one of its odd spellings.
func isNumeric(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}
