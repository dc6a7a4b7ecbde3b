package lab

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	"github.com/linkstream/linkstream/loadtest/internal/far"
	"github.com/linkstream/linkstream/loadtest/internal/relay"
	"github.com/linkstream/linkstream/loadtest/internal/stack"
)

// The ports in a place, which has all of them for itself.
const (
	distantRedis   = "127.0.0.1:6379"
	distantUpdater = "127.0.0.1:9030"
	distantEdge    = "127.0.0.1:8080"
	distantAdmin   = "127.0.0.1:9080"
)

// Distant is a region with one edge in a place that is far away. Its own Redis is near;
// the broker and the origin are where the stack is.
type Distant struct {
	Edge Edge

	place    *far.Place
	dir      string
	environ  []string
	client   *http.Client
	running  []*child
	stop     func()
	relaying sync.WaitGroup
	mu       sync.Mutex
	failed   []error
}

// StartDistant starts a region in a place. Close has to be called in any case.
func StartDistant(ctx context.Context, s *stack.Stack, bin string, environ []string, name string, place *far.Place) (*Distant, error) {
	d := &Distant{
		Edge:  Edge{Name: fmt.Sprintf("redirect-%s-0", name), Addr: distantEdge, Admin: "http://" + distantAdmin},
		place: place, environ: without(environ), client: &http.Client{Transport: &http.Transport{DialContext: place.Dial}},
	}
	var err error
	if d.dir, err = os.MkdirTemp("", "linkstream-lab-"); err != nil {
		return d, fmt.Errorf("making a folder: %w", err)
	}
	relaying, stop := context.WithCancel(context.WithoutCancel(ctx))
	d.stop = stop
	origin, err := url.Parse(s.RPC)
	if err != nil {
		return d, fmt.Errorf("reading the origin's address: %w", err)
	}
	for _, addr := range []string{s.Kafka, origin.Host} {
		if err := d.lead(ctx, relaying, addr); err != nil {
			return d, err
		}
	}
	if err := d.redis(ctx, name); err != nil {
		return d, err
	}
	shared := map[string]string{"LINKSTREAM_REGION": name, "LINKSTREAM_REDIS_URL": "redis://" + distantRedis, "LINKSTREAM_KAFKA_BROKERS": s.Kafka}
	if err := d.program(ctx, bin, "cacheupdater", "cacheupdater-"+name, distantUpdater, shared, nil); err != nil {
		return d, err
	}
	return d, d.program(ctx, bin, "redirect", d.Edge.Name, distantAdmin, shared, map[string]string{
		"LINKSTREAM_EDGE_NAME": d.Edge.Name, "LINKSTREAM_HTTP_ADDR": distantEdge, "LINKSTREAM_JOURNAL_DIR": filepath.Join(d.dir, "journal"),
		"LINKSTREAM_ORIGIN_URL": s.RPC, "LINKSTREAM_DEFAULT_DOMAIN": "localhost", "LINKSTREAM_SERVER_TIMING": "true",
	})
}

// lead makes an address of this machine's loopback the same in the place, over the
// slow link: the broker names itself by such an address.
func (d *Distant) lead(ctx, relaying context.Context, addr string) error {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("reading an address: %w", err)
	}
	gateway := net.JoinHostPort(d.place.Gateway, port)
	var lc net.ListenConfig
	home, err := lc.Listen(ctx, "tcp", gateway)
	if err != nil {
		return fmt.Errorf("listening for a distant region: %w", err)
	}
	d.relay(relaying, relay.New(home, relay.To(addr)))
	away, err := d.place.Listen(ctx, addr)
	if err != nil {
		return fmt.Errorf("listening in a distant region: %w", err)
	}
	d.relay(relaying, relay.New(away, func(ctx context.Context) (net.Conn, error) { return d.place.Dial(ctx, "tcp", gateway) }))
	return nil
}

func (d *Distant) relay(ctx context.Context, r *relay.Relay) {
	d.relaying.Go(func() {
		if err := r.Run(ctx); err != nil {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.failed = append(d.failed, err)
		}
	})
}

func (d *Distant) redis(ctx context.Context, region string) error {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return fmt.Errorf("finding redis-server: %w", err)
	}
	host, port, err := net.SplitHostPort(distantRedis)
	if err != nil {
		return err
	}
	name := "redis-" + region
	c, err := start(d.place.Do, name, filepath.Join(d.dir, name+".log"), d.environ, path,
		"--port", port, "--bind", host, "--save", "", "--appendonly", "no", "--dir", d.dir)
	if err != nil {
		return err
	}
	d.running = append(d.running, c)
	return c.until(ctx, name+" answers", func(ctx context.Context) error {
		return d.place.Do(func() error {
			_, err := stack.Redis(ctx, distantRedis, "PING")
			return err
		})
	})
}

func (d *Distant) program(ctx context.Context, bin, binary, name, admin string, environments ...map[string]string) error {
	env := map[string]string{"LINKSTREAM_ADMIN_ADDR": admin}
	for _, e := range environments {
		maps.Copy(env, e)
	}
	c, err := start(d.place.Do, name, filepath.Join(d.dir, name+".log"), with(d.environ, env), filepath.Join(bin, binary))
	if err != nil {
		return err
	}
	d.running = append(d.running, c)
	return c.until(ctx, name+" is ready", func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+admin+"/readyz", http.NoBody)
		if err != nil {
			return fmt.Errorf("building the request: %w", err)
		}
		answer, err := d.client.Do(request)
		if err != nil {
			return err
		}
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("status %d", answer.StatusCode)
		}
		return nil
	})
}

// Enter takes the calling thread to the region's visitors.
func (d *Distant) Enter() (leave func() error, err error) { return d.place.Enter() }

// Close stops everything and removes the folder.
func (d *Distant) Close() error {
	var errs []error
	for _, c := range slices.Backward(d.running) {
		errs = append(errs, c.end(syscall.SIGTERM))
	}
	if d.stop != nil {
		d.stop()
	}
	d.relaying.Wait()
	d.client.CloseIdleConnections()
	if d.dir != "" {
		errs = append(errs, os.RemoveAll(d.dir))
	}
	return errors.Join(append(errs, d.failed...)...)
}
