package option

import (
	"encoding/binary"
	"net/netip"
	"strings"

	"github.com/linkstream/linkstream/events/eventspb"
	"github.com/linkstream/linkstream/services/internal/linkcache"
)

// Kinds of conditions, as bytes of a program. Those of the changelog keep their number.
const (
	kindCountry   = byte(eventspb.Condition_KIND_COUNTRY)
	kindRegion    = byte(eventspb.Condition_KIND_REGION)
	kindContinent = byte(eventspb.Condition_KIND_CONTINENT)
	kindLanguage  = byte(eventspb.Condition_KIND_LANGUAGE)
	kindDevice    = byte(eventspb.Condition_KIND_DEVICE)
	kindOS        = byte(eventspb.Condition_KIND_OS)
	kindBrowser   = byte(eventspb.Condition_KIND_BROWSER)
	kindBot       = byte(eventspb.Condition_KIND_BOT)
	kindQuery     = byte(eventspb.Condition_KIND_QUERY)
	kindTime      = byte(eventspb.Condition_KIND_TIME)
	kindAddress   = byte(eventspb.Condition_KIND_ADDRESS)
	kindNever     = byte(0)
)

func appendRule(b []byte, rule *linkcache.Rule, zones *Zones) []byte {
	return sized(b, func(b []byte) []byte {
		// A rule that has lost its conditions must not send everybody away.
		if len(rule.Conditions) == 0 || len(rule.Conditions) > 255 {
			b = append(b, 1, kindNever, 0, 0, 0, 0)
		} else {
			b = append(b, byte(len(rule.Conditions)))
			for i := range rule.Conditions {
				b = appendCondition(b, &rule.Conditions[i], zones)
			}
		}
		return appendText(b, rule.Destination)
	})
}

func appendCondition(b []byte, c *linkcache.Condition, zones *Zones) []byte {
	at := len(b)
	b = append(b, byte(c.Kind)) //nolint:gosec // what does not fit is no kind that is known, below
	known := true
	b = sized(b, func(b []byte) []byte {
		switch byte(c.Kind) { //nolint:gosec // as above
		case kindCountry, kindContinent, kindLanguage, kindDevice, kindOS, kindBrowser, kindRegion:
			for _, value := range c.Values {
				b = appendText(b, lower(value))
			}
		case kindQuery:
			for _, value := range c.Values {
				name, want, exact := strings.Cut(value, "=")
				b = appendText(b, name)
				if exact {
					b = appendText(append(b, 1), want)
				} else {
					b = append(b, 0)
				}
			}
		case kindBot:
			for _, value := range c.Values {
				b = append(b, truth(value == "true"))
			}
		case kindAddress:
			for _, value := range c.Values {
				b = appendNetwork(b, value)
			}
		case kindTime:
			b, known = appendTime(b, c.Time, zones)
		default:
			known = false
		}
		return b
	})
	if c.Kind < 0 || c.Kind > 255 || !known {
		b[at] = kindNever
	}
	return b
}

func truth(is bool) byte {
	if is {
		return 1
	}
	return 0
}

// appendNetwork appends a network as 16 bytes and its length; what is none is left out.
func appendNetwork(b []byte, value string) []byte {
	network, err := netip.ParsePrefix(value)
	if err != nil {
		addr, err := netip.ParseAddr(value)
		if err != nil {
			return b
		}
		network = netip.PrefixFrom(addr, addr.BitLen())
	}
	bits := network.Bits()
	if network.Addr().Is4() {
		bits += 96
	}
	whole := network.Addr().As16()
	return append(append(b, whole[:]...), byte(bits)) //nolint:gosec // 0 to 128
}

