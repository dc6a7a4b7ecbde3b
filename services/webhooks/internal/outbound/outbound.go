// Package outbound calls addresses that strangers chose.
//
// It promises that no connection is made to an address that is not public: the check is
// made on the address that is dialled, after name resolution, for every connection, so a
// name that changes its mind between check and call gains nothing. It refuses to follow
// redirects, to ask a proxy, to present cookies, and to wait or read for ever.
package outbound

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"syscall"
	"time"
)

// ErrNotPublic says that an address was not called because it is not public.
var ErrNotPublic = errors.New("the address is not a public one")

// Policy says which addresses may be called.
type Policy struct {
	allow  []netip.Prefix
	refuse []netip.Prefix
	nat64  []netip.Prefix
}

// NewPolicy refuses everything that is not public, but for what allow names: for local
// stacks and tests.
func NewPolicy(allow []netip.Prefix) *Policy {
	p := &Policy{allow: allow}
	// IANA's registries of special-purpose addresses, all that are not globally
	// reachable, and what is assigned to tunnels, tests and documentation.
	for _, text := range []string{
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
		"192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24",
		"203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4", "255.255.255.255/32",
		"::/128", "::1/128", "::/96", "100::/64", "100:0:0:1::/64", "2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20",
		"5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
	} {
		p.refuse = append(p.refuse, netip.MustParsePrefix(text))
	}
	// An IPv4 address in IPv6 clothes is judged as what it is; the local-use prefix leads
	// to whatever its operator says.
	p.nat64 = []netip.Prefix{netip.MustParsePrefix("64:ff9b::/96")}
	p.refuse = append(p.refuse, netip.MustParsePrefix("64:ff9b:1::/48"))
	return p
}

// Permits says whether an address may be called.
func (p *Policy) Permits(addr netip.Addr) bool {
	addr = addr.WithZone("").Unmap()
	if in(p.allow, addr) {
		return true
	}
	if in(p.nat64, addr) {
		b := addr.As16()
		return p.Permits(netip.AddrFrom4([4]byte(b[12:])))
	}
	// Outside of 2000::/3 nothing of IPv6 is in use in public.
	if addr.Is6() && addr.As16()[0]>>5 != 1 {
		return false
	}
	return addr.IsValid() && addr.IsGlobalUnicast() && !in(p.refuse, addr)
}

func in(prefixes []netip.Prefix, addr netip.Addr) bool {
	return slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// Plain says whether http may be called: only where something is allowed that is not
// public.
func (p *Policy) Plain() bool { return len(p.allow) > 0 }

// control is asked for every address that is about to be dialled.
func (p *Policy) control(_ context.Context, network, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %s", ErrNotPublic, address)
	}
	if network != "tcp4" && network != "tcp6" || !p.Permits(to.Addr()) {
		return fmt.Errorf("%w: %s", ErrNotPublic, to.Addr())
	}
	return nil
}

const (
	dialTimeout = 5 * time.Second
	idleTimeout = 30 * time.Second
	maxHeaders  = 32 << 10
)

// Client returns a client under the policy whose calls take at most timeout, body
// included. A nil resolver is the system's.
func (p *Policy) Client(timeout time.Duration, resolver *net.Resolver) *http.Client {
	dialer := &net.Dialer{Timeout: dialTimeout, ControlContext: p.control, Resolver: resolver}
	return &http.Client{
		Timeout: timeout,
		Transport: &http.Transport{
			Proxy:                  nil, // one from the environment could reach what we must not
			DialContext:            dialer.DialContext,
			TLSHandshakeTimeout:    dialTimeout,
			ResponseHeaderTimeout:  timeout,
			MaxResponseHeaderBytes: maxHeaders,
			IdleConnTimeout:        idleTimeout,
			MaxIdleConnsPerHost:    2,
			MaxIdleConns:           100,
			DisableCompression:     true, // nothing that unfolds
			ForceAttemptHTTP2:      true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
