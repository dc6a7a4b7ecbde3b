// Package rig starts what the edge scenario measures, in a folder of its own and
// on free ports: one edge with everything it needs (the local stack's stores, the
// origin, cacheupdater for the heartbeats without which no edge trusts its
// memory), and nginx to compare with.
//
// The edge and nginx get a processor for themselves. Everything else, this process
// included, is on the other one. Nobody reads the clicks: they end in the broker.
package rig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/linkstream/linkstream/loadtest/internal/cpu"
)

// Domain is that of all links.
const Domain = "go.test"

const (
	region     = "fra"
	startLimit = time.Minute
	stopLimit  = 20 * time.Second
	pollEvery  = 50 * time.Millisecond
)

// The ports that the local stack and the services have, before the base is added.
const (
	portLinks  = 8010
	portRPC    = 8011
	portEdge   = 8080
	portNginx  = 8090 // of this rig
	adminLinks = 9010
	adminCache = 9030
	adminEdge  = 9080
	portPg     = 15432
	portRedis  = 16379
	portClicks = 18123
	portBroker = 19092
)

// Bases from which no port reaches the ones that systems hand out to clients, which
// begin at 32768.
const (
	lowestBase  = 3_000
	highestBase = 13_000
	baseStep    = 10
	baseTries   = 100
)

// Rig is a running rig.
type Rig struct {
	bin, dir  string
	environ   []string // of the caller, without what is meant for another stack
	base      int
	apiKey    string
	workspace string
	stores    map[string]string // the stack's dev.env
	running   []*process        // in the order of their start
	edge      *process
	nginx     *process

	everywhere bool // processes may run on every processor
	kept       bool // the folder stays

	// Processors: Target is the edge's and nginx's, Home everything else's.
	Target, Home int
}

// Check says what is missing to start a rig.
func Check(bin string) error {
	var missing []error
	for _, name := range []string{"stack", "broker", "clickhouse", "migrate", "links", "cacheupdater", "redirect"} {
		if _, err := os.Stat(filepath.Join(bin, name)); err != nil {
			missing = append(missing, fmt.Errorf("the program %s is not built: run `make build`", filepath.Join(bin, name)))
		}
	}
	if _, err := nginxPath(); err != nil {
		missing = append(missing, err)
	}
	_, _, err := cpu.Two()
	return errors.Join(append(missing, err)...)
}

// Start starts a rig with the programs in bin. Close has to be called in any case.
func Start(ctx context.Context, bin string, environ []string) (*Rig, error) {
	r := &Rig{environ: slices.DeleteFunc(slices.Clone(environ), func(pair string) bool {
		// The place of a library is the machine's, everything else another stack's.
		return strings.HasPrefix(pair, "LINKSTREAM_") && !strings.HasPrefix(pair, "LINKSTREAM_CHDB_LIB=")
	})}
	var err error
	if r.bin, err = filepath.Abs(bin); err != nil {
		return r, fmt.Errorf("locating %s: %w", bin, err)
	}
	if r.Home, r.Target, err = cpu.Two(); err != nil {
		return r, err
	}
	if err := cpu.PinSelf(r.Home); err != nil {
		return r, err
	}
	if r.dir, err = os.MkdirTemp("", "linkstream-load-"); err != nil {
		return r, fmt.Errorf("making a folder: %w", err)
	}
	if err := os.Chmod(r.dir, 0o755); err != nil { // Postgres runs as another user
		return r, fmt.Errorf("making a folder: %w", err)
	}
	if r.base, err = freeBase(ctx); err != nil {
		return r, err
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for _, step := range []func(context.Context) error{r.startStores, r.prepareStores, r.startServices, r.StartEdge, r.startNginx} {
		if err := step(ctx); err != nil {
			return r, err
		}
	}
	return r, nil
}

// Close stops everything and removes the folder.
func (r *Rig) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*stopLimit)
	defer cancel()
	var errs []error
	for _, p := range slices.Backward(r.running) {
		errs = append(errs, p.stop())
	}
	if r.dir == "" || r.kept {
		return errors.Join(errs...)
	}
	if len(r.running) > 0 {
		if out, err := exec.CommandContext(ctx, filepath.Join(r.bin, "stack"), "clean", "--dir", r.stackDir()).CombinedOutput(); err != nil {
			errs = append(errs, fmt.Errorf("cleaning up: %w: %s", err, out))
		}
	}
	return errors.Join(append(errs, os.RemoveAll(r.dir))...)
}

