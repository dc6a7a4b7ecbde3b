package feed

import (
	"testing"

	"github.com/linkstream/linkstream/events/eventspb"
)

func TestRobotsAreTold(t *testing.T) {
	check := func(agent, purpose string, want bool) {
		t.Helper()
		if got := robot(&eventspb.Click{UserAgent: []byte(agent), Purpose: []byte(purpose)}); got != want {
			t.Errorf("%q with purpose %q is a robot: %v", agent, purpose, got)
		}
	}
	const (
		firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
		iphone  = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1"
	)
	check(firefox, "", false)
	check(iphone, "", false)
	check("Mozilla/5.0 (Linux; Android 15; SM-S931B) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile Safari/537.36 Instagram 400.0", "", false)
	check(firefox, "prefetch", true)
	check("", "", true)
	check("  ", "", true)
	check("curl/8.5.0", "", true)
	check("python-requests/2.32", "", true)
	check("Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", "", true)
	check("facebookexternalhit/1.1", "", true)
	check("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/142.0.0.0 Safari/537.36", "", true)
	check("\xff\xfe", "", false)
}
