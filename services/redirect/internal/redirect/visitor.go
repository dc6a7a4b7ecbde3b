package redirect

import (
	"bytes"
	"net/netip"
	"slices"

	"github.com/linkstream/linkstream/services/redirect/internal/http1"
)

// visitor returns the address of whoever asks: the peer, or, when the peer is a
// trusted proxy, the first address from the right of X-Forwarded-For that is not.
// Nothing to the left of it can be believed.
func (h *Handler) visitor(req *http1.Request) netip.Addr {
	addr := req.Peer
	if !h.trusts(addr) {
		return addr
	}
	for _, rest := range slices.Backward(req.ForwardedFor) {
		for rest != nil {
			var last []byte
			if comma := bytes.LastIndexByte(rest, ','); comma >= 0 {
				rest, last = rest[:comma], rest[comma+1:]
			} else {
				rest, last = nil, rest
			}
			next, ok := forwarded(last)
			if !ok {
				return addr // written by nobody we trust: the last known hop is all we have
			}
			addr = next
			if !h.trusts(addr) {
				return addr
			}
		}
	}
	return addr
}

func (h *Handler) trusts(addr netip.Addr) bool { return within(h.trusted, addr) }

func within(networks []netip.Prefix, addr netip.Addr) bool {
	for _, p := range networks {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

// forwarded reads one element: an address, which some proxies write with a port.
func forwarded(b []byte) (netip.Addr, bool) {
	s := string(bytes.TrimSpace(b))
	addr, err := netip.ParseAddr(s)
	if err != nil {
		port, err := netip.ParseAddrPort(s)
		if err != nil {
			return netip.Addr{}, false
		}
		addr = port.Addr()
	}
	return addr.Unmap().WithZone(""), true
}
