package redirect_test

import (
	"net/netip"
	"strconv"
	"testing"

	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/redirect/internal/redirect"
)

func limited(exempt ...netip.Prefix) func(*redirect.Settings) {
	return func(s *redirect.Settings) { s.Limit = redirect.Limit{Rate: 1, Burst: 20, Exempt: exempt} }
}

// limits counts how requests were judged.
func (w *world) limits(t *testing.T) (allowed, rejected, answered float64) {
	t.Helper()
	return facttest.Metric(t, w.registry, "ratelimit_allowed_total", "edge"), facttest.Metric(t, w.registry, "ratelimit_rejected_total", "edge"),
		facttest.Metric(t, w.registry, "redirect_responses_total", "429")
}

func TestAnAddressThatAsksTooOftenIsHeldBack(t *testing.T) {
	w := newWorld(t, limited(), trusting("127.0.0.0/8"))
	w.put(t, "a", nil)
	refused := 0
	for range 60 {
		got := w.get(t, "/a", "X-Forwarded-For: 192.0.2.1")
		switch got.status {
		case 302:
		case 429:
			refused++
			if after, err := strconv.Atoi(got.header["Retry-After"]); err != nil || after != 1 || got.header["Location"] != "" {
				t.Errorf("refused with Retry-After %q, Location %q", got.header["Retry-After"], got.header["Location"])
			}
		default:
			t.Errorf("status %d", got.status)
		}
	}
	if refused < 20 {
		t.Errorf("%d of 60 were refused", refused)
	}
	if got := w.get(t, "/a", "X-Forwarded-For: 192.0.2.2"); got.status != 302 {
		t.Errorf("another address gets %d", got.status)
	}
	allowed, rejected, answered := w.limits(t)
	if rejected != answered || rejected != float64(refused) || allowed+rejected != 61 {
		t.Errorf("%v allowed, %v rejected, %v answered with 429, after %d refusals of 61", allowed, rejected, answered, refused)
	}
}

func TestExemptNetworksAreNotCounted(t *testing.T) {
	w := newWorld(t, limited(netip.MustParsePrefix("127.0.0.0/8")))
	w.put(t, "a", nil)
	for range 40 {
		if got := w.get(t, "/a"); got.status != 302 {
			t.Fatalf("status %d", got.status)
		}
	}
	if allowed, rejected, answered := w.limits(t); allowed+rejected+answered != 0 {
		t.Errorf("%v allowed, %v rejected, %v answered with 429; want none", allowed, rejected, answered)
	}
}

func TestWithoutALimitNobodyIsHeldBack(t *testing.T) {
	w := newWorld(t)
	w.put(t, "a", nil)
	for range 40 {
		if got := w.get(t, "/a"); got.status != 302 {
			t.Fatalf("status %d", got.status)
		}
	}
}
