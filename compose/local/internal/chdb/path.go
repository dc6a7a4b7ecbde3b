package chdb

import "path/filepath"

// Version is the release of the npm packages @chdb/lib-* that this module is written and tested against; install.sh
// fetches the same.
const Version = "26.7.3-stable.1"

// Path is where the library is looked for: LINKSTREAM_CHDB_LIB if set, else the per-machine cache that install.sh
// fills, which survives make clean and is shared by all checkouts.
func Path(getenv func(string) string) string {
	if path := getenv("LINKSTREAM_CHDB_LIB"); path != "" {
		return path
	}
	cache := getenv("XDG_CACHE_HOME")
	if cache == "" {
		cache = filepath.Join(getenv("HOME"), ".cache")
	}
	return filepath.Join(cache, "linkstream", "chdb", Version, "libchdb.so")
}
