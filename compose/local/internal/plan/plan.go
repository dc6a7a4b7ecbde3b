// Package plan says what the local stack consists of: which processes, with which ports, arguments and environment.
//
// It promises that the same settings always give the same plan, with the names and ports that the project's contracts
// fix, and that no two processes share a port. It starts nothing and asks the system nothing.
package plan

import (
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/linkstream/linkstream/compose/local/internal/ports"
)

// The first ports; region number r and edge number n are added where there are several.
const (
	portDashboard  = 8000
	portLinks      = 8010
	portLinksRPC   = 8011
	portAnalytics  = 8020
	portWebhooks   = 8050
	portEdge       = 8080  // + 100 r + n
	portRedis      = 16379 // + r
	portPostgres   = 15432
	portBroker     = 19092
	portController = 19093 // Apache Kafka's
	portClickHouse = 18123

	adminDashboard    = 9000
	adminLinks        = 9010
	adminAnalytics    = 9020
	adminCacheUpdater = 9030 // + r
	adminClicks       = 9040
	adminWebhooks     = 9050
	adminCanary       = 9060
	adminEdge         = 9080 // + 100 r + n

	maxPort = 65535
)

// DefaultDomain is the short domain of the first workspace.
const DefaultDomain = "localhost"

// localNames are by which edges are asked on this machine.
const localNames = "localhost,127.0.0.1,::1"

// TokenPepper is the secret of local stacks. It guards nothing: whoever reaches their database owns the machine.
const TokenPepper = "local-stack-pepper-of-no-use-elsewhere"

// WebhooksSecretKey is the same for the secrets of webhook endpoints.
const WebhooksSecretKey = "local-stack-webhooks-key-of-no-use-elsewhere"

// Names of the processes there is one of.
const (
	Postgres   = "postgres"
	Broker     = "broker"
	ClickHouse = "clickhouse"
)

// Kind tells how a process is run and asked whether it is ready.
type Kind int

// The kinds of processes.
const (
	KindPostgres Kind = iota
	KindRedis
	KindBroker // the embedded one
	KindKafka
	KindClickHouse
	KindService
)

// Tier orders the stop: the highest goes first, so that nothing stops before those who use it.
type Tier int

// The tiers, from the bottom.
const (
	TierStore Tier = iota
	TierLinks
	TierWorker // reads streams and stores, asks links
	TierFront  // what visitors and users talk to
)

// Process is one process of the stack.
type Process struct {
	Name   string
	Kind   Kind
	Tier   Tier
	Binary string // file in Settings.Bin; empty for programs that are not ours
	Env    map[string]string
	Ports  []ports.Use // the first is the one that clients use
	Ready  string      // URL or address to ask
	Data   string      // directory of a store
}

// Plan is the whole stack.
type Plan struct {
	Settings  Settings
	Processes []Process // in the order of their start

	PostgresURL      string
	PostgresAdminURL string // of the database that is always there
	KafkaBrokers     string
	ClickHouseURL    string
	APIURL           string // the dashboard's address, which serves the whole public API
	EdgeURLs         []string
	RedisURLs        []string // in the order of Settings.Regions
}

// New plans the stack. Settings that give one port to two processes, or a port that does not exist, are an error.
func New(s Settings) (Plan, error) {
	p := Plan{Settings: s}
	p.PostgresURL = "postgres://linkstream@" + p.addr(portPostgres) + "/linkstream?sslmode=disable"
	p.PostgresAdminURL = "postgres://linkstream@" + p.addr(portPostgres) + "/postgres?sslmode=disable"
	p.KafkaBrokers = p.addr(portBroker)
	p.ClickHouseURL = "http://" + p.addr(portClickHouse) + "/linkstream"
	p.APIURL = "http://" + p.addr(portDashboard)
	for r := range s.Regions {
		p.RedisURLs = append(p.RedisURLs, "redis://"+p.addr(portRedis+r)+"/0")
		for n := range s.Edges {
			p.EdgeURLs = append(p.EdgeURLs, "http://"+p.addr(edgePort(portEdge, r, n)))
		}
	}
	p.addStores()
	p.addServices()
	return p, p.checkPorts()
}

// Stores are the processes without the services.
func (p Plan) Stores() []Process {
	return slices.DeleteFunc(slices.Clone(p.Processes), func(process Process) bool { return process.Kind == KindService })
}

// Services are the project's own processes.
func (p Plan) Services() []Process {
	return slices.DeleteFunc(slices.Clone(p.Processes), func(process Process) bool { return process.Kind != KindService })
}

// Canary is the process that uses the stack as a customer with the API key, which there
// is only after the bootstrap. It is started last, and where the settings ask for it.
func (p Plan) Canary(apiKey string) Process {
	alone := Plan{Settings: p.Settings}
	alone.service("canary", "canary", TierFront, adminCanary, nil, map[string]string{
		"LINKSTREAM_CANARY_API_URL": p.APIURL,
		"LINKSTREAM_CANARY_API_KEY": apiKey,
		"LINKSTREAM_CANARY_DOMAIN":  DefaultDomain,
		"LINKSTREAM_CANARY_EDGES":   strings.Join(p.EdgeURLs, ","),
	})
	return alone.Processes[0]
}

