package link

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/linkstream/linkstream/services/internal/address"
	"github.com/linkstream/linkstream/services/internal/linkoption"
)

// Limits of the descriptive fields, in characters.
const (
	maxTitle = 500
	maxNotes = 5000
	maxTags  = 20
	maxTag   = 64
)

// DefaultStatus is the status of a link that names none.
const DefaultStatus = 302

// Optional is a field that a request may leave out.
type Optional[T any] struct {
	Set   bool
	Value T
}

// Some is a field that was given.
func Some[T any](v T) Optional[T] { return Optional[T]{Set: true, Value: v} }

// assign writes the value, if there is one.
func (o Optional[T]) assign(to *T) {
	if o.Set {
		*to = o.Value
	}
}

// Change is what a request says about a link: all fields of a new one, or those
// that an edit names. A cleared field is set to its zero value.
type Change struct {
	// Domain is a host; a new link without one lives on the default domain.
	Domain Optional[string]
	// Slug is generated for a new link that names none.
	Slug        Optional[string]
	Destination Optional[string]
	Title       Optional[string]
	Notes       Optional[string]
	Tags        Optional[[]string]
	// StatusCode 0 means the default.
	StatusCode  Optional[int]
	StartsAt    Optional[*time.Time]
	ExpiresAt   Optional[*time.Time]
	FallbackURL Optional[string]
	Archived    Optional[bool]
	Disabled    Optional[bool]
	// MaxClicks nil means no limit, Password nil none.
	MaxClicks Optional[*int64]
	Password  Optional[*string]

	ForwardQuery Optional[ForwardQuery]
	Options      OptionsChange
}

// Checked is a change whose every field fits the rules and is in the form that is
// stored. Only Rules makes one.
type Checked struct {
	change Change
	// hosts are those of the targets, by field.
	hosts map[string]string
	// password is what is stored of the one that is given.
	password Password
}

// Domain is the host in normal form, if the change names one.
func (c *Checked) Domain() Optional[string] { return c.change.Domain }

// Slug is the slug as written, if the change names one.
func (c *Checked) Slug() Optional[string] { return c.change.Slug }

// Hosts are the hosts of the targets that the change sets, by field. None of them
// may be one of our own short domains.
func (c *Checked) Hosts() map[string]string { return c.hosts }

// Rules hold changes against what may be stored.
type Rules struct {
	// Schemes are those of targets that are allowed beyond http and https.
	Schemes []string
	// LocalNames are hosts that mean the default domain at an edge that is asked by them
	// (localhost, 127.0.0.1), LocalPorts the ports of such edges: together they are own
	// short domains.
	LocalNames []string
	LocalPorts []int
}

// own says whether a target leads to an edge by one of its local names.
func (r *Rules) own(target destination) bool {
	port, err := strconv.Atoi(target.port)
	return err == nil && slices.Contains(r.LocalPorts, port) &&
		slices.ContainsFunc(r.LocalNames, func(name string) bool { return address.Host(bracketed(name)) == target.host })
}

// bracketed is an IPv6 address as URLs have it, and any other host as it is.
func bracketed(host string) string {
	if strings.Count(host, ":") > 1 && !strings.HasPrefix(host, "[") {
		return "[" + host + "]"
	}
	return host
}

// CheckNew checks a change that makes a link: a destination is needed.
func (r *Rules) CheckNew(c Change) (*Checked, error) {
	var wrong FieldErrors
	if !c.Destination.Set {
		wrong.Add("destination", CodeRequired, "an absolute URL is needed")
	}
	return r.check(c, wrong)
}

// CheckEdit checks a change of a link. It judges the named fields only.
func (r *Rules) CheckEdit(c Change) (*Checked, error) {
	return r.check(c, nil)
}

func (r *Rules) check(c Change, wrong FieldErrors) (*Checked, error) {
	checked := &Checked{hosts: map[string]string{}}
	if c.Domain.Set {
		host, ok := ParseHost(c.Domain.Value)
		if !ok {
			wrong.Add("domain", CodeUnknownDomain, "there is no such domain in this workspace")
		}
		c.Domain.Value = host
	}
	if c.Slug.Set {
		wrong.addErr("slug", checkSlug(c.Slug.Value))
	}
	if c.Destination.Set {
		target, err := parseDestination(c.Destination.Value, r.Schemes)
		wrong.addErr("destination", err)
		if err == nil && r.own(target) {
			wrong.Add("destination", CodeOwnDomain, "the URL leads to a short domain of this service")
		}
		c.Destination.Value = target.url
		checked.hosts["destination"] = target.host
	}
	if c.FallbackURL.Set && c.FallbackURL.Value != "" {
		target, err := parseDestination(c.FallbackURL.Value, r.Schemes)
		wrong.addErr("fallback_url", err)
		if err == nil && r.own(target) {
			wrong.Add("fallback_url", CodeOwnDomain, "the URL leads to a short domain of this service")
		}
		c.FallbackURL.Value = target.url
		checked.hosts["fallback_url"] = target.host
	}
	wrong.addErr("title", checkText(c.Title.Value, maxTitle))
	wrong.addErr("notes", checkText(c.Notes.Value, maxNotes))
	c.Tags.Value = normalTags(c.Tags.Value, &wrong)
	if c.StatusCode.Set {
		switch c.StatusCode.Value {
		case 0:
			c.StatusCode.Value = DefaultStatus
		case 301, 302, 307, 308:
		default:
			wrong.Add("status_code", CodeInvalid, "the status must be 301, 302, 307 or 308")
		}
	}
	if c.ForwardQuery.Set && !c.ForwardQuery.Value.known() {
		wrong.Add("forward_query", CodeInvalid, "it must be off, add, visitor_wins or owner_wins")
	}
	if n := c.MaxClicks.Value; n != nil && (*n < 1 || *n > linkoption.MaxClicks) {
		wrong.Add("max_clicks", CodeInvalid, "the limit is a number from 1 to 1,000,000,000,000; null means none")
	}
	c.Options.check(r.target(checked.hosts), &wrong)
	checkTime("variants_end_at", &c.Options.VariantsEndAt, &wrong)
	wrong.addErr("password", checkPassword(c.Password.Value))
	checkTime("starts_at", &c.StartsAt, &wrong)
	checkTime("expires_at", &c.ExpiresAt, &wrong)
	checked.change = c
	return checked, wrong.Err()
}