// Rule is the first rule that fits the visitor, counted from 1, and its target; 0 for
// none.
func (p Program) Rule(v *Visitor) (number int, target string) {
	if p == "" {
		return 0, ""
	}
	at := int(p.word(atRules))
	for number := 1; number <= int(p.word(atCount)); number++ {
		next := at + 4 + int(p.word(at))
		conditions, at2, holds := int(p[at+4]), at+5, true
		for ; conditions > 0; conditions-- {
			kind, size := p[at2], int(p.word(at2+1))
			body := p[at2+5 : at2+5+size]
			at2 += 5 + size
			if holds && !v.fits(kind, body) {
				holds = false
				break
			}
		}
		if holds {
			target, _ := p.text(at2)
			return number, target
		}
		at = next
	}
	return 0, ""
}

// fits says whether a condition holds.
func (v *Visitor) fits(kind byte, body Program) bool {
	switch kind {
	case kindCountry:
		return body.has(v.where().country)
	case kindContinent:
		return body.has(v.where().continent)
	case kindRegion:
		return body.hasRegion(v.where())
	case kindLanguage:
		return body.hasLanguage(v.language())
	case kindDevice:
		return body.has(v.who().device)
	case kindOS:
		return body.has(v.who().os)
	case kindBrowser:
		return body.has(v.who().browser)
	case kindBot:
		bot := truth(v.Bot())
		return strings.IndexByte(string(body), bot) >= 0
	case kindQuery:
		return body.hasParameter(v.Query)
	case kindTime:
		return body.hasTime(v)
	case kindAddress:
		return body.hasAddress(v.Address)
	default:
		return false
	}
}

// has says whether a text is among the values. "" is what is not known, and fits none.
func (p Program) has(s string) bool {
	if s == "" {
		return false
	}
	for at := 0; at < len(p); {
		var value string
		if value, at = p.text(at); value == s {
			return true
		}
	}
	return false
}

// hasRegion is has for values that may name a country before the region.
func (p Program) hasRegion(w *place) bool {
	if w.region == "" {
		return false
	}
	for at := 0; at < len(p); {
		var value string
		value, at = p.text(at)
		if value == w.region {
			return true
		}
		if n := len(w.country); n > 0 && len(value) > n && value[n] == '/' && value[:n] == w.country && value[n+1:] == w.region {
			return true
		}
	}
	return false
}

// hasLanguage says whether one of the values is the tag or a beginning of it.
func (p Program) hasLanguage(tag []byte) bool {
	if len(tag) == 0 {
		return false
	}
	for at := 0; at < len(p); {
		var value string
		value, at = p.text(at)
		if n := len(value); len(tag) >= n && foldedEqual(tag[:n], value) && (len(tag) == n || tag[n] == '-' || tag[n] == '_') {
			return true
		}
	}
	return false
}

// foldedEqual compares with a text in lower case.
func foldedEqual(b []byte, s string) bool {
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != s[i] {
			return false
		}
	}
	return true
}

// hasAddress says whether an address is in one of the networks.
func (p Program) hasAddress(addr netip.Addr) bool {
	if !addr.IsValid() {
		return false
	}
	whole := addr.As16()
	high, low := binary.BigEndian.Uint64(whole[:8]), binary.BigEndian.Uint64(whole[8:])
	for ; len(p) >= 17; p = p[17:] {
		networkHigh, networkLow, bits := bigEndian(p), bigEndian(p[8:]), int(p[16])
		if bits <= 64 {
			if shifted(high^networkHigh, 64-bits) == 0 {
				return true
			}
		} else if high == networkHigh && shifted(low^networkLow, 128-bits) == 0 {
			return true
		}
	}
	return false
}

func shifted(n uint64, by int) uint64 { return n >> by } // 64 leaves nothing

func bigEndian(p Program) uint64 {
	s := p[:8]
	return uint64(s[7]) | uint64(s[6])<<8 | uint64(s[5])<<16 | uint64(s[4])<<24 |
		uint64(s[3])<<32 | uint64(s[2])<<40 | uint64(s[1])<<48 | uint64(s[0])<<56
}
