package enrich

import "strings"

const (
	// maxAgent is how much of a user agent is looked at, in bytes.
	maxAgent = 512
	// cachedAgents bounds each of the cache's two halves. At 700 bytes an agent they
	// take about 12 MB at most; a guess at how many agents an hour really brings.
	cachedAgents = 8192
)

// agent is what a user agent says.
type agent struct {
	device  string // desktop, mobile, tablet or tv
	os      string
	browser string // or the app that shows pages itself
	bot     string // its kind
}

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

func (t *Tables) readAgent(header []byte) agent {
	if len(header) == 0 {
		return agent{}
	}
	ua := text(header, maxAgent)
	lower := strings.ToLower(ua)
	parsed := t.agents.Parse(ua)
	result := agent{
		device:  strings.ToLower(parsed.Device().String()),
		os:      parsed.OS().String(),
		browser: parsed.Browser().String(),
		bot:     t.findBot(ua, lower),
	}
	if result.os == "MacOS" {
		result.os = "macOS"
	}
	for _, a := range apps() {
		if strings.Contains(ua, a.token) {
			result.browser = a.name
			break
		}
	}
	switch {
	case containsAny(lower, tvs()) || strings.Contains(lower, "tizen") && strings.Contains(lower, " tv "):
		result.device = "tv"
	case result.device == "bot": // the parser's word for programs of every kind
		result.device = ""
	case result.os == "Android" && result.device == "mobile" && !strings.Contains(lower, "mobile"):
		result.device = "tablet" // Android's own rule: phones say Mobile
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

// automatic is the kind of bot that a Sec-Purpose or Purpose header tells of: a
// request that no person made (yet).
func automatic(purpose []byte) string {
	if len(purpose) == 0 {
		return ""
	}
	p := strings.ToLower(string(purpose))
	if containsAny(p, []string{"prefetch", "preview", "prerender"}) {
		return botPrefetch
	}
	return ""
}
