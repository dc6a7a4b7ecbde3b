package linkoption

import (
	"net/url"
	"strings"
)

// maxCampaign bounds a campaign parameter, in characters.
const maxCampaign = 500

// UTM are the campaign parameters that a link's targets get.
type UTM struct {
	Source   string `json:"source,omitempty" maxLength:"500"`
	Medium   string `json:"medium,omitempty" maxLength:"500"`
	Campaign string `json:"campaign,omitempty" maxLength:"500"`
	Term     string `json:"term,omitempty" maxLength:"500"`
	Content  string `json:"content,omitempty" maxLength:"500"`
}

type parameter struct{ name, value string }

func (u *UTM) parameters() []parameter {
	return []parameter{
		{"utm_source", u.Source},
		{"utm_medium", u.Medium},
		{"utm_campaign", u.Campaign},
		{"utm_term", u.Term},
		{"utm_content", u.Content},
	}
}

// CheckUTM holds campaign parameters against the limits.
func CheckUTM(u UTM) []FieldError {
	var wrong problems
	for _, p := range u.parameters() {
		field := "utm." + strings.TrimPrefix(p.name, "utm_")
		wrong.text(field, p.value, maxCampaign)
	}
	return wrong
}

// Merge is the target with those parameters in its query that it does not have: its own
// stay, whatever their case. They come behind its own and before the fragment; its other
// bytes are left as they are.
func (u UTM) Merge(target string) string {
	if u == (UTM{}) {
		return target
	}
	rest, fragment := target, ""
	if hash := strings.IndexByte(target, '#'); hash >= 0 {
		rest, fragment = target[:hash], target[hash:]
	}
	_, query, hasQuery := strings.Cut(rest, "?")
	var b strings.Builder
	b.WriteString(rest)
	separator := byte('?')
	switch {
	case hasQuery && (query == "" || strings.HasSuffix(query, "&")):
		separator = 0
	case hasQuery:
		separator = '&'
	}
	for _, p := range u.parameters() {
		if p.value == "" || hasParameter(query, p.name) {
			continue
		}
		if separator != 0 {
			b.WriteByte(separator)
		}
		separator = '&'
		b.WriteString(p.name)
		b.WriteByte('=')
		b.WriteString(strings.ReplaceAll(url.QueryEscape(p.value), "+", "%20"))
	}
	b.WriteString(fragment)
	return b.String()
}

// hasParameter says whether a query has a parameter of this name, in any case, as it
// decodes.
func hasParameter(query, name string) bool {
	for pair := range strings.SplitSeq(query, "&") {
		own, _, _ := strings.Cut(pair, "=")
		if decoded, err := url.QueryUnescape(own); err == nil {
			own = decoded
		}
		if strings.EqualFold(own, name) {
			return true
		}
	}
	return false
}