func (p *Plan) addStores() {
	p.store(Process{Name: Postgres, Kind: KindPostgres, Ready: p.PostgresAdminURL}, portPostgres)
	for r, region := range p.Settings.Regions {
		p.store(Process{Name: "redis-" + region, Kind: KindRedis, Ready: p.addr(portRedis + r)}, portRedis+r)
	}
	p.addBroker()
	p.store(Process{
		Name: ClickHouse, Kind: KindClickHouse, Binary: "clickhouse", Ready: "http://" + p.addr(portClickHouse) + "/ping",
		Env: map[string]string{"TZ": "UTC"}, // the server's time zone is what DateTime without one means
	}, portClickHouse)
}

func (p *Plan) addServices() {
	firstEdge := strconv.Itoa(edgePort(portEdge, 0, 0) + p.Settings.PortBase)
	linksURL, analyticsURL := "http://"+p.addr(portLinks), "http://"+p.addr(portAnalytics)
	rpcURL := "http://" + p.addr(portLinksRPC)

	p.service("links", "links", TierLinks, adminLinks, []int{portLinks, portLinksRPC}, map[string]string{
		"LINKSTREAM_HTTP_ADDR":        p.addr(portLinks),
		"LINKSTREAM_RPC_ADDR":         p.addr(portLinksRPC),
		"LINKSTREAM_POSTGRES_URL":     p.PostgresURL,
		"LINKSTREAM_KAFKA_BROKERS":    p.KafkaBrokers,
		"LINKSTREAM_DEFAULT_DOMAIN":   DefaultDomain,
		"LINKSTREAM_TOKEN_PEPPER":     TokenPepper,
		"LINKSTREAM_SHORT_URL_SCHEME": "http",
		"LINKSTREAM_SHORT_URL_PORT":   firstEdge, // so that a short URL works when it is pasted
		"LINKSTREAM_LOCAL_NAMES":      localNames,
		"LINKSTREAM_LOCAL_PORTS":      p.edgePorts(),
	}, p.limits())
	p.service("clicks", "clicks", TierWorker, adminClicks, nil, map[string]string{
		"LINKSTREAM_KAFKA_BROKERS":    p.KafkaBrokers,
		"LINKSTREAM_CLICKHOUSE_URL":   p.ClickHouseURL,
		"LINKSTREAM_GEO_COUNTRY_FILE": p.Settings.GeoCountryFile,
	})
	p.service("analytics", "analytics", TierWorker, adminAnalytics, []int{portAnalytics}, map[string]string{
		"LINKSTREAM_HTTP_ADDR":        p.addr(portAnalytics),
		"LINKSTREAM_CLICKHOUSE_URL":   p.ClickHouseURL,
		"LINKSTREAM_KAFKA_BROKERS":    p.KafkaBrokers,
		"LINKSTREAM_GEO_COUNTRY_FILE": p.Settings.GeoCountryFile,
		"LINKSTREAM_ACCESS_URL":       rpcURL,
	}, p.limits())
	p.service("webhooks", "webhooks", TierWorker, adminWebhooks, []int{portWebhooks}, map[string]string{
		"LINKSTREAM_HTTP_ADDR":                     p.addr(portWebhooks),
		"LINKSTREAM_POSTGRES_URL":                  p.PostgresURL,
		"LINKSTREAM_KAFKA_BROKERS":                 p.KafkaBrokers,
		"LINKSTREAM_ACCESS_URL":                    rpcURL,
		"LINKSTREAM_WEBHOOKS_KEY":                  WebhooksSecretKey,
		"LINKSTREAM_WEBHOOKS_ALLOW_CIDRS":          "127.0.0.0/8", // receivers of this machine
		"LINKSTREAM_WEBHOOKS_RETRY_FIRST":          "1s",
		"LINKSTREAM_WEBHOOKS_MIN_SUMMARY_INTERVAL": "1s",
		"LINKSTREAM_SHORT_URL_SCHEME":              "http",
		"LINKSTREAM_SHORT_URL_PORT":                firstEdge,
	}, p.limits())
	for r, region := range p.Settings.Regions {
		p.service("cacheupdater-"+region, "cacheupdater", TierWorker, adminCacheUpdater+r, nil, map[string]string{
			"LINKSTREAM_REGION":        region,
			"LINKSTREAM_REDIS_URL":     p.RedisURLs[r],
			"LINKSTREAM_KAFKA_BROKERS": p.KafkaBrokers,
		})
	}
	for r, region := range p.Settings.Regions {
		for n := range p.Settings.Edges {
			name, port := fmt.Sprintf("redirect-%s-%d", region, n), edgePort(portEdge, r, n)
			p.service(name, "redirect", TierFront, edgePort(adminEdge, r, n), []int{port}, map[string]string{
				"LINKSTREAM_REGION":         region,
				"LINKSTREAM_EDGE_NAME":      name,
				"LINKSTREAM_HTTP_ADDR":      p.addr(port),
				"LINKSTREAM_REDIS_URL":      p.RedisURLs[r],
				"LINKSTREAM_ORIGIN_URL":     rpcURL,
				"LINKSTREAM_KAFKA_BROKERS":  p.KafkaBrokers,
				"LINKSTREAM_DEFAULT_DOMAIN": DefaultDomain,
				"LINKSTREAM_LOCAL_NAMES":    localNames,
				"LINKSTREAM_SERVER_TIMING":  "true",
				// What QR codes say is what the API says, whichever edge draws them.
				"LINKSTREAM_SHORT_URL_SCHEME":    "http",
				"LINKSTREAM_SHORT_URL_PORT":      firstEdge,
				"LINKSTREAM_JOURNAL_DIR":         p.Settings.data(filepath.Join("journal", name)),
				"LINKSTREAM_GEO_COUNTRY_FILE":    p.Settings.GeoCountryFile,
				"LINKSTREAM_COUNTER_REDIS_URL":   p.RedisURLs[0], // one for all regions
				"LINKSTREAM_RATELIMIT_REDIS_URL": p.RedisURLs[0],
				"LINKSTREAM_COOKIE_SECURE":       "false", // there is no TLS on the loopback address
			})
		}
	}
	p.service("dashboard", "dashboard", TierFront, adminDashboard, []int{portDashboard}, map[string]string{
		"LINKSTREAM_HTTP_ADDR":     p.addr(portDashboard),
		"LINKSTREAM_LINKS_URL":     linksURL,
		"LINKSTREAM_ANALYTICS_URL": analyticsURL,
		"LINKSTREAM_WEBHOOKS_URL":  "http://" + p.addr(portWebhooks),
		"LINKSTREAM_ACCESS_URL":    rpcURL,
		"LINKSTREAM_COOKIE_SECURE": "false", // there is no TLS on the loopback address
	}, map[string]string{
		"LINKSTREAM_RATELIMIT_REDIS_URL": p.RedisURLs[0],
	})
}