// EdgeAddr and NginxAddr are host:port.
func (r *Rig) EdgeAddr() string { return r.addr(portEdge) }

// NginxAddr is host:port.
func (r *Rig) NginxAddr() string { return r.addr(portNginx) }

// EdgePID is the edge's process.
func (r *Rig) EdgePID() int { return r.edge.cmd.Process.Pid }

// NginxPID is nginx' master process, whose child does the work.
func (r *Rig) NginxPID() int { return r.nginx.cmd.Process.Pid }

// EdgeAdmin is the edge's admin listener, http://host:port.
func (r *Rig) EdgeAdmin() string { return "http://" + r.addr(adminEdge) }

func (r *Rig) addr(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(r.base+port)) }

func (r *Rig) stackDir() string { return filepath.Join(r.dir, "stack") }

func (r *Rig) startStores(ctx context.Context) error {
	p, err := r.start(r.Home, "stores", map[string]string{
		"REGIONS": region, "EDGES": "1", "LINKSTREAM_PORT_BASE": strconv.Itoa(r.base),
	}, filepath.Join(r.bin, "stack"), "up", "--only", "stores", "--dir", r.stackDir(), "--bin", r.bin)
	if err != nil {
		return err
	}
	return p.until(ctx, func(context.Context) error {
		text, err := os.ReadFile(filepath.Join(r.stackDir(), "dev.env"))
		if err != nil {
			return err
		}
		r.stores = map[string]string{}
		for line := range strings.Lines(string(text)) {
			if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
				r.stores[name] = strings.Trim(value, "'")
			}
		}
		return nil
	})
}

// tokenPepper is the secret of a service that lives for one run.
const tokenPepper = "load-test-pepper-of-no-use-elsewhere"

// prepareStores migrates what the edge and the origin need, and makes the
// workspace that owns the links.
func (r *Rig) prepareStores(ctx context.Context) error {
	env := map[string]string{
		"LINKSTREAM_TOKEN_PEPPER":  tokenPepper,
		"LINKSTREAM_POSTGRES_URL":  r.stores["LINKSTREAM_POSTGRES_URL"],
		"LINKSTREAM_KAFKA_BROKERS": r.stores["LINKSTREAM_KAFKA_BROKERS"],
	}
	for _, what := range []string{"postgres", "topics"} {
		if _, err := r.once(ctx, env, "migrate", what); err != nil {
			return err
		}
	}
	if r.kept {
		env["LINKSTREAM_BOOTSTRAP_PASSWORD"], env["LINKSTREAM_BOOTSTRAP_API_KEY"] = keptKey, keptKey
	}
	printed, err := r.once(ctx, env, "links", "bootstrap", "--workspace", "Load test", "--email", "load@example.com", "--domain", Domain)
	if err != nil {
		return err
	}
	var login struct {
		APIKey    string `json:"api_key"`
		Workspace string `json:"workspace_id"`
	}
	if err := json.Unmarshal(printed, &login); err != nil || login.APIKey == "" {
		return fmt.Errorf("links bootstrap printed no key: %w", err)
	}
	r.apiKey, r.workspace = login.APIKey, login.Workspace
	return nil
}

