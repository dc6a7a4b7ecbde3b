package redirect

import (
	"strings"
	"testing"
)

func TestMonitorsAreToldByTheirAgent(t *testing.T) {
	m := newMonitors([]string{"UptimeRobot", "Better Uptime", "updown.io", "check_http", "x"})
	check := func(agent string, want bool) {
		t.Helper()
		if got := m.match([]byte(agent)); got != want {
			t.Errorf("match(%q) = %t, want %t", agent, got, want)
		}
	}
	check("Mozilla/5.0+(compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)", true)
	check("uptimerobot", true)
	check("UPTIMEROBOT/2", true)
	check("Better Stack Better Uptime Bot Mozilla/5.0", true)
	check("updown.io daemon 2.11", true)
	check("check_http/v2.3.3 (monitoring-plugins 2.3.3)", true)
	check("", false)
	check("U", false)
	check("UptimeRobo", false)
	check("uuuptimerobot", true)
	check("updownXio", false)
	check("UptimeR\x0fbot", false) // the low bits of 'o'
	check("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", false)
	check("xxxx", false) // too short a name to be on the list
	check(strings.Repeat("a", agentRead)+"UptimeRobot", false)
	if newMonitors(nil).match([]byte("UptimeRobot")) {
		t.Error("an empty list matches")
	}
}

// A browser's agent, with as many names to look for as an edge has by default.
func BenchmarkMonitor(b *testing.B) {
	m := newMonitors(strings.Fields("UptimeRobot Pingdom StatusCake Site24x7 BetterUptime BetterStack Uptime-Kuma SentryUptimeBot Datadog/Synthetics " +
		"DatadogSynthetics NewRelicPinger NewRelicSynthetics Checkly HetrixTools Freshping updown.io NodePing OhDear check_http Blackbox-Exporter " +
		"Stackdriver Route53-Health-Check ELB-HealthChecker Cloudflare-Healthchecks Gatus/"))
	agent := []byte("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36")
	b.ReportAllocs()
	for b.Loop() {
		if m.match(agent) {
			b.Fatal("a browser is taken for a monitor")
		}
	}
}

func FuzzMonitorsMatchAsTheyRead(f *testing.F) {
	names := []string{"UptimeRobot", "updown.io", "check_http", "aab"}
	m := newMonitors(names)
	for _, agent := range []string{"", "aaab", "UPDOWN.IO", "uptimerobo", "x check_HTTP/2", "\xff\x00aAb", "Kelvin \u212a"} {
		f.Add([]byte(agent))
	}
	f.Fuzz(func(t *testing.T, agent []byte) {
		lower := make([]byte, 0, agentRead)
		for _, c := range agent[:min(len(agent), agentRead)] {
			lower = append(lower, lowered(c))
		}
		want := false
		for _, name := range names {
			want = want || strings.Contains(string(lower), strings.ToLower(name))
		}
		if got := m.match(agent); got != want {
			t.Errorf("match(%q) = %t, want %t", agent, got, want)
		}
	})
}
