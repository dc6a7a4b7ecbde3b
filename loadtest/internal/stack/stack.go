// Package stack is a local stack as a stranger sees it: the addresses in its
// dev.env, the processes in its run folder, and the ports that the plan fixes.
//
// Faults ends and stops its processes and promises to mend what it broke, also when
// the scenario is interrupted. Start runs a stack of its own where none is running.
// It refuses anything that is not on loopback.
package stack

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/linkstream/linkstream/loadtest/internal/metric"
)

// The ports of the plan, before the base is added.
const (
	portAPI  = 8000
	portRPC  = 8011
	portEdge = 8080 // + 100 r + n
	// adminAbove is how far the admin port of an edge is above its own.
	adminAbove        = 1000
	adminDashboard    = 9000
	adminLinks        = 9010
	adminAnalytics    = 9020
	adminCacheUpdater = 9030 // + r
	adminClicks       = 9040
	adminWebhooks     = 9050
)

const (
	pollEvery = 50 * time.Millisecond
	gaugeAge  = time.Second // of outbox_pending
)

// Edge is one of the edges.
type Edge struct {
	Name, Region string
	URL          string // http://host:port
	Addr         string // host:port
	Admin        string // http://host:port of its admin listener
}

// Region is one region.
type Region struct {
	Name  string
	Redis string // host:port
}

// Stack is a running local stack.
type Stack struct {
	Dir         string
	API, APIKey string
	RPC         string // of links
	Kafka       string
	ClickHouse  string
	Edges       []Edge
	Regions     []Region
	base        int
}

// ErrNotRunning says that there is no stack in the folder.
var ErrNotRunning = errors.New("no local stack is running there")

// Open reads where the stack in dir is, and whether it runs.
func Open(ctx context.Context, dir string) (*Stack, error) {
	values, err := readEnv(filepath.Join(dir, "dev.env"))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotRunning, err)
	}
	s, err := read(dir, values)
	if err != nil {
		return nil, err
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", strings.TrimPrefix(s.API, "http://"))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotRunning, err)
	}
	_ = conn.Close()
	return s, s.dropStaleHolds()
}

func read(dir string, values map[string]string) (*Stack, error) {
	s := &Stack{
		Dir: dir, API: values["LINKSTREAM_API_URL"], APIKey: values["LINKSTREAM_API_KEY"],
		Kafka: values["LINKSTREAM_KAFKA_BROKERS"], ClickHouse: values["LINKSTREAM_CLICKHOUSE_URL"],
	}
	for _, name := range []string{"LINKSTREAM_API_URL", "LINKSTREAM_API_KEY", "LINKSTREAM_EDGE_URLS", "LINKSTREAM_REDIS_URLS", "LINKSTREAM_KAFKA_BROKERS"} {
		if values[name] == "" {
			return nil, fmt.Errorf("dev.env lacks %s", name)
		}
	}
	port, err := loopbackPort(s.API)
	if err != nil {
		return nil, err
	}
	s.base = port - portAPI
	s.RPC = "http://" + local(portRPC+s.base)
	for pair := range strings.SplitSeq(values["LINKSTREAM_REDIS_URLS"], ",") {
		name, address, _ := strings.Cut(pair, "=")
		if _, err := loopbackPort(address); err != nil {
			return nil, err
		}
		u, err := url.Parse(address)
		if err != nil {
			return nil, fmt.Errorf("reading the address of Redis: %w", err)
		}
		s.Regions = append(s.Regions, Region{Name: name, Redis: u.Host})
	}
	for address := range strings.SplitSeq(values["LINKSTREAM_EDGE_URLS"], ",") {
		port, err := loopbackPort(address)
		if err != nil {
			return nil, err
		}
		r, n := (port-s.base-portEdge)/100, (port-s.base-portEdge)%100
		if r < 0 || r >= len(s.Regions) {
			return nil, fmt.Errorf("the edge %s is in no region", address)
		}
		s.Edges = append(s.Edges, Edge{
			Name: fmt.Sprintf("redirect-%s-%d", s.Regions[r].Name, n), Region: s.Regions[r].Name,
			URL: address, Addr: local(port), Admin: "http://" + local(port+adminAbove),
		})
	}
	return s, nil
}

func local(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// loopbackPort is the port of an address, which has to be one of this machine: load
// and faults go nowhere else.
func loopbackPort(address string) (int, error) {
	u, err := url.Parse(address)
	if err != nil {
		return 0, fmt.Errorf("reading an address: %w", err)
	}
	if ip := net.ParseIP(u.Hostname()); u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return 0, fmt.Errorf("load goes to loopback only, not to %s", u.Host)
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		return 0, fmt.Errorf("reading the port of %s: %w", u.Host, err)
	}
	return port, nil
}