func (r *Rig) startServices(ctx context.Context) error {
	links, err := r.service("links", map[string]string{
		"LINKSTREAM_HTTP_ADDR":      r.addr(portLinks),
		"LINKSTREAM_RPC_ADDR":       r.addr(portRPC),
		"LINKSTREAM_ADMIN_ADDR":     r.addr(adminLinks),
		"LINKSTREAM_TOKEN_PEPPER":   tokenPepper,
		"LINKSTREAM_POSTGRES_URL":   r.stores["LINKSTREAM_POSTGRES_URL"],
		"LINKSTREAM_KAFKA_BROKERS":  r.stores["LINKSTREAM_KAFKA_BROKERS"],
		"LINKSTREAM_DEFAULT_DOMAIN": Domain,
	})
	if err != nil {
		return err
	}
	updater, err := r.service("cacheupdater", map[string]string{
		"LINKSTREAM_REGION":        region,
		"LINKSTREAM_ADMIN_ADDR":    r.addr(adminCache),
		"LINKSTREAM_REDIS_URL":     r.redisURL(),
		"LINKSTREAM_KAFKA_BROKERS": r.stores["LINKSTREAM_KAFKA_BROKERS"],
	})
	if err != nil {
		return err
	}
	return errors.Join(links.untilReady(ctx, r.addr(adminLinks)), updater.untilReady(ctx, r.addr(adminCache)))
}

func (r *Rig) service(name string, env map[string]string) (*process, error) {
	return r.start(r.Home, name, env, filepath.Join(r.bin, name))
}

// StartEdge starts the edge, or starts it again with an empty memory.
func (r *Rig) StartEdge(ctx context.Context) error {
	if r.edge != nil {
		if err := r.edge.stop(); err != nil {
			return err
		}
		r.running = slices.DeleteFunc(r.running, func(p *process) bool { return p == r.edge })
	}
	journal, err := os.MkdirTemp(r.dir, "journal-") // counts go on in a journal, so each edge has its own
	if err != nil {
		return fmt.Errorf("making the journal's directory: %w", err)
	}
	r.edge, err = r.start(r.Target, "redirect", map[string]string{
		"GOMAXPROCS":                "1",
		"LINKSTREAM_REGION":         region,
		"LINKSTREAM_EDGE_NAME":      "redirect-fra-0",
		"LINKSTREAM_HTTP_ADDR":      r.addr(portEdge),
		"LINKSTREAM_ADMIN_ADDR":     r.addr(adminEdge),
		"LINKSTREAM_REDIS_URL":      r.redisURL(),
		"LINKSTREAM_ORIGIN_URL":     "http://" + r.addr(portRPC),
		"LINKSTREAM_KAFKA_BROKERS":  r.stores["LINKSTREAM_KAFKA_BROKERS"],
		"LINKSTREAM_DEFAULT_DOMAIN": Domain,
		"LINKSTREAM_JOURNAL_DIR":    journal,
	}, filepath.Join(r.bin, "redirect"))
	if err != nil {
		return err
	}
	return r.edge.untilReady(ctx, r.addr(adminEdge))
}

func (r *Rig) redisURL() string {
	_, url, _ := strings.Cut(r.stores["LINKSTREAM_REDIS_URLS"], "=") // of one region
	return url
}

// once runs a program to its end and returns what it printed.
func (r *Rig) once(ctx context.Context, env map[string]string, program string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(r.bin, program), args...)
	cmd.Env = r.environment(env)
	out, err := cmd.Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			return nil, fmt.Errorf("running %s: %w: %s%s", program, err, out, exit.Stderr)
		}
		return nil, fmt.Errorf("running %s: %w", program, err)
	}
	return out, nil
}

// environment is the caller's with values on top.
func (r *Rig) environment(values map[string]string) []string {
	environ := slices.Clone(r.environ)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		environ = append(environ, name+"="+values[name])
	}
	return environ
}

// freeBase picks an offset at which every port is free.
func freeBase(ctx context.Context) (int, error) {
	ports := []int{
		portLinks, portRPC, portEdge, portNginx, adminLinks, adminCache, adminEdge,
		portPg, portRedis, portClicks, portBroker, portBroker + 1, portAnalytics, adminAnalytics,
	}
	free := func(port int) bool {
		var lc net.ListenConfig
		l, err := lc.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		return err == nil && l.Close() == nil
	}
	for range baseTries {
		base := lowestBase + rand.IntN((highestBase-lowestBase)/baseStep)*baseStep
		if !slices.ContainsFunc(ports, func(port int) bool { return !free(base + port) }) {
			return base, nil
		}
	}
	return 0, errors.New("no free ports")
}

// get reads a page of an admin listener.
func get(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("building the request: %w", err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: status %d: %.200s", url, answer.StatusCode, text)
	}
	return text, err
}
