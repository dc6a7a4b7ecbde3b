package enrich

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// Every entry of the list is found by what the list itself gives as examples.
func TestTheListKnowsItsExamples(t *testing.T) {
	file, err := os.ReadFile("testdata/crawlers.txt")
	if err != nil {
		t.Fatal(err)
	}
	tables := NewTables()
	examples := 0
	for line := range strings.Lines(string(file)) {
		_, ua, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		examples++
		if tables.readAgent([]byte(ua)).bot == "" {
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
