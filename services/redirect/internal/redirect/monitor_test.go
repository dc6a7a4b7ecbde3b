package redirect_test

import (
	"testing"

	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/redirect/internal/redirect"
)

func TestMonitorsAreAnsweredPastTheMemory(t *testing.T) {
	w := newWorld(t, func(s *redirect.Settings) { s.MonitorAgents = []string{"UptimeRobot"} })
	w.put(t, "a", nil)
	const monitor = "User-Agent: Mozilla/5.0+(compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)"
	for range 3 {
		got := w.get(t, "/a", monitor)
		if source := got.header["Server-Timing"]; got.status != 302 || got.header["Location"] != "https://e.test/" || source == "cache;desc=l1" {
			t.Errorf("a monitor gets %d to %q by %s", got.status, got.header["Location"], source)
		}
	}
	if bytes := facttest.Metric(t, w.registry, "cache_l1_memory_bytes", ""); bytes != 0 {
		t.Errorf("a monitor left %v bytes in memory", bytes)
	}
	facttest.Eventually(t, "a visitor's link is in memory", func() bool { return w.get(t, "/a").header["Server-Timing"] == "cache;desc=l1" })
}
