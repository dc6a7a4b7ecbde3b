package enrich

import (
	"net/url"
	"strings"

	"github.com/linkstream/linkstream/services/internal/untrusted"
)

// language is the primary subtag of the first language in an Accept-Language
// header, in lower case: "de" for "de-CH, fr;q=0.8". Anything that is no language
// tag is "".
func language(header []byte) string {
	first, _, _ := strings.Cut(string(header), ",")
	first, _, _ = strings.Cut(first, ";")
	primary, _, _ := strings.Cut(strings.TrimSpace(first), "-")
	primary, _, _ = strings.Cut(primary, "_") // some clients send a locale
	if len(primary) < 2 || len(primary) > 3 {
		return ""
	}
	for i := range len(primary) {
		if c := primary[i] | 0x20; c < 'a' || c > 'z' {
			return ""
		}
	}
	return strings.ToLower(primary)
}

// Campaign is what UTM parameters say.
type Campaign struct {
	Source, Medium, Name, Term, Content string
}

// campaign reads the first value of each UTM parameter that is not empty; names
// are read whatever their case, values are kept as written.
func campaign(query []byte) Campaign {
	var c Campaign
	if !hasCampaign(query) {
		return c
	}
	for pair := range strings.SplitSeq(string(query), "&") {
		name, value, _ := strings.Cut(pair, "=")
		field := c.field(strings.ToLower(name))
		if field == nil || *field != "" {
			continue
		}
		if decoded, err := url.QueryUnescape(value); err == nil {
			value = decoded // what does not decode is kept as it came
		}
		*field = strings.TrimSpace(untrusted.Text([]byte(value), maxText))
	}
	return c
}

// hasCampaign is a quick look for "utm_", which most queries do not have.
func hasCampaign(query []byte) bool {
	for i := 0; i+4 < len(query); i++ {
		if query[i+3] == '_' && query[i]|0x20 == 'u' && query[i+1]|0x20 == 't' && query[i+2]|0x20 == 'm' {
			return true
		}
	}
	return false
}

// or fills what c does not say with what the other does.
func (c Campaign) or(other Campaign) Campaign {
	pick := func(a, b string) string {
		if a != "" {
			return a
		}
		return b
	}
	return Campaign{
		Source: pick(c.Source, other.Source), Medium: pick(c.Medium, other.Medium), Name: pick(c.Name, other.Name),
		Term: pick(c.Term, other.Term), Content: pick(c.Content, other.Content),
	}
}

func (c *Campaign) field(name string) *string {
	switch name {
	case "utm_source":
		return &c.Source
	case "utm_medium":
		return &c.Medium
	case "utm_campaign":
		return &c.Name
	case "utm_term":
		return &c.Term
	case "utm_content":
		return &c.Content
	default:
		return nil
	}
}