func readEnv(path string) (map[string]string, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading dev.env: %w", err)
	}
	defer func() { _ = file.Close() }()
	values := map[string]string{}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if name, value, ok := strings.Cut(strings.TrimSpace(lines.Text()), "="); ok {
			values[name] = strings.Trim(value, "'")
		}
	}
	return values, lines.Err()
}

// Admin is the admin listener of a service, by its name in the run folder, and
// whether it has one.
func (s *Stack) Admin(name string) (string, bool) {
	port := map[string]int{"dashboard": adminDashboard, "links": adminLinks, "analytics": adminAnalytics, "clicks": adminClicks, "webhooks": adminWebhooks}[name]
	for r, region := range s.Regions {
		if name == "cacheupdater-"+region.Name {
			port = adminCacheUpdater + r
		}
	}
	for _, edge := range s.Edges {
		if name == edge.Name {
			return edge.Admin, true
		}
	}
	return "http://" + local(port+s.base), port > 0
}

// Services are the names of all processes with an admin listener.
func (s *Stack) Services() []string {
	names := []string{"links", "clicks", "analytics", "webhooks", "dashboard"}
	for _, region := range s.Regions {
		names = append(names, "cacheupdater-"+region.Name)
	}
	for _, edge := range s.Edges {
		names = append(names, edge.Name)
	}
	return names
}

// Metrics asks a service for its metrics.
func (s *Stack) Metrics(ctx context.Context, name string) (metric.Samples, error) {
	admin, ok := s.Admin(name)
	if !ok {
		return nil, fmt.Errorf("%s has no metrics", name)
	}
	return metric.Get(ctx, admin)
}

// EdgeSum is the sum of a metric over all edges.
func (s *Stack) EdgeSum(ctx context.Context, name string) (sum float64, err error) {
	for _, edge := range s.Edges {
		m, err := metric.Get(ctx, edge.Admin)
		if err != nil {
			return 0, err
		}
		sum += m.Sum(name)
	}
	return sum, nil
}

// Drained waits until the outbox is empty. Its gauge is up to a second old: only what
// it says after that counts.
func (s *Stack) Drained(ctx context.Context, limit time.Duration) error {
	begun := time.Now()
	return Until(ctx, limit, "the outbox is empty", func(ctx context.Context) error {
		m, err := s.Metrics(ctx, "links")
		if n := m.Sum("outbox_pending"); err == nil && (n > 0 || time.Since(begun) < gaugeAge) {
			err = fmt.Errorf("%.0f rows are in it", n)
		}
		return err
	})
}

// AwaitReady waits until all services, or those named, say that they are ready.
func (s *Stack) AwaitReady(ctx context.Context, limit time.Duration, names ...string) error {
	if len(names) == 0 {
		names = s.Services()
	}
	for _, name := range names {
		admin, ok := s.Admin(name)
		if !ok {
			continue // a store: those who use it say whether it is there
		}
		if err := Until(ctx, limit, name+" is ready", func(ctx context.Context) error { return Ready(ctx, admin) }); err != nil {
			return err
		}
	}
	return nil
}

// ReadyAgain waits until all services say that they are ready, and says how long each
// took.
func (s *Stack) ReadyAgain(ctx context.Context, limit time.Duration) (map[string]time.Duration, error) {
	begun, took := time.Now(), map[string]time.Duration{}
	err := Until(ctx, limit, "all are ready", func(ctx context.Context) error {
		var missing error
		for _, name := range s.Services() {
			if _, done := took[name]; done {
				continue
			}
			admin, _ := s.Admin(name)
			if err := Ready(ctx, admin); err != nil {
				missing = fmt.Errorf("%s: %w", name, err)
				continue
			}
			took[name] = time.Since(begun)
		}
		return missing
	})
	return took, err
}

// Ready asks an admin listener.
func Ready(ctx context.Context, admin string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, admin+"/readyz", http.NoBody)
	if err != nil {
		return fmt.Errorf("building the request: %w", err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("asking whether it is ready: %w", err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("asking whether it is ready: status %d", answer.StatusCode)
	}
	return nil
}

// Until polls until check returns nil.
func Until(ctx context.Context, limit time.Duration, what string, check func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting until %s, for %v: %w", what, limit, errors.Join(context.Cause(ctx), err))
		case <-tick.C:
		}
	}
}
