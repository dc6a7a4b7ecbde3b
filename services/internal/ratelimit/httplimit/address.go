package httplimit

import (
	"net/netip"
	"slices"
	"strings"
)

const forwardedFor = "X-Forwarded-For"

// Address is the subject of a request without a key: the address of its peer, or,
// behind trusted proxies, the first one from the right of X-Forwarded-For that is not
// theirs. Nothing to the left of it can be believed. An IPv6 address stands for its /64,
// because whoever has one has them all.
func Address(remoteAddr string, forwarded []string, trusted []netip.Prefix) string {
	peer, err := netip.ParseAddrPort(remoteAddr)
	if err != nil {
		return remoteAddr
	}
	address := peer.Addr().Unmap()
	hops := strings.Split(strings.Join(forwarded, ","), ",")
	for _, hop := range slices.Backward(hops) {
		if !contains(trusted, address) {
			break
		}
		before, err := netip.ParseAddr(strings.TrimSpace(hop))
		if err != nil {
			break
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
