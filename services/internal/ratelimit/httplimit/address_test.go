package httplimit_test

import (
	"net/netip"
	"testing"

	"github.com/linkstream/linkstream/services/internal/ratelimit/httplimit"
)

func TestTheAddressIsTheFirstThatIsNotTrusted(t *testing.T) {
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	check := func(peer, want string, forwarded ...string) {
		t.Helper()
		if got := httplimit.Address(peer, forwarded, trusted); got != want {
			t.Errorf("peer %s, forwarded %q: %s, want %s", peer, forwarded, got, want)
		}
	}
	check("192.0.2.1:99", "192.0.2.1")
	check("192.0.2.1:99", "192.0.2.1", "198.51.100.1") // said by a stranger
	check("10.0.0.1:99", "198.51.100.1", "198.51.100.1")
	check("10.0.0.1:99", "198.51.100.1", "1.2.3.4, 198.51.100.1, 10.0.0.2")
	check("10.0.0.1:99", "198.51.100.1", "1.2.3.4, 198.51.100.1", "10.0.0.2") // in two lines
	check("10.0.0.1:99", "10.0.0.2", "1.2.3.4, garbage, 10.0.0.2")
	check("10.0.0.1:99", "10.0.0.1")
	check("[2001:db8:1:2:3::4]:99", "2001:db8:1:2::/64")
	check("[::ffff:192.0.2.1]:99", "192.0.2.1")
	check("[fd00::1]:99", "2001:db8::/64", "2001:db8::9")
	check("@", "@")
}