// checkText refuses what cannot be stored or shown: Postgres takes no NUL in text.
func checkText(s string, limit int) *ruleError {
	switch {
	case !utf8.ValidString(s) || strings.ContainsRune(s, 0):
		return broken(CodeInvalid, "the text has characters that cannot be stored")
	case utf8.RuneCountInString(s) > limit:
		return broken(CodeTooLong, "the text is too long")
	}
	return nil
}

// normalTags trims tags and drops empty and repeated ones, keeping their order.
func normalTags(tags []string, wrong *FieldErrors) []string {
	out := []string{}
	for _, tag := range tags {
		tag = strings.TrimSpace(tag)
		if tag == "" || slices.Contains(out, tag) {
			continue
		}
		if len(out) == maxTags {
			wrong.addf("tags", CodeTooMany, "a link has at most %d tags", maxTags)
			break
		}
		switch {
		case utf8.RuneCountInString(tag) > maxTag:
			wrong.addf("tags", CodeTooLong, "a tag has at most %d characters", maxTag)
		case strings.ContainsFunc(tag, isControl) || !utf8.ValidString(tag):
			wrong.Add("tags", CodeInvalid, "a tag has no control characters")
		}
		out = append(out, tag)
	}
	return out
}

// checkTime keeps times within what RFC 3339, Postgres and Protobuf can all hold,
// and cuts them to the microseconds that Postgres keeps.
func checkTime(field string, o *Optional[*time.Time], wrong *FieldErrors) {
	if o.Value == nil {
		return
	}
	t := o.Value.UTC().Truncate(time.Microsecond)
	if year := t.Year(); year < 1 || year > 9999 {
		wrong.Add(field, CodeInvalid, "the year must be between 1 and 9999")
	}
	o.Value = &t
}

// Apply writes the checked fields to the link, except domain and slug, which need
// the store and are there already. It fails when the outcome as a whole is wrong.
func (c *Checked) Apply(l *Link) error {
	c.change.Destination.assign(&l.Destination)
	c.change.Title.assign(&l.Title)
	c.change.Notes.assign(&l.Notes)
	c.change.Tags.assign(&l.Tags)
	c.change.StatusCode.assign(&l.StatusCode)
	c.change.StartsAt.assign(&l.StartsAt)
	c.change.ExpiresAt.assign(&l.ExpiresAt)
	c.change.FallbackURL.assign(&l.FallbackURL)
	c.change.ForwardQuery.assign(&l.ForwardQuery)
	c.change.Archived.assign(&l.Archived)
	c.change.Disabled.assign(&l.Disabled)
	c.applyLimit(l)
	if err := c.applyPassword(l); err != nil {
		return err
	}
	if err := c.change.Options.apply(&l.Options); err != nil {
		return err
	}
	if c.change.Options.ForwardPath.Set || c.change.Slug.Set {
		var wrong FieldErrors
		wrong.addOptions(linkoption.CheckForwardPath(l.Slug, l.Options.ForwardPath))
		if err := wrong.Err(); err != nil {
			return err
		}
	}
	timesNamed := c.change.StartsAt.Set || c.change.ExpiresAt.Set
	if timesNamed && l.StartsAt != nil && l.ExpiresAt != nil && !l.StartsAt.Before(*l.ExpiresAt) {
		return FieldErrors{{Field: "expires_at", Code: CodeInvalid, Detail: "expires_at must be after starts_at"}}
	}
	return nil
}

// applyLimit notes where counting begins: at the version that the change is about to
// make. A limit that is raised or lowered goes on counting.
func (c *Checked) applyLimit(l *Link) {
	switch limit := c.change.MaxClicks; {
	case !limit.Set:
	case limit.Value == nil:
		l.MaxClicks, l.MaxClicksSince = 0, 0
	default:
		if l.MaxClicks == 0 {
			l.MaxClicksSince = l.Version + 1
		}
		l.MaxClicks = *limit.Value
	}
}

// Same says whether two states of a link look the same to its owner, so that
// storing the second over the first would be no change.
func Same(a, b *Link) bool {
	return a.Domain.ID == b.Domain.ID && a.Slug == b.Slug && a.Destination == b.Destination &&
		a.Title == b.Title && a.Notes == b.Notes && slices.Equal(a.Tags, b.Tags) &&
		a.StatusCode == b.StatusCode && sameTime(a.StartsAt, b.StartsAt) && sameTime(a.ExpiresAt, b.ExpiresAt) &&
		a.FallbackURL == b.FallbackURL && a.ForwardQuery == b.ForwardQuery && a.Archived == b.Archived &&
		a.Disabled == b.Disabled && a.MaxClicks == b.MaxClicks && a.Password.Hash == b.Password.Hash &&
		sameOptions(&a.Options, &b.Options)
}

func sameTime(a, b *time.Time) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Equal(*b)
}
