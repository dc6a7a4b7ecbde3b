package enrich

import (
	_ "embed"
	"maps"
	"net/url"
	"strings"

	"github.com/linkstream/linkstream/services/internal/untrusted"
)

//go:embed data/referrers.tsv
var referrersFile string

// cachedReferrers and the other bounds of caches are for each half; a header has at
// most 2 KB.
const cachedReferrers = 4096

// referrer is what a Referer header says: the host, and the site and the kind of
// site behind it (search, social, email, paid, ai, referral).
type referrer struct {
	host, source, medium string
}

type site struct{ source, medium string }

const mediumReferral = "referral"

// newerSites is what the list does not have: assistants, newer networks and apps,
// which send their package's name.
func newerSites() map[string]site {
	const ai, social, email, search = "ai", "social", "email", "search"
	return map[string]site{
		"chatgpt.com": {"ChatGPT", ai}, "chat.openai.com": {"ChatGPT", ai},
		"claude.ai":             {"Claude", ai},
		"perplexity.ai":         {"Perplexity", ai},
		"gemini.google.com":     {"Gemini", ai},
		"bard.google.com":       {"Gemini", ai},
		"copilot.microsoft.com": {"Copilot", ai}, "bing.com/chat": {"Copilot", ai},
		"chat.deepseek.com": {"DeepSeek", ai},
		"grok.com":          {"Grok", ai},
		"chat.mistral.ai":   {"Mistral", ai},
		"meta.ai":           {"Meta AI", ai},
		"poe.com":           {"Poe", ai},
		"you.com":           {"You.com", ai},
		"phind.com":         {"Phind", ai},

		"x.com": {"Twitter", social}, "com.twitter.android": {"Twitter", social},
		"tiktok.com": {"TikTok", social}, "com.zhiliaoapp.musically": {"TikTok", social},
		"t.me": {"Telegram", social}, "web.telegram.org": {"Telegram", social}, "org.telegram.messenger": {"Telegram", social},
		"discord.com": {"Discord", social}, "com.discord": {"Discord", social},
		"snapchat.com": {"Snapchat", social}, "com.snapchat.android": {"Snapchat", social},
		"com.facebook.katana": {"Facebook", social}, "com.facebook.orca": {"Messenger", social},
		"com.instagram.android": {"Instagram", social}, "com.instagram.barcelona": {"Threads", social},
		"com.linkedin.android": {"LinkedIn", social}, "lnkd.in": {"LinkedIn", social},
		"com.reddit.frontpage": {"Reddit", social},
		"com.pinterest":        {"Pinterest", social},
		"com.whatsapp":         {"WhatsApp", social},
		"com.slack":            {"Slack", social}, "app.slack.com": {"Slack", social},
		"com.google.android.youtube": {"Youtube", social},

		"com.google.android.gm": {"Gmail", email}, "com.microsoft.office.outlook": {"Outlook", email},
		"com.google.android.googlequicksearchbox": {"Google", search},
	}
}

func newSites() map[string]site {
	sites := make(map[string]site, 2500)
	for line := range strings.Lines(referrersFile) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(fields) == 3 {
			sites[fields[0]] = site{fields[1], fields[2]}
		}
	}
	maps.Copy(sites, newerSites())
	return sites
}

func (t *Tables) readReferrer(header []byte) referrer {
	if len(header) == 0 {
		return referrer{}
	}
	u, err := url.Parse(strings.TrimSpace(untrusted.Text(header, len(header)*3)))
	if err != nil {
		return referrer{}
	}
	host := untrusted.Cut(strings.TrimSuffix(strings.ToLower(u.Hostname()), "."), maxText)
	if host == "" {
		return referrer{}
	}
	found := t.findSite(host, strings.TrimSuffix(u.Path, "/"))
	return referrer{host: host, source: found.source, medium: found.medium}
}

// findSite looks for the host and then for the domains above it. An entry may name
// a folder of a host. A host that is not known is its own source.
func (t *Tables) findSite(host, path string) site {
	if path != "" {
		if s, ok := t.lookUp(host, path); ok {
			return s
		}
	}
	if s, ok := t.lookUp(host, ""); ok {
		return s
	}
	return site{host, mediumReferral}
}

func (t *Tables) lookUp(host, path string) (site, bool) {
	for domain := host; domain != ""; {
		if s, ok := t.sites[domain+path]; ok {
			return s, true
		}
		_, domain, _ = strings.Cut(domain, ".")
	}
	return site{}, false
}
