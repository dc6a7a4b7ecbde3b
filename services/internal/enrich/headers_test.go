package enrich

import (
	"strings"
	"testing"
)

func TestLanguage(t *testing.T) {
	check := func(header, want string) {
		t.Helper()
		if got := language([]byte(header)); got != want {
			t.Errorf("language(%q) = %q, want %q", header, got, want)
		}
	}
	check("", "")
	check("de", "de")
	check("de-CH, fr;q=0.8", "de")
	check("EN-us;q=0.9,de", "en")
	check("pt_BR", "pt")
	check("gsw-CH", "gsw")
	check("*", "")
	check("x", "")
	check("english", "")
	check("d\xff", "")
	check(" fr ,en", "fr")
}

func TestCampaign(t *testing.T) {
	check := func(query string, want Campaign) {
		t.Helper()
		if got := campaign([]byte(query)); got != want {
			t.Errorf("campaign(%q) = %+v, want %+v", query, got, want)
		}
	}
	check("", Campaign{})
	check("a=b", Campaign{})
	check("utm_source=news&utm_medium=email&utm_campaign=spring+sale&utm_term=%C3%BC&utm_content=x%26y",
		Campaign{Source: "news", Medium: "email", Name: "spring sale", Term: "ü", Content: "x&y"})
	check("UTM_Source=News", Campaign{Source: "News"})
	check("utm_source=&utm_source=a&utm_source=b", Campaign{Source: "a"})
	check("utm_source", Campaign{})
	check("utm_source=%zz", Campaign{Source: "%zz"})
	check("utm_source=%ff", Campaign{Source: "\uFFFD"})
	check("utm_source=a%00b", Campaign{Source: "a\uFFFDb"})
	check("utm_source="+strings.Repeat("%C3%BC", 200), Campaign{Source: strings.Repeat("ü", 127)})
}
