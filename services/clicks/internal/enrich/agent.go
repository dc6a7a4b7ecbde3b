package enrich

import (
	"strings"
	"sync"

	"github.com/medama-io/go-useragent"
)

const (
	// maxAgent is how much of a user agent is looked at, in bytes.
	maxAgent = 512
	// cachedAgents bounds each of the cache's two halves. At 200 bytes an agent
	// they take about 4 MB; a guess at how many agents an hour really brings.
	cachedAgents = 8192
)

// botTokens is what crawlers and link previews call themselves, in lower case.
// Programs' HTTP libraries are not in it: a click through curl is a click.
func botTokens() []string {
	return []string{"bot", "crawler", "spider", "slurp", "facebookexternalhit", "facebookcatalog", "preview", "mediapartners-google", "embedly"}
}

// agent is what a user agent says.
type agent struct {
	device  string // desktop, mobile, tablet or tv
	os      string
	browser string
	bot     bool
}

// agents parses user agents and remembers the recent ones: when one half of the
// cache is full it becomes the old half, and what nobody asked for since is
// forgotten with it. A flood of made-up agents costs time, never memory.
type agents struct {
	parser *useragent.Parser
	tokens []string

	mu          sync.Mutex
	recent, old map[string]agent
}

func newAgents() *agents {
	return &agents{parser: useragent.NewParser(), tokens: botTokens(), recent: map[string]agent{}}
}

func (a *agents) parse(ua string) agent {
	if ua == "" {
		return agent{}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if hit, ok := a.recent[ua]; ok {
		return hit
	}
	result, ok := a.old[ua]
	if !ok {
		result = a.read(ua)
	}
	if len(a.recent) >= cachedAgents {
		a.old, a.recent = a.recent, map[string]agent{}
	}
	a.recent[ua] = result
	return result
}

func (a *agents) read(ua string) agent {
	lower := strings.ToLower(ua)
	parsed := a.parser.Parse(ua)
	result := agent{
		device:  strings.ToLower(parsed.Device().String()),
		os:      parsed.OS().String(),
		browser: parsed.Browser().String(),
		bot:     a.bot(lower),
	}
	if result.os == "MacOS" {
		result.os = "macOS"
	}
	switch {
	case result.device == "bot": // the parser's word for programs of every kind
		result.device = ""
	case result.os == "Android" && result.device == "mobile" && !strings.Contains(lower, "mobile"):
		result.device = "tablet" // Android's own rule: phones say Mobile
	}
	return result
}

func (a *agents) bot(lower string) bool {
	// A maker of telephones, in the agents of its customers.
	lower = strings.ReplaceAll(lower, "cubot", "")
	for _, token := range a.tokens {
		if strings.Contains(lower, token) {
			return true
		}
	}
	return false
}

// automatic says whether a Sec-Purpose or Purpose header marks a request that no
// person made (yet): a prefetch or a preview.
func automatic(purpose []byte) bool {
	p := strings.ToLower(string(purpose))
	return strings.Contains(p, "prefetch") || strings.Contains(p, "preview") || strings.Contains(p, "prerender")
}
