// Command loadtest runs a load scenario against a running local stack and ends
// with a verdict: it exits with 1 when a promise was broken.
package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/caarlos0/env/v11"

	"github.com/linkstream/linkstream/loadtest/internal/report"
	"github.com/linkstream/linkstream/loadtest/internal/scenario"
)

const usage = `usage: loadtest SCENARIO

Load scenarios against the local stack that "make run" has started (its .local/dev.env
is read; variables that are set already win). Load goes to loopback only.

  steady   a fixed rate of redirects over all edges; every answer must be right,
           and every one must be counted

  LINKSTREAM_LOAD_RATE      redirects a second (default 500)
  LINKSTREAM_LOAD_DURATION  how long (default 10s)
  LINKSTREAM_LOAD_RESULTS   folder of the report (default loadtest/results)
`

type config struct {
	APIURL   string        `env:"LINKSTREAM_API_URL"`
	APIKey   string        `env:"LINKSTREAM_API_KEY"`
	EdgeURLs []string      `env:"LINKSTREAM_EDGE_URLS"`
	Rate     int           `env:"LINKSTREAM_LOAD_RATE" envDefault:"500"`
	Duration time.Duration `env:"LINKSTREAM_LOAD_DURATION" envDefault:"10s"`
	Results  string        `env:"LINKSTREAM_LOAD_RESULTS" envDefault:"loadtest/results"`
}

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
			err = fmt.Errorf("name one scenario")
		}
		return err
	}
	if args[0] != "steady" {
		return fmt.Errorf("there is no scenario %q: there is steady", args[0])
	}
	c, err := readConfig(environ)
	if err != nil {
		return err
	}
	result, err := scenario.Steady{
		APIURL: c.APIURL, APIKey: c.APIKey, Edges: c.EdgeURLs, Rate: c.Rate, Duration: c.Duration,
	}.Run(ctx, stdout)
	if err != nil {
		return err
	}
	if err := report.Write(ctx, c.Results, stdout, result); err != nil {
		return err
	}
	return result.Verdict()
}

// readConfig takes dev.env as it is while the stack runs, under what is set.
func readConfig(environ []string) (config, error) {
	values := map[string]string{}
	if text, err := os.ReadFile(".local/dev.env"); err == nil {
		for line := range strings.Lines(string(text)) {
			if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
				values[name] = strings.Trim(value, "'")
			}
		}
	}
	maps.Copy(values, env.ToMap(environ))
	c, err := env.ParseAsWithOptions[config](env.Options{Environment: values})
	if err != nil {
		return c, err
	}
	if c.APIURL == "" || c.APIKey == "" || len(c.EdgeURLs) == 0 {
		return c, fmt.Errorf("no running stack: start one with `make run`, or set LINKSTREAM_API_URL, LINKSTREAM_API_KEY and LINKSTREAM_EDGE_URLS")
	}
	if c.Rate < 1 || c.Duration < time.Second {
		return c, fmt.Errorf("LINKSTREAM_LOAD_RATE must be at least 1 and LINKSTREAM_LOAD_DURATION at least 1s")
	}
	return c, nil
}
