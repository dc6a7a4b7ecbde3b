// Package agent reads User-Agent headers: what device, system and browser a visitor has,
// and whether it is a program rather than a person.
//
// It promises one answer to all who ask: what the edge decides by and what clicks are
// counted under cannot differ. It refuses to guess: what a header does not say is "".
//
// Reading an agent takes some microseconds and allocates; whoever does it for every
// request keeps what was read.
package agent

import (
	"strings"

	"github.com/medama-io/go-useragent"

	"github.com/linkstream/linkstream/services/internal/untrusted"
)

// MaxBytes is how much of a header is looked at. Longer ones need not be kept.
const MaxBytes = 512

// Agent is what a user agent says.
type Agent struct {
	Device  string // desktop, mobile, tablet or tv
	OS      string
	Browser string // or the app that shows pages itself
	Bot     string // its kind
}

// Reader reads agents. It is safe for concurrent use.
type Reader struct {
	parser *useragent.Parser
	bots   *botMatcher
}

// NewReader reads the embedded lists. It takes some milliseconds and 4 MB.
func NewReader() *Reader { return &Reader{parser: useragent.NewParser(), bots: newBotMatcher()} }

// app is a program that opens links in a view of its own. The parser takes them for
// the browser whose engine they use.
type app struct{ token, name string }

func apps() []app {
	return []app{
		{"Instagram", "Instagram"},
		{"Barcelona", "Threads"},
		{"FBAN/Messenger", "Messenger"},
		{"FB_IAB/MESSENGER", "Messenger"},
		{"FB_IAB/Orca", "Messenger"},
		{"FBAN", "Facebook"},
		{"FBAV", "Facebook"},
		{"BytedanceWebview", "TikTok"},
		{"musical_ly", "TikTok"},
		{"LinkedInApp", "LinkedIn"},
		{"Snapchat", "Snapchat"},
		{"Pinterest", "Pinterest"},
		{"Line/", "LINE"},
		{"MicroMessenger", "WeChat"},
		{"Twitter for ", "X"},
		{"GSA/", "Google app"},
	}
}

// tvs is what television sets call themselves, in lower case.
func tvs() []string {
	return []string{"smart-tv", "smarttv", "hbbtv", "googletv", "appletv", "apple tv", "web0s", "tizen/tv", "roku", "bravia"}
}

// Read reads a header.
func (r *Reader) Read(header []byte) Agent {
	if len(header) == 0 {
		return Agent{}
	}
	ua := untrusted.Text(header, MaxBytes)
	lower := strings.ToLower(ua)
	parsed := r.parser.Parse(ua)
	result := Agent{
		Device:  strings.ToLower(parsed.Device().String()),
		OS:      parsed.OS().String(),
		Browser: parsed.Browser().String(),
		Bot:     r.findBot(ua, lower),
	}
	if result.OS == "MacOS" {
		result.OS = "macOS"
	}
	for _, a := range apps() {
		if strings.Contains(ua, a.token) {
			result.Browser = a.name
			break
		}
	}
	switch {
	case containsAny(lower, tvs()) || strings.Contains(lower, "tizen") && strings.Contains(lower, " tv "):
		result.Device = "tv"
	case result.Device == "bot": // the parser's word for programs of every kind
		result.Device = ""
	case result.OS == "Android" && result.Device == "mobile" && !strings.Contains(lower, "mobile"):
		result.Device = "tablet" // Android's own rule: phones say Mobile
	}
	return result
}

func containsAny(s string, tokens []string) bool {
	for _, token := range tokens {
		if strings.Contains(s, token) {
			return true
		}
	}
	return false
}

// Automatic is the kind of bot that a Sec-Purpose or Purpose header tells of: a request
// that no person made (yet). "" is none.
func Automatic(purpose []byte) string {
	if len(purpose) == 0 {
		return ""
	}
	p := strings.ToLower(string(purpose))
	if containsAny(p, []string{"prefetch", "preview", "prerender"}) {
		return Prefetch
	}
	return ""
}
