// Package place says where an address is, by files that know.
//
// It promises that a file may be replaced at any time in any way, and that a file which is
// missing or broken is as good as one that knows nothing. It refuses to guess: what no
// file says is "".
package place

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/oschwald/maxminddb-golang/v2"

	"github.com/linkstream/linkstream/services/internal/untrusted"
)

const (
	// maxText bounds a name, in bytes.
	maxText = 255
	// placesPoll is how soon a file that has changed is read. Places change monthly.
	placesPoll = 10 * time.Second
	// cachedPlaces bounds the places that one Finder remembers for a file: a country
	// file has 250, a city file hundreds of thousands.
	cachedPlaces = 32_768
)

// Place is where an address is, in words; "" is unknown.
type Place struct {
	Country   string // ISO 3166-1 alpha-2
	Region    string // name
	City      string // name, without the district
	Continent string // two letters: AF, AN, AS, EU, NA, OC, SA
}

// Files are files that say where addresses are: MaxMind's format with the flat
// field names of DB-IP's files on npm (country_code, state1, city). They are read
// into memory, so a file may be replaced at any time in any way; Run notices it. A
// file that is missing or broken is as good as one that knows nothing, or goes on as
// it was if it was read before.
type Files struct {
	files []*placesFile
	log   *slog.Logger
}

type placesFile struct {
	path string
	seen atomic.Pointer[os.FileInfo] // of the version that was read, or failed
	db   atomic.Pointer[maxminddb.Reader]
}

// Open reads the files. The first one that knows an address's country
// answers for it, so files with cities come before those with countries alone.
func Open(ctx context.Context, paths []string, log *slog.Logger) *Files {
	p := &Files{log: log}
	for _, path := range paths {
		p.files = append(p.files, &placesFile{path: path})
	}
	p.refresh(ctx)
	return p
}

// Run reads files that have changed until ctx is done.
func (p *Files) Run(ctx context.Context) error {
	tick := time.NewTicker(placesPoll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			p.refresh(ctx)
		}
	}
}

// Known says whether any file has been read, so that places can be found at all.
func (p *Files) Known() bool {
	for _, f := range p.files {
		if f.db.Load() != nil {
			return true
		}
	}
	return false
}

func (p *Files) refresh(ctx context.Context) {
	for _, f := range p.files {
		changed, err := f.refresh()
		switch {
		case err != nil:
			p.log.WarnContext(ctx, "file of places not read; what it would say is unknown or as before", "path", f.path, "err", err)
		case changed:
			p.log.InfoContext(ctx, "file of places read", "path", f.path, "built", f.db.Load().Metadata.BuildTime())
		}
	}
}

// refresh reads the file if it is not the one that was looked at last. The error of
// a version of it is returned once.
func (f *placesFile) refresh() (changed bool, err error) {
	info, err := os.Stat(f.path)
	if err != nil {
		if before := f.seen.Swap(&missing); before == &missing {
			return false, nil
		}
		return false, err
	}
	before := f.seen.Swap(&info)
	if before != nil && *before != nil && os.SameFile(*before, info) && (*before).ModTime().Equal(info.ModTime()) && (*before).Size() == info.Size() {
		return false, nil
	}
	data, err := os.ReadFile(f.path)
	if err != nil {
		return false, err
	}
	db, err := maxminddb.OpenBytes(data)
	if err != nil {
		return false, fmt.Errorf("reading its format: %w", err)
	}
	var probe record
	if err := db.Lookup(netip.AddrFrom4([4]byte{8, 8, 8, 8})).Decode(&probe); err != nil {
		return false, fmt.Errorf("reading its fields, which should be those of DB-IP's files on npm (country_code, state1, city): %w", err)
	}
	f.db.Store(db)
	return true, nil
}

// missing stands for a file that is not there.
var missing os.FileInfo //nolint:gochecknoglobals // never written: only its address is used

// record is an entry of a file.
type record struct {
	Country string `maxminddb:"country_code"`
	Region  string `maxminddb:"state1"`
	City    string `maxminddb:"city"`
}

// Finder finds places and remembers those of each file. It is not safe for concurrent
// use: side by side nobody waits. What it remembers it finds without allocating.
type Finder struct {
	places     *Files
	continents map[string]string
	known      []knownPlaces // by file
}

type knownPlaces struct {
	db     *maxminddb.Reader // of which the offsets are
	places map[uintptr]Place
}

// NewFinder returns a Finder over the files.
func NewFinder(places *Files) Finder {
	return Finder{places: places, continents: continents(), known: make([]knownPlaces, len(places.files))}
}

// Find says where an address is.
func (f *Finder) Find(addr netip.Addr) Place {
	if !addr.IsValid() {
		return Place{}
	}
	addr = addr.Unmap()
	for i, file := range f.places.files {
		db := file.db.Load()
		if db == nil {
			continue
		}
		result := db.Lookup(addr)
		if !result.Found() {
			continue
		}
		known := &f.known[i]
		if known.db != db || len(known.places) >= cachedPlaces {
			*known = knownPlaces{db: db, places: map[uintptr]Place{}}
		}
		place, ok := known.places[result.Offset()]
		if !ok {
			place = f.read(result)
			known.places[result.Offset()] = place
		}
		if place.Country != "" {
			return place
		}
	}
	return Place{}
}

func (f *Finder) read(result maxminddb.Result) Place {
	var r record
	if err := result.Decode(&r); err != nil {
		return Place{} // one damaged entry; the file as a whole was readable
	}
	city, _, _ := strings.Cut(r.City, " (") // "Amsterdam (Amsterdam-Centrum)"
	country := untrusted.Text([]byte(strings.ToUpper(r.Country)), maxText)
	return Place{
		Country:   country,
		Region:    untrusted.Text([]byte(r.Region), maxText),
		City:      untrusted.Text([]byte(city), maxText),
		Continent: f.continents[country],
	}
}
