package postgres

import "github.com/linkstream/linkstream/services/links/internal/link"

// AddressKey is for tests that hold an address's lock themselves.
func AddressKey(l *link.Link) int64 { return addressKey(l) }
