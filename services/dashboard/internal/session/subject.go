package session

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// subject is the address whose failed logins are counted: the peer's, or, behind
// trusted proxies, the first one from the right of X-Forwarded-For that is not
// theirs. An IPv6 subscriber has a /64 at least, so that is what counts.
func subject(r *http.Request, trusted []netip.Prefix) string {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	address := peer.Addr().Unmap()
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		if !contains(trusted, address) {
			break
		}
		before, err := netip.ParseAddr(strings.TrimSpace(hop))
		if err != nil {
			break // nothing to the left of garbage can be believed
		}
		address = before.Unmap()
	}
	if address.Is6() {
		// The length is right for every IPv6 address, so there is no error.
		network, _ := address.WithZone("").Prefix(64)
		return network.String()
	}
	return address.String()
}

func contains(prefixes []netip.Prefix, address netip.Addr) bool {
	return slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return p.Contains(address) })
}
