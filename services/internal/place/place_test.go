package place

import (
	"bytes"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/maxmind/mmdbwriter"
	"github.com/maxmind/mmdbwriter/mmdbtype"
)

// writePlaces writes a file in the form of DB-IP's on npm.
func writePlaces(t *testing.T, path string, entries map[string]mmdbtype.Map) {
	t.Helper()
	tree, err := mmdbwriter.New(mmdbwriter.Options{DatabaseType: "test", RecordSize: 24})
	if err != nil {
		t.Fatal(err)
	}
	for prefix, entry := range entries {
		_, network, err := net.ParseCIDR(prefix)
		if err != nil {
			t.Fatal(err)
		}
		if err := tree.Insert(network, entry); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if _, err := tree.WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	// Written aside and renamed, as careful people do; TestPlacesAreReadAgain also writes in place.
	if err := os.WriteFile(path+".new", out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

func country(code string) mmdbtype.Map { return mmdbtype.Map{"country_code": mmdbtype.String(code)} }

func testPlaces(t *testing.T, paths ...string) (*Files, *Finder) {
	t.Helper()
	places := Open(t.Context(), paths, slog.New(slog.NewTextHandler(t.Output(), nil)))
	f := NewFinder(places)
	return places, &f
}

func TestPlaces(t *testing.T) {
	dir := t.TempDir()
	countries, cities := filepath.Join(dir, "country.mmdb"), filepath.Join(dir, "city.mmdb")
	writePlaces(t, countries, map[string]mmdbtype.Map{
		"81.2.69.0/24": country("gb"), "193.0.6.0/24": country("NL"), "2a00:1450::/32": country("DE"), "8.8.8.0/24": country("ZZ"),
	})
	writePlaces(t, cities, map[string]mmdbtype.Map{
		"193.0.6.0/24": {
			"country_code": mmdbtype.String("NL"), "state1": mmdbtype.String("North Holland"),
			"city": mmdbtype.String("Amsterdam (Amsterdam-Centrum)"),
		},
		"81.2.69.0/24": {"country_code": mmdbtype.String("")},
	})
	_, f := testPlaces(t, cities, countries)
	check := func(addr string, want Place) {
		t.Helper()
		for range 2 { // read, then remembered
			if got := f.Find(netip.MustParseAddr(addr)); got != want {
				t.Errorf("%s is %+v, want %+v", addr, got, want)
			}
		}
	}
	check("193.0.6.139", Place{Country: "NL", Region: "North Holland", City: "Amsterdam", Continent: "EU"})
	check("::ffff:193.0.6.139", Place{Country: "NL", Region: "North Holland", City: "Amsterdam", Continent: "EU"})
	check("81.2.69.142", Place{Country: "GB", Continent: "EU"}) // the first file does not know it
	check("2a00:1450:4001:80e::200e", Place{Country: "DE", Continent: "EU"})
	check("8.8.8.8", Place{Country: "ZZ"})
	check("127.0.0.1", Place{})
	check("::1", Place{})
	if got := f.Find(netip.Addr{}); got != (Place{}) {
		t.Errorf("no address is %+v", got)
	}
}

func TestPlacesAreReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "country.mmdb")
	places, f := testPlaces(t, path)
	check := func(what, want string) {
		t.Helper()
		places.refresh(t.Context())
		if got := f.Find(netip.MustParseAddr("81.2.69.1")).Country; got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	check("no file", "")
	if places.Known() {
		t.Error("places are known without a file")
	}
	writePlaces(t, path, map[string]mmdbtype.Map{"81.2.69.0/24": country("DE")})
	check("it came", "DE")
	if !places.Known() {
		t.Error("places are not known with a file")
	}
	writePlaces(t, path, map[string]mmdbtype.Map{"81.2.69.0/24": country("FR"), "8.8.4.0/24": country("US")})
	check("it was replaced", "FR")
	if err := os.WriteFile(path, []byte("not a database"), 0o600); err != nil {
		t.Fatal(err)
	}
	check("it was spoilt in place", "FR")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	check("it is gone", "FR")
	writePlaces(t, path, map[string]mmdbtype.Map{"81.2.69.0/24": country("IT")})
	check("it is back", "IT")
	writePlaces(t, path, map[string]mmdbtype.Map{"8.8.8.0/24": {"country_code": mmdbtype.Map{"iso_code": mmdbtype.String("US")}}})
	check("another maker's fields", "IT")
}

func TestEveryCountryHasOneContinent(t *testing.T) {
	got := continents()
	if len(got) != 250 { // ISO 3166-1 has 249, and Kosovo
		t.Errorf("%d countries", len(got))
	}
	for country, want := range map[string]string{"DE": "EU", "US": "NA", "BR": "SA", "IN": "AS", "ZA": "AF", "AU": "OC", "AQ": "AN", "RU": "EU", "TR": "AS"} {
		if got[country] != want {
			t.Errorf("%s is in %q, want %q", country, got[country], want)
		}
	}
}
