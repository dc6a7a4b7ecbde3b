package agent

import (
	"os"
	"slices"
	"strings"
	"testing"
)

const (
	chrome = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36"
	iphone = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1"
)

func TestAgents(t *testing.T) {
	reader := NewReader()
	check := func(ua string, want Agent) {
		t.Helper()
		if got := reader.Read([]byte(ua)); got != want {
			t.Errorf("%q is %+v, want %+v", ua, got, want)
		}
	}
	check("", Agent{})
	check(chrome, Agent{Device: "desktop", OS: "Windows", Browser: "Chrome"})
	check(iphone, Agent{Device: "mobile", OS: "iOS", Browser: "Safari"})
	check("Mozilla/5.0 (iPad; CPU OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1",
		Agent{Device: "tablet", OS: "iOS", Browser: "Safari"})
	check("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Safari/605.1.15",
		Agent{Device: "desktop", OS: "macOS", Browser: "Safari"})
	check("Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0", Agent{Device: "desktop", OS: "Linux", Browser: "Firefox"})
	check("Mozilla/5.0 (Linux; Android 14; SM-X700) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36",
		Agent{Device: "tablet", OS: "Android", Browser: "Chrome"})
	check("Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36",
		Agent{Device: "mobile", OS: "Android", Browser: "Chrome"})
	check("Mozilla/5.0 (SMART-TV; Linux; Tizen 6.5) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/4.0 Chrome/85.0.4183.93 TV Safari/537.36",
		Agent{Device: "tv", OS: "Linux", Browser: "Samsung Browser"})

	const phone = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148"
	app := func(suffix, want string) {
		t.Helper()
		check(phone+" "+suffix, Agent{Device: "mobile", OS: "iOS", Browser: want})
	}
	app("Instagram 334.0.4.32.98 (iPhone14,5; iOS 17_5; de_DE; de; scale=3.00; 1170x2532; 605596538)", "Instagram")
	app("[FBAN/FBIOS;FBAV/465.0.0.39.108;FBBV/602060283;FBDV/iPhone14,5]", "Facebook")
	app("[FBAN/MessengerForiOS;FBAV/460.0.0.39.108]", "Messenger")
	app("musical_ly_35.1.0 JsSdk/2.0 NetType/WIFI Channel/App Store BytedanceWebview/d8a21c6", "TikTok")
	app("[LinkedInApp]/9.29.8962", "LinkedIn")
	app("Safari Line/14.9.0", "LINE")
	app("MicroMessenger/8.0.49(0x18003129) NetType/WIFI Language/zh_CN", "WeChat")
	app("GSA/321.0.643338309 Safari/604.1", "Google app")
	app("Snapchat/12.90.0.39 (like Safari/8618.2.12.10.9, panda)", "Snapchat")
	app("[Pinterest/iOS]", "Pinterest")
	app("Twitter for iPhone/10.47", "X")

	bot := func(ua, want string) {
		t.Helper()
		if got := reader.Read([]byte(ua)).Bot; got != want {
			t.Errorf("%q: the bot is %q, want %q", ua, got, want)
		}
	}
	bot("Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", "search-engine")
	bot("Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)", "ai-crawler")
	bot("Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; ClaudeBot/1.0; +claudebot@anthropic.com)", "ai-crawler")
	bot("facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)", "social-preview")
	bot("WhatsApp/2.23.20.0", "social-preview")
	bot("Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)", "social-preview")
	bot("Mozilla/5.0 (compatible; Yahoo! Slurp; http://help.yahoo.com/help/us/ysearch/slurp)", "search-engine")
	bot("SkypeUriPreview Preview/0.5", "social-preview")
	bot("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/126.0.0.0 Safari/537.36", "browser-automation")
	bot("curl/8.5.0", "http-library")
	bot("Go-http-client/1.1", "http-library")
	bot("python-requests/2.32.0", "http-library")
	bot("Wget/1.21.3", "http-library")
	bot("okhttp/4.12.0", "http-library")
	bot("my-own-crawler/0.1", Other)
	bot("Mozilla/5.0 (Linux; Android 13; CUBOT P80) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36", "")
	bot("Mozilla/5.0 (X11; Linux x86_64) libcurl", "") // an anchored pattern in the middle
	bot(iphone, "")
	bot(chrome, "")
}

// Every entry of the list is found by what the list itself gives as examples.
func TestTheListKnowsItsExamples(t *testing.T) {
	file, err := os.ReadFile("testdata/crawlers.txt")
	if err != nil {
		t.Fatal(err)
	}
	reader := NewReader()
	examples := 0
	for line := range strings.Lines(string(file)) {
		_, ua, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		examples++
		if reader.Read([]byte(ua)).Bot == "" {
			t.Errorf("no bot: %q", ua)
		}
	}
	if examples < 1500 {
		t.Errorf("%d examples", examples)
	}
}

// The matcher against the plain way of asking for each word.
func FuzzBots(f *testing.F) {
	f.Add("Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)")
	f.Add("curl/8 sentry/1")
	f.Add("xcurl")
	f.Add("\x01curl")
	m := newBotMatcher()
	type pattern struct{ kind, anchor, text string }
	var patterns []pattern
	for line := range strings.Lines(botsFile) {
		if fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t"); len(fields) == 3 {
			patterns = append(patterns, pattern{fields[0], fields[1], fields[2]})
		}
	}
	f.Fuzz(func(t *testing.T, ua string) {
		best := len(m.kinds)
		whole := string(start) + ua
		for _, p := range patterns {
			found := false
			switch p.anchor {
			case "-":
				found = strings.Contains(ua, p.text)
			case "^":
				found = strings.Contains(whole, string(start)+p.text)
			case " ":
				found = strings.Contains(whole, string(start)+p.text) || strings.Contains(whole, " "+p.text)
			}
			if found {
				best = min(best, slices.Index(m.kinds, p.kind))
			}
		}
		want := ""
		if best < len(m.kinds) {
			want = m.kinds[best]
		}
		if got := m.find(ua); got != want {
			t.Errorf("%q is %q, want %q", ua, got, want)
		}
	})
}
