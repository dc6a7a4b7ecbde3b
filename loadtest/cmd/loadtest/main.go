// Command loadtest runs a load scenario and ends with a verdict: it exits with 1
// when a promise was broken.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/caarlos0/env/v11"

	"github.com/linkstream/linkstream/loadtest/internal/scenario"
)

const usage = `usage: loadtest SCENARIO

Load scenarios. Load goes to loopback only. Each ends with a verdict and leaves a
report in LINKSTREAM_LOAD_RESULTS (default loadtest/results).

  steady   a fixed rate of redirects over all edges of the stack that "make run" has
           started (its .local/dev.env is read; variables that are set already win);
           every answer must be right, and every one must be counted

  LINKSTREAM_LOAD_RATE      redirects a second (default 500)
  LINKSTREAM_LOAD_DURATION  how long (default 10s)

  api      makes links through the API of the stack that "make run" has started, first
           one by one, then 1,000 at a time, as fast as they are taken; after each the
           outbox has to be empty within two seconds

  LINKSTREAM_LOAD_DURATION  how long each half is (default 10s)
  LINKSTREAM_LOAD_METRICS   the links service's metrics (default: the local stack's)

  edge     one edge, which records its clicks, against nginx with a constant answer,
           in turn, each alone on one processor with the load on another; then the
           edge's latency at half of its maximum rate. It starts all it needs itself
           from the built programs (make build) and needs Linux, two processors and
           nginx (apt-get install nginx-light)

  LINKSTREAM_LOAD_LINKS     how many links; several, comma-separated and growing, for a
                            table of how cost grows (default 100000)
  LINKSTREAM_LOAD_PAIRS     pairs of measurements (default 7)
  LINKSTREAM_LOAD_SLICE     how long one half of a pair is (default 1s)
  LINKSTREAM_LOAD_DURATION  how long each latency is measured (default 8s)
  LINKSTREAM_LOAD_PROFILE   file for the edge's CPU profile under full load (default none)
  LINKSTREAM_LOAD_BIN       folder of the built programs (default .local/bin)

  analytics  makes clicks inside an embedded ClickHouse of its own, through the views, and
           asks what the dashboard's panels ask; every one has to answer in 100 ms at p95.
           It starts all it needs itself from the built programs (make build). 100 million
           clicks take about ten minutes and ten gigabytes in the system's temporary folder

  LINKSTREAM_LOAD_CLICKS    how many (default 100000000)
`

type steadyConfig struct {
	APIURL   string        `env:"LINKSTREAM_API_URL"`
	APIKey   string        `env:"LINKSTREAM_API_KEY"`
	EdgeURLs []string      `env:"LINKSTREAM_EDGE_URLS"`
	Rate     int           `env:"LINKSTREAM_LOAD_RATE" envDefault:"500"`
	Duration time.Duration `env:"LINKSTREAM_LOAD_DURATION" envDefault:"10s"`
	Results  string        `env:"LINKSTREAM_LOAD_RESULTS" envDefault:"loadtest/results"`
}

type apiConfig struct {
	APIURL   string        `env:"LINKSTREAM_API_URL"`
	APIKey   string        `env:"LINKSTREAM_API_KEY"`
	Metrics  string        `env:"LINKSTREAM_LOAD_METRICS"`
	Duration time.Duration `env:"LINKSTREAM_LOAD_DURATION" envDefault:"10s"`
	Results  string        `env:"LINKSTREAM_LOAD_RESULTS" envDefault:"loadtest/results"`
}

type edgeConfig struct {
	Links    []int         `env:"LINKSTREAM_LOAD_LINKS" envDefault:"100000"`
	Pairs    int           `env:"LINKSTREAM_LOAD_PAIRS" envDefault:"7"`
	Slice    time.Duration `env:"LINKSTREAM_LOAD_SLICE" envDefault:"1s"`
	Duration time.Duration `env:"LINKSTREAM_LOAD_DURATION" envDefault:"8s"`
	Profile  string        `env:"LINKSTREAM_LOAD_PROFILE"`
	Bin      string        `env:"LINKSTREAM_LOAD_BIN" envDefault:".local/bin"`
	Results  string        `env:"LINKSTREAM_LOAD_RESULTS" envDefault:"loadtest/results"`
}

type analyticsConfig struct {
	Clicks  int    `env:"LINKSTREAM_LOAD_CLICKS" envDefault:"100000000"`
	Bin     string `env:"LINKSTREAM_LOAD_BIN" envDefault:".local/bin"`
	Results string `env:"LINKSTREAM_LOAD_RESULTS" envDefault:"loadtest/results"`
}

// maxClicks fit onto the disk of a laptop.
const maxClicks = 1_000_000_000

// maxLinks fit into the memory of a Redis on a laptop.
const maxLinks = 5_000_000

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Environ(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "loadtest:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, environ, args []string, stdout io.Writer) error {
	if len(args) != 1 || strings.HasPrefix(args[0], "-") {
		_, err := io.WriteString(stdout, usage)
		if err == nil && len(args) != 1 {
			err = errors.New("name one scenario")
		}
		return err
	}
	switch args[0] {
	case "steady":
		return steady(ctx, environ, stdout)
	case "api":
		return api(ctx, environ, stdout)
	case "edge":
		return edge(ctx, environ, stdout)
	case "analytics":
		return analytics(ctx, environ, stdout)
	}
	return fmt.Errorf("there is no scenario %q: there are steady, api, edge and analytics", args[0])
}

