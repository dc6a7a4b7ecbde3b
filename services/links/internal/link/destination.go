package link

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/linkstream/linkstream/services/internal/address"
)

// maxDestinationBytes bounds a destination as given. Percent-encoding can triple
// it, which the database allows for.
const maxDestinationBytes = 8000

// destination is a checked target.
type destination struct {
	// url is the form that is stored and goes into Location.
	url string
	// host is in the normal form of domains; empty for schemes without one.
	host string
	// port is the one that is asked, the scheme's own where none is named.
	port string
}

// parseDestination holds a target against the rules and brings it into the
// stored form, which differs from raw only in: scheme and host in lower case, the
// host in punycode, spaces and non-ASCII percent-encoded. It does not use net/url,
// which decodes and encodes again: many a target would not come back as it was.
func parseDestination(raw string, schemes []string) (destination, *ruleError) {
	switch {
	case raw == "":
		return destination{}, broken(CodeRequired, "an absolute URL is needed")
	case len(raw) > maxDestinationBytes:
		return destination{}, broken(CodeTooLong, "a URL has at most 8,000 bytes")
	case !utf8.ValidString(raw):
		return destination{}, broken(CodeInvalid, "the URL is not valid UTF-8")
	case strings.ContainsFunc(raw, isControl):
		return destination{}, broken(CodeInvalid, "the URL has control characters")
	}
	scheme, rest, ok := cutScheme(raw)
	if !ok {
		return destination{}, broken(CodeInvalid, "the URL must be absolute, for instance https://example.com/page")
	}
	switch {
	case scheme == "http" || scheme == "https":
	case slices.Contains(schemes, scheme):
		return otherScheme(scheme, rest)
	default:
		return destination{}, broken(CodeNotAllowed, "the URL must begin with http:// or https://")
	}
	rest, ok = strings.CutPrefix(rest, "//")
	if !ok {
		return destination{}, broken(CodeInvalid, "the URL must be absolute, for instance https://example.com/page")
	}
	authority, tail := cutAuthority(rest)
	host, port, err := parseAuthority(authority)
	if err != nil {
		return destination{}, err
	}
	at := strings.TrimPrefix(port, ":")
	if at == "" {
		at = map[string]string{"http": "80", "https": "443"}[scheme]
	}
	return destination{url: scheme + "://" + host + port + escape(tail), host: address.Host(host), port: at}, nil
}

func isControl(r rune) bool { return r < ' ' || r == 0x7F }

// cutScheme splits at the first colon and lower-cases what stands before it.
func cutScheme(raw string) (scheme, rest string, ok bool) {
	scheme, rest, ok = strings.Cut(raw, ":")
	return strings.ToLower(scheme), rest, ok && isScheme(strings.ToLower(scheme))
}

// isScheme says whether s is a URL scheme in lower case.
func isScheme(s string) bool {
	for i, c := range []byte(s) {
		switch {
		case c >= 'a' && c <= 'z':
		case i > 0 && (c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.'):
		default:
			return false
		}
	}
	return s != ""
}

// cutAuthority splits where browsers do. They take a backslash for a slash, so it
// stays in the authority, which refuses it.
func cutAuthority(rest string) (authority, tail string) {
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		return rest[:end], rest[end:]
	}
	return rest, ""
}

// parseAuthority returns host and port (with its colon) in their stored form.
func parseAuthority(authority string) (host, port string, err *ruleError) {
	if strings.Contains(authority, "@") {
		return "", "", broken(CodeNotAllowed, "the URL must not hold a user name or password")
	}
	if strings.HasPrefix(authority, "[") {
		end := strings.IndexByte(authority, ']')
		if end < 0 {
			return "", "", broken(CodeInvalid, "the URL's host is not valid")
		}
		literal := strings.ToLower(authority[1:end])
		ip, parseErr := netip.ParseAddr(literal)
		if parseErr != nil || !ip.Is6() || ip.Zone() != "" {
			return "", "", broken(CodeInvalid, "the URL's host is not an IPv6 address")
		}
		host, port = "["+literal+"]", authority[end+1:]
	} else {
		host = authority
		if colon := strings.IndexByte(authority, ':'); colon >= 0 {
			host, port = authority[:colon], authority[colon:]
		}
		if host, err = parseHostName(host); err != nil {
			return "", "", err
		}
	}
	if port != "" && !isPort(port) {
		return "", "", broken(CodeInvalid, "the URL's port must be a number from 1 to 65535")
	}
	return host, port, nil
}

func isPort(s string) bool {
	digits, ok := strings.CutPrefix(s, ":")
	if !ok || strings.ContainsFunc(digits, func(r rune) bool { return r < '0' || r > '9' }) {
		return false
	}
	n, err := strconv.ParseUint(digits, 10, 16)
	return err == nil && n > 0
}

func parseHostName(host string) (string, *ruleError) {
	if !isASCII(host) {
		ascii, err := idna.Lookup.ToASCII(host)
		if err != nil {
			return "", broken(CodeInvalid, "the URL's host is not a valid international domain name")
		}
		host = ascii
	}
	host = strings.ToLower(host)
	if !isHostName(host) {
		return "", broken(CodeInvalid, "the URL's host is not valid")
	}
	return host, nil
}

// isHostName is as wide as what resolvers take: underscores occur in the wild. It
// refuses '%', which browsers would decode into another host than the one that
// was checked.
func isHostName(host string) bool {
	const maxName, maxLabel = 253, 63
	name := strings.TrimSuffix(host, ".")
	if name == "" || len(name) > maxName {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > maxLabel {
			return false
		}
		for _, c := range []byte(label) {
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
				return false
			}
		}
	}
	return true
}

// otherScheme takes a target whose scheme the operator has allowed.
func otherScheme(scheme, rest string) (destination, *ruleError) {
	if rest == "" || rest == "//" {
		return destination{}, broken(CodeInvalid, "the URL has nothing after its scheme")
	}
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		if authority, _ := cutAuthority(after); strings.Contains(authority, "@") {
			return destination{}, broken(CodeNotAllowed, "the URL must not hold a user name or password")
		}
	}
	return destination{url: scheme + ":" + escape(rest)}, nil
}

// escape percent-encodes spaces and non-ASCII bytes, and nothing else.
func escape(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	b.Grow(len(s))
	for _, c := range []byte(s) {
		if c == ' ' || c >= utf8.RuneSelf {
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}

// ParseHost brings a domain's host into normal form. It says false when it can be
// the host of no domain.
func ParseHost(raw string) (string, bool) {
	host, err := parseHostName(strings.TrimSpace(raw))
	return address.Host(host), err == nil
}

// Schemes that run code in the visitor's browser or read the visitor's machine.
//
//nolint:gochecknoglobals // a constant list; Go has no constant slices
var dangerousSchemes = []string{"about", "blob", "data", "file", "filesystem", "javascript", "vbscript", "view-source"}

// CheckExtraScheme says whether an operator may allow a scheme beyond http and https.
func CheckExtraScheme(scheme string) bool {
	return isScheme(scheme) && !slices.Contains(dangerousSchemes, scheme)
}