// limits are the rate limits of an API: counted in the first region's Redis, and so high
// that load tools with one key reach what two cores can do, bulk calls of 20,000 links a
// second included.
func (p *Plan) limits() map[string]string {
	return map[string]string{
		"LINKSTREAM_RATELIMIT_REDIS_URL":   p.RedisURLs[0],
		"LINKSTREAM_RATE_CAPACITY":         "200000",
		"LINKSTREAM_RATE_REFILL":           "100000",
		"LINKSTREAM_RATE_ADDRESS_CAPACITY": "20000",
		"LINKSTREAM_RATE_ADDRESS_REFILL":   "10000",
		"LINKSTREAM_TRUSTED_PROXIES":       "127.0.0.1/32,::1/128", // the dashboard
	}
}

func (p *Plan) store(process Process, listen ...int) {
	process.Tier = TierStore
	for _, port := range listen {
		process.Ports = append(process.Ports, p.use(port, process.Name))
	}
	if process.Data == "" {
		process.Data = p.Settings.data(process.Name)
	}
	p.Processes = append(p.Processes, process)
}

func (p *Plan) service(name, binary string, tier Tier, admin int, listen []int, env ...map[string]string) {
	process := Process{
		Name: name, Kind: KindService, Tier: tier, Binary: binary,
		Env:   map[string]string{},
		Ready: "http://" + p.addr(admin) + "/readyz",
	}
	for _, part := range env {
		maps.Copy(process.Env, part)
	}
	process.Env["LINKSTREAM_ADMIN_ADDR"] = p.addr(admin)
	for _, port := range listen {
		process.Ports = append(process.Ports, p.use(port, name))
	}
	process.Ports = append(process.Ports, p.use(admin, name))
	p.Processes = append(p.Processes, process)
}

func (p *Plan) use(port int, name string) ports.Use {
	return ports.Use{Port: port + p.Settings.PortBase, For: name}
}

func (p *Plan) addr(port int) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port+p.Settings.PortBase))
}

// edgePorts are where visitors ask, comma separated.
func (p *Plan) edgePorts() string {
	var ports []string
	for r := range p.Settings.Regions {
		for n := range p.Settings.Edges {
			ports = append(ports, strconv.Itoa(edgePort(portEdge, r, n)+p.Settings.PortBase))
		}
	}
	return strings.Join(ports, ",")
}

func edgePort(first, region, edge int) int { return first + 100*region + edge }

func (p *Plan) checkPorts() error {
	users := map[int]string{}
	for _, process := range p.Processes {
		for _, use := range process.Ports {
			if other, taken := users[use.Port]; taken {
				return fmt.Errorf("too many regions or edges: %s and %s would both get port %d", other, use.For, use.Port)
			}
			if use.Port > maxPort {
				return fmt.Errorf("LINKSTREAM_PORT_BASE is too large: %s would get port %d", use.For, use.Port)
			}
			users[use.Port] = use.For
		}
	}
	return nil
}

// RedisURLList is what dev.env holds: "fra=redis://...,ash=redis://...".
func (p Plan) RedisURLList() string {
	pairs := make([]string, len(p.RedisURLs))
	for r, url := range p.RedisURLs {
		pairs[r] = p.Settings.Regions[r] + "=" + url
	}
	return strings.Join(pairs, ",")
}