func steady(ctx context.Context, environ []string, stdout io.Writer) error {
	c, err := readSteady(environ)
	if err != nil {
		return err
	}
	result, err := scenario.Steady{
		APIURL: c.APIURL, APIKey: c.APIKey, Edges: c.EdgeURLs, Rate: c.Rate, Duration: c.Duration, Command: command(environ, "steady"),
	}.Run(ctx, stdout)
	if err != nil {
		return err
	}
	if err := result.Write(c.Results, stdout); err != nil {
		return err
	}
	return result.Verdict()
}

func api(ctx context.Context, environ []string, stdout io.Writer) error {
	c, err := env.ParseAsWithOptions[apiConfig](env.Options{Environment: devEnv(environ)})
	if err != nil {
		return err
	}
	if c.APIURL == "" || c.APIKey == "" {
		return errors.New("no running stack: start one with `make run`, or set LINKSTREAM_API_URL and LINKSTREAM_API_KEY")
	}
	if c.Duration < time.Second || c.Duration > time.Minute {
		return errors.New("LINKSTREAM_LOAD_DURATION must be from 1s to 1m")
	}
	result, err := scenario.API{
		URL: c.APIURL, Key: c.APIKey, Metrics: c.Metrics, Duration: c.Duration, Command: command(environ, "api"),
	}.Run(ctx, stdout)
	if err != nil {
		return err
	}
	if err := result.Write(c.Results, stdout); err != nil {
		return err
	}
	return result.Verdict()
}

// devEnv takes dev.env as it is while the stack runs, under what is set.
func devEnv(environ []string) map[string]string {
	values := map[string]string{}
	if text, err := os.ReadFile(".local/dev.env"); err == nil {
		for line := range strings.Lines(string(text)) {
			if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
				values[name] = strings.Trim(value, "'")
			}
		}
	}
	maps.Copy(values, env.ToMap(environ))
	return values
}

func readSteady(environ []string) (steadyConfig, error) {
	c, err := env.ParseAsWithOptions[steadyConfig](env.Options{Environment: devEnv(environ)})
	if err != nil {
		return c, err
	}
	if c.APIURL == "" || c.APIKey == "" || len(c.EdgeURLs) == 0 {
		return c, errors.New("no running stack: start one with `make run`, or set LINKSTREAM_API_URL, LINKSTREAM_API_KEY and LINKSTREAM_EDGE_URLS")
	}
	if c.Rate < 1 || c.Duration < time.Second {
		return c, errors.New("LINKSTREAM_LOAD_RATE must be at least 1 and LINKSTREAM_LOAD_DURATION at least 1s")
	}
	return c, nil
}

func edge(ctx context.Context, environ []string, stdout io.Writer) error {
	c, err := readEdge(environ)
	if err != nil {
		return err
	}
	result, err := scenario.Edge{
		Bin: c.Bin, Environ: environ, Links: c.Links, Pairs: c.Pairs, Slice: c.Slice, Duration: c.Duration,
		Profile: c.Profile, Command: command(environ, "edge"),
	}.Run(ctx, stdout)
	if err != nil {
		return err
	}
	if err := result.Write(c.Results, stdout); err != nil {
		return err
	}
	return result.Verdict()
}

func analytics(ctx context.Context, environ []string, stdout io.Writer) error {
	c, err := env.ParseAsWithOptions[analyticsConfig](env.Options{Environment: env.ToMap(environ)})
	if err != nil {
		return err
	}
	if c.Clicks < 1 || c.Clicks > maxClicks {
		return fmt.Errorf("LINKSTREAM_LOAD_CLICKS must be from 1 to %d", maxClicks)
	}
	result, err := scenario.Analytics{Bin: c.Bin, Environ: environ, Clicks: c.Clicks, Command: command(environ, "analytics")}.Run(ctx, stdout)
	if err != nil {
		return err
	}
	if err := result.Write(c.Results, stdout); err != nil {
		return err
	}
	return result.Verdict()
}

func readEdge(environ []string) (edgeConfig, error) {
	c, err := env.ParseAsWithOptions[edgeConfig](env.Options{Environment: env.ToMap(environ)})
	if err != nil {
		return c, err
	}
	var errs []error
	before := 0
	for _, n := range c.Links {
		if n <= before || n > maxLinks {
			errs = append(errs, fmt.Errorf("LINKSTREAM_LOAD_LINKS must be growing numbers up to %d", maxLinks))
			break
		}
		before = n
	}
	const shortest, longest = 500 * time.Millisecond, time.Minute
	if c.Pairs < 1 || c.Pairs > 100 {
		errs = append(errs, errors.New("LINKSTREAM_LOAD_PAIRS must be from 1 to 100"))
	}
	if c.Slice < shortest || c.Slice > longest {
		errs = append(errs, fmt.Errorf("LINKSTREAM_LOAD_SLICE must be from %v to %v", shortest, longest))
	}
	if c.Duration < time.Second || c.Duration > longest {
		errs = append(errs, fmt.Errorf("LINKSTREAM_LOAD_DURATION must be from 1s to %v", longest))
	}
	return c, errors.Join(errs...)
}

// command is what to type for the same run.
func command(environ []string, name string) string {
	var words []string
	for _, pair := range environ {
		if strings.HasPrefix(pair, "LINKSTREAM_LOAD_") {
			words = append(words, pair)
		}
	}
	slices.Sort(words)
	return strings.Join(append(words, "make loadtest SCENARIO="+name), " ")
}
