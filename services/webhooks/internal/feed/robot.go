package feed

import (
	"bytes"

	"github.com/linkstream/linkstream/events/eventspb"
)

// robot says whether a click is none of a person, by what the click itself tells: a
// browser that prefetches, no user agent, or one that names itself a robot or an HTTP
// library. Analytics knows more of them by their names, so its numbers may be lower.
func robot(c *eventspb.Click) bool {
	if len(c.GetPurpose()) > 0 {
		return true
	}
	agent := bytes.ToLower(c.GetUserAgent())
	if len(bytes.TrimSpace(agent)) == 0 {
		return true
	}
	for _, token := range robotTokens() {
		if bytes.Contains(agent, []byte(token)) {
			return true
		}
	}
	return false
}

func robotTokens() []string {
	return []string{
		"bot", "crawl", "spider", "slurp", "preview", "headless", "mediapartners-google", "embedly", "facebookexternalhit", "whatsapp/",
		"monitor", "pingdom", "lighthouse", "curl/", "wget/", "libwww", "httpie", "python-", "python/", "aiohttp", "httpx", "go-http-client",
		"java/", "okhttp", "apache-httpclient", "axios/", "node-fetch", "undici", "guzzle", "ruby", "php/", "postman", "insomnia",
	}
}
