package linkcache

import (
	"strconv"
	"strings"
)

// keyPrefix starts the key of every record.
const keyPrefix = "redirect:"

// DomainsKey is where edges keep a copy of the table of domains, for those that start
// while links is away. It is no record, and no address has this key.
const DomainsKey = "domains"

// GenerationKey is a hash by which cacheupdater knows whether a Redis still holds
// what was written: one field for each partition of the changelog, whose value is
// the run id of the Redis that was filled from it.
const GenerationKey = "cacheupdater:generation"

// ClusterGenerationKey is GenerationKey on a Redis Cluster, where each primary needs
// one of its own: the first of the numbered keys that it holds.
func ClusterGenerationKey(n int) string { return GenerationKey + ":" + strconv.Itoa(n) }

// Key is the Redis key of an address in normal form (package address).
func Key(host, slugKey string) string { return keyPrefix + host + ":" + slugKey }

// AppendKey is Key for an edge, which has the address in a buffer and must not
// allocate for a look-up.
func AppendKey(dst, host, slugKey []byte) []byte {
	dst = append(dst, keyPrefix...)
	dst = append(dst, host...)
	dst = append(dst, ':')
	return append(dst, slugKey...)
}

// SplitKey undoes Key. It says false for what is no key of a record. A host has
// no colon: an address with one is no link's, and comes back split somewhere.
func SplitKey(key string) (host, slugKey string, ok bool) {
	rest, ok := strings.CutPrefix(key, keyPrefix)
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, ":")
}
