package plan_test

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/linkstream/linkstream/compose/local/internal/plan"
)

func settings(t *testing.T, environ map[string]string) (plan.Settings, error) {
	t.Helper()
	return plan.ReadSettings(func(name string) string { return environ[name] })
}

func TestSettingsAreReadFromTheEnvironment(t *testing.T) {
	check := func(environ map[string]string, want plan.Settings) {
		t.Helper()
		got, err := settings(t, environ)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v: %v\n%s", environ, err, diff)
		}
	}
	check(nil, plan.Settings{Regions: []string{"fra", "ash"}, Edges: 1})
	check(map[string]string{"REGIONS": "  sgp ", "EDGES": "3", "LINKSTREAM_PORT_BASE": "100"},
		plan.Settings{Regions: []string{"sgp"}, Edges: 3, PortBase: 100})
	check(map[string]string{"REGIONS": " ", "EDGES": ""}, plan.Settings{Regions: []string{"fra", "ash"}, Edges: 1})
}

func TestEveryMistakeIsNamed(t *testing.T) {
	_, err := settings(t, map[string]string{"REGIONS": "fra ../x fra", "EDGES": "two", "LINKSTREAM_PORT_BASE": "-1"})
	for _, want := range []string{`"../x" is not a region name`, `"fra" is there twice`, `EDGES: "two"`, `LINKSTREAM_PORT_BASE: "-1"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
}

func TestInstallScriptFetchesThisGeoVersion(t *testing.T) {
	script, err := os.ReadFile("../../install.sh")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(script), "\nGEO_VERSION="+plan.GeoVersion+"\n") {
		t.Errorf("install.sh does not fetch %s", plan.GeoVersion)
	}
}

func TestGeoFileIsLookedForWhereItIsInstalled(t *testing.T) {
	check := func(environ map[string]string, want string) {
		t.Helper()
		if got := plan.GeoCountryFile(func(name string) string { return environ[name] }); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	check(map[string]string{"HOME": "/h"}, "/h/.cache/linkstream/geo/"+plan.GeoVersion+"/dbip-country.mmdb")
	check(map[string]string{"HOME": "/h", "XDG_CACHE_HOME": "/c"}, "/c/linkstream/geo/"+plan.GeoVersion+"/dbip-country.mmdb")
	check(map[string]string{"HOME": "/h", "LINKSTREAM_GEO_COUNTRY_FILE": "/g.mmdb"}, "/g.mmdb")
}

func newPlan(t *testing.T, environ map[string]string) plan.Plan {
	t.Helper()
	return newPlanWith(t, plan.EmbeddedBroker, environ)
}

func newPlanWith(t *testing.T, broker plan.BrokerKind, environ map[string]string) plan.Plan {
	t.Helper()
	s, err := settings(t, environ)
	if err != nil {
		t.Fatal(err)
	}
	s.Root, s.Bin, s.Broker, s.GeoCountryFile = "/r", "/r/bin", broker, "/g.mmdb"
	p, err := plan.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestNamesAndPortsAreThoseOfTheContract(t *testing.T) {
	type row struct {
		Name  string
		Ports []int
		Ready string
	}
	check := func(environ map[string]string, want []row) {
		t.Helper()
		var got []row
		for _, process := range newPlan(t, environ).Processes {
			r := row{Name: process.Name, Ready: process.Ready}
			for _, use := range process.Ports {
				r.Ports = append(r.Ports, use.Port)
			}
			got = append(got, r)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	check(map[string]string{"REGIONS": "fra ash", "EDGES": "2"}, []row{
		{"postgres", []int{15432}, "postgres://linkstream@127.0.0.1:15432/postgres?sslmode=disable"},
		{"redis-fra", []int{16379}, "127.0.0.1:16379"},
		{"redis-ash", []int{16380}, "127.0.0.1:16380"},
		{"broker", []int{19092}, "127.0.0.1:19092"},
		{"clickhouse", []int{18123}, "http://127.0.0.1:18123/ping"},
		{"links", []int{8010, 8011, 9010}, "http://127.0.0.1:9010/readyz"},
		{"clicks", []int{9040}, "http://127.0.0.1:9040/readyz"},
		{"analytics", []int{8020, 9020}, "http://127.0.0.1:9020/readyz"},
		{"webhooks", []int{8050, 9050}, "http://127.0.0.1:9050/readyz"},
		{"cacheupdater-fra", []int{9030}, "http://127.0.0.1:9030/readyz"},
		{"cacheupdater-ash", []int{9031}, "http://127.0.0.1:9031/readyz"},
		{"redirect-fra-0", []int{8080, 9080}, "http://127.0.0.1:9080/readyz"},
		{"redirect-fra-1", []int{8081, 9081}, "http://127.0.0.1:9081/readyz"},
		{"redirect-ash-0", []int{8180, 9180}, "http://127.0.0.1:9180/readyz"},
		{"redirect-ash-1", []int{8181, 9181}, "http://127.0.0.1:9181/readyz"},
		{"dashboard", []int{8000, 9000}, "http://127.0.0.1:9000/readyz"},
	})
	check(map[string]string{"REGIONS": "fra", "LINKSTREAM_PORT_BASE": "1000"}, []row{
		{"postgres", []int{16432}, "postgres://linkstream@127.0.0.1:16432/postgres?sslmode=disable"},
		{"redis-fra", []int{17379}, "127.0.0.1:17379"},
		{"broker", []int{20092}, "127.0.0.1:20092"},
		{"clickhouse", []int{19123}, "http://127.0.0.1:19123/ping"},
		{"links", []int{9010, 9011, 10010}, "http://127.0.0.1:10010/readyz"},
		{"clicks", []int{10040}, "http://127.0.0.1:10040/readyz"},
		{"analytics", []int{9020, 10020}, "http://127.0.0.1:10020/readyz"},
		{"webhooks", []int{9050, 10050}, "http://127.0.0.1:10050/readyz"},
		{"cacheupdater-fra", []int{10030}, "http://127.0.0.1:10030/readyz"},
		{"redirect-fra-0", []int{9080, 10080}, "http://127.0.0.1:10080/readyz"},
		{"dashboard", []int{9000, 10000}, "http://127.0.0.1:10000/readyz"},
	})
}

func TestServicesAreConfigured(t *testing.T) {
	p := newPlan(t, map[string]string{"REGIONS": "fra ash", "LINKSTREAM_PORT_BASE": "1"})
	check := func(name string, want map[string]string) {
		t.Helper()
		for _, process := range p.Processes {
			if process.Name == name {
				if diff := cmp.Diff(want, process.Env); diff != "" {
					t.Errorf("%s: %s", name, diff)
				}
				return
			}
		}
		t.Errorf("there is no %s", name)
	}
	check("links", map[string]string{
		"LINKSTREAM_ADMIN_ADDR": "127.0.0.1:9011", "LINKSTREAM_HTTP_ADDR": "127.0.0.1:8011", "LINKSTREAM_RPC_ADDR": "127.0.0.1:8012",
		"LINKSTREAM_POSTGRES_URL":  "postgres://linkstream@127.0.0.1:15433/linkstream?sslmode=disable",
		"LINKSTREAM_KAFKA_BROKERS": "127.0.0.1:19093", "LINKSTREAM_DEFAULT_DOMAIN": "localhost", "LINKSTREAM_TOKEN_PEPPER": plan.TokenPepper,
		"LINKSTREAM_SHORT_URL_SCHEME": "http", "LINKSTREAM_SHORT_URL_PORT": "8081",
		"LINKSTREAM_LOCAL_NAMES": "localhost,127.0.0.1,::1", "LINKSTREAM_LOCAL_PORTS": "8081,8181",
		"LINKSTREAM_RATELIMIT_REDIS_URL": "redis://127.0.0.1:16380/0", "LINKSTREAM_TRUSTED_PROXIES": "127.0.0.1/32,::1/128",
		"LINKSTREAM_RATE_CAPACITY": "200000", "LINKSTREAM_RATE_REFILL": "100000",
		"LINKSTREAM_RATE_ADDRESS_CAPACITY": "20000", "LINKSTREAM_RATE_ADDRESS_REFILL": "10000",
	})
	check("cacheupdater-ash", map[string]string{
		"LINKSTREAM_ADMIN_ADDR": "127.0.0.1:9032", "LINKSTREAM_REGION": "ash", "LINKSTREAM_REDIS_URL": "redis://127.0.0.1:16381/0",
		"LINKSTREAM_KAFKA_BROKERS": "127.0.0.1:19093",
	})
	check("redirect-ash-0", map[string]string{
		"LINKSTREAM_ADMIN_ADDR": "127.0.0.1:9181", "LINKSTREAM_HTTP_ADDR": "127.0.0.1:8181", "LINKSTREAM_REGION": "ash",
		"LINKSTREAM_EDGE_NAME": "redirect-ash-0", "LINKSTREAM_REDIS_URL": "redis://127.0.0.1:16381/0",
		"LINKSTREAM_ORIGIN_URL": "http://127.0.0.1:8012", "LINKSTREAM_KAFKA_BROKERS": "127.0.0.1:19093",
		"LINKSTREAM_DEFAULT_DOMAIN": "localhost", "LINKSTREAM_LOCAL_NAMES": "localhost,127.0.0.1,::1", "LINKSTREAM_SERVER_TIMING": "true",
		"LINKSTREAM_JOURNAL_DIR":      "/r/data/journal/redirect-ash-0",
		"LINKSTREAM_SHORT_URL_SCHEME": "http", "LINKSTREAM_SHORT_URL_PORT": "8081",
		"LINKSTREAM_GEO_COUNTRY_FILE": "/g.mmdb", "LINKSTREAM_COOKIE_SECURE": "false",
		"LINKSTREAM_COUNTER_REDIS_URL": "redis://127.0.0.1:16380/0", "LINKSTREAM_RATELIMIT_REDIS_URL": "redis://127.0.0.1:16380/0",
	})
	check("clicks", map[string]string{
		"LINKSTREAM_ADMIN_ADDR": "127.0.0.1:9041", "LINKSTREAM_KAFKA_BROKERS": "127.0.0.1:19093",
		"LINKSTREAM_CLICKHOUSE_URL": "http://127.0.0.1:18124/linkstream", "LINKSTREAM_GEO_COUNTRY_FILE": "/g.mmdb",
	})
	check("analytics", map[string]string{
		"LINKSTREAM_ADMIN_ADDR": "127.0.0.1:9021", "LINKSTREAM_HTTP_ADDR": "127.0.0.1:8021",
		"LINKSTREAM_CLICKHOUSE_URL": "http://127.0.0.1:18124/linkstream", "LINKSTREAM_ACCESS_URL": "http://127.0.0.1:8012",
		"LINKSTREAM_KAFKA_BROKERS": "127.0.0.1:19093", "LINKSTREAM_GEO_COUNTRY_FILE": "/g.mmdb",
		"LINKSTREAM_RATELIMIT_REDIS_URL": "redis://127.0.0.1:16380/0", "LINKSTREAM_TRUSTED_PROXIES": "127.0.0.1/32,::1/128",
		"LINKSTREAM_RATE_CAPACITY": "200000", "LINKSTREAM_RATE_REFILL": "100000",
		"LINKSTREAM_RATE_ADDRESS_CAPACITY": "20000", "LINKSTREAM_RATE_ADDRESS_REFILL": "10000",
	})
	check("webhooks", map[string]string{
		"LINKSTREAM_ADMIN_ADDR": "127.0.0.1:9051", "LINKSTREAM_HTTP_ADDR": "127.0.0.1:8051",
		"LINKSTREAM_POSTGRES_URL":  "postgres://linkstream@127.0.0.1:15433/linkstream?sslmode=disable",
		"LINKSTREAM_KAFKA_BROKERS": "127.0.0.1:19093", "LINKSTREAM_ACCESS_URL": "http://127.0.0.1:8012",
		"LINKSTREAM_WEBHOOKS_KEY": plan.WebhooksSecretKey, "LINKSTREAM_WEBHOOKS_ALLOW_CIDRS": "127.0.0.0/8",
		"LINKSTREAM_WEBHOOKS_RETRY_FIRST": "1s", "LINKSTREAM_WEBHOOKS_MIN_SUMMARY_INTERVAL": "1s",
		"LINKSTREAM_SHORT_URL_SCHEME": "http", "LINKSTREAM_SHORT_URL_PORT": "8081",
		"LINKSTREAM_RATELIMIT_REDIS_URL": "redis://127.0.0.1:16380/0", "LINKSTREAM_TRUSTED_PROXIES": "127.0.0.1/32,::1/128",
		"LINKSTREAM_RATE_CAPACITY": "200000", "LINKSTREAM_RATE_REFILL": "100000",
		"LINKSTREAM_RATE_ADDRESS_CAPACITY": "20000", "LINKSTREAM_RATE_ADDRESS_REFILL": "10000",
	})
	check("dashboard", map[string]string{
		"LINKSTREAM_ADMIN_ADDR": "127.0.0.1:9001", "LINKSTREAM_HTTP_ADDR": "127.0.0.1:8001", "LINKSTREAM_COOKIE_SECURE": "false",
		"LINKSTREAM_RATELIMIT_REDIS_URL": "redis://127.0.0.1:16380/0",
		"LINKSTREAM_LINKS_URL":           "http://127.0.0.1:8011", "LINKSTREAM_ANALYTICS_URL": "http://127.0.0.1:8021", "LINKSTREAM_ACCESS_URL": "http://127.0.0.1:8012",
		"LINKSTREAM_WEBHOOKS_URL": "http://127.0.0.1:8051",
	})
	if got, want := p.RedisURLList(), "fra=redis://127.0.0.1:16380/0,ash=redis://127.0.0.1:16381/0"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestPortsAreNeverShared(t *testing.T) {
	check := func(environ map[string]string, want string) {
		t.Helper()
		s, err := settings(t, environ)
		if err == nil {
			_, err = plan.New(s)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, want %q", environ, err, want)
		}
	}
	check(map[string]string{"REGIONS": "a b c d e f g h i j k"}, "too many regions or edges")
	check(map[string]string{"EDGES": "101"}, "EDGES")
	check(map[string]string{"LINKSTREAM_PORT_BASE": "47000"}, "LINKSTREAM_PORT_BASE is too large")
}

func TestNothingStopsBeforeThoseWhoUseIt(t *testing.T) {
	p := newPlan(t, nil)
	tier := map[string]plan.Tier{}
	for _, process := range p.Processes {
		tier[process.Name] = process.Tier
	}
	for _, pair := range [][2]string{
		{"postgres", "links"},
		{"broker", "links"},
		{"broker", "clicks"},
		{"clickhouse", "analytics"},
		{"redis-fra", "cacheupdater-fra"},
		{"links", "analytics"},
		{"links", "webhooks"},
		{"webhooks", "dashboard"},
		{"links", "redirect-fra-0"},
		{"analytics", "dashboard"},
	} {
		if tier[pair[0]] >= tier[pair[1]] {
			t.Errorf("%s would stop with or before %s", pair[0], pair[1])
		}
	}
	if stores, services := len(p.Stores()), len(p.Services()); stores != 5 || stores+services != len(p.Processes) {
		t.Errorf("%d stores, %d services of %d", stores, services, len(p.Processes))
	}
}

func TestTheCanaryKnowsWhereCustomersAsk(t *testing.T) {
	p, err := plan.New(plan.Settings{Regions: []string{"fra", "ash"}, Edges: 1, PortBase: 1, Root: "/s", Bin: "/b"})
	if err != nil {
		t.Fatal(err)
	}
	canary := p.Canary("ls_key_x")
	want := map[string]string{
		"LINKSTREAM_ADMIN_ADDR": "127.0.0.1:9061", "LINKSTREAM_CANARY_API_URL": "http://127.0.0.1:8001", "LINKSTREAM_CANARY_API_KEY": "ls_key_x",
		"LINKSTREAM_CANARY_DOMAIN": "localhost", "LINKSTREAM_CANARY_EDGES": "http://127.0.0.1:8081,http://127.0.0.1:8181",
	}
	if canary.Name != "canary" || canary.Ready != "http://127.0.0.1:9061/readyz" || !maps.Equal(canary.Env, want) {
		t.Errorf("got %+v, want %v", canary, want)
	}
	if len(p.Processes) != len(p.Stores())+len(p.Services()) || slices.ContainsFunc(p.Processes, func(o plan.Process) bool { return o.Name == "canary" }) {
		t.Error("it is started before there is a key")
	}
	check := func(value string, want, bad bool) {
		t.Helper()
		s, err := plan.ReadSettings(func(name string) string {
			if name == "CANARY" {
				return value
			}
			return ""
		})
		if s.Canary != want || (err != nil) != bad {
			t.Errorf("CANARY=%s: %v, %v", value, s.Canary, err)
		}
	}
	check("", false, false)
	check("0", false, false)
	check("1", true, false)
	check("yes", false, true)
}
