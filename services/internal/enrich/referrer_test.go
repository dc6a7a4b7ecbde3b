package enrich

import (
	"strings"
	"testing"
)

func TestReferrers(t *testing.T) {
	tables := NewTables()
	check := func(header, host, source, medium string) {
		t.Helper()
		if got := tables.readReferrer([]byte(header)); got != (referrer{host, source, medium}) {
			t.Errorf("%q is %+v, want %q %q %q", header, got, host, source, medium)
		}
	}
	unknown := func(header, host string) {
		t.Helper()
		if host == "" {
			check(header, "", "", "")
			return
		}
		check(header, host, host, mediumReferral)
	}
	unknown("", "")
	unknown("https://News.Example.com/a?b=c", "news.example.com")
	unknown("http://example.com:8080/", "example.com")
	unknown("https://example.com./", "example.com")
	unknown("https://user:secret@example.com/", "example.com")
	unknown("https://[2001:db8::1]:443/", "2001:db8::1")
	unknown("not a url", "")
	unknown("https://%zz/", "")
	unknown("/relative", "")
	unknown("https://"+strings.Repeat("a", 500)+".com/", strings.Repeat("a", maxText))
	check("https://www.google.de/", "www.google.de", "Google", "search")
	check("https://www.bing.com/images/search?q=x", "www.bing.com", "Bing Images", "search")
	check("https://www.bing.com/chat", "www.bing.com", "Copilot", "ai")
	check("https://t.co/abc", "t.co", "Twitter", "social")
	check("https://l.instagram.com/?u=x", "l.instagram.com", "Instagram", "social")
	check("https://m.facebook.com/", "m.facebook.com", "Facebook", "social")
	check("https://old.reddit.com/r/x", "old.reddit.com", "Reddit", "social")
	check("https://mail.google.com/mail/u/0", "mail.google.com", "Gmail", "email")
	check("https://chatgpt.com/", "chatgpt.com", "ChatGPT", "ai")
	check("https://www.perplexity.ai/search", "www.perplexity.ai", "Perplexity", "ai")
	check("https://gemini.google.com/app", "gemini.google.com", "Gemini", "ai")
	check("https://maps.google.com/", "maps.google.com", "Google", mediumReferral)
	check("android-app://com.google.android.gm/", "com.google.android.gm", "Gmail", "email")
	check("android-app://com.linkedin.android", "com.linkedin.android", "LinkedIn", "social")
}
