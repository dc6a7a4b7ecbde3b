package enrich

import (
	"net/url"
	"strings"
)

// referrerHost is the host of a Referer header in lower case, without port; an
// app's package name for android-app:// and the like.
func referrerHost(header []byte) string {
	u, err := url.Parse(strings.TrimSpace(text(header, len(header)*3)))
	if err != nil {
		return ""
	}
	return cut(strings.TrimSuffix(strings.ToLower(u.Hostname()), "."), maxText)
}

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

// Campaign is what the UTM parameters of the requested URL say.
type Campaign struct {
	Source, Medium, Name, Term, Content string
}

// campaign reads the first value of each UTM parameter that is not empty; names
// are read whatever their case, values are kept as written.
func campaign(query []byte) Campaign {
	var c Campaign
	if len(query) == 0 {
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
		*field = strings.TrimSpace(text([]byte(value), maxText))
	}
	return c
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
