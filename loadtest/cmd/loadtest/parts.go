package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"

	"github.com/linkstream/linkstream/loadtest/internal/scenario"
)

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
	Folder  string `env:"LINKSTREAM_LOAD_DATA"`
	Panels  string `env:"LINKSTREAM_LOAD_PANELS"`
	Bin     string `env:"LINKSTREAM_LOAD_BIN" envDefault:".local/bin"`
	Results string `env:"LINKSTREAM_LOAD_RESULTS" envDefault:"loadtest/results"`
}

// maxClicks fit onto the disk of a laptop.
const maxClicks = 1_000_000_000

// maxLinks fit into the memory of a Redis on a laptop.
const maxLinks = 5_000_000

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
	run := scenario.Analytics{Bin: c.Bin, Environ: environ, Clicks: c.Clicks, Folder: c.Folder, Command: command(environ, "analytics")}
	if c.Panels != "" {
		if run.Panels, err = regexp.Compile(c.Panels); err != nil {
			return fmt.Errorf("LINKSTREAM_LOAD_PANELS: %w", err)
		}
	}
	result, err := run.Run(ctx, stdout)
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

// command is what to type for the same run. Where things are makes no difference.
func command(environ []string, what string) string {
	var words []string
	for _, pair := range environ {
		name, _, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, "LINKSTREAM_LOAD_") && !slices.Contains([]string{"LINKSTREAM_LOAD_STACK", "LINKSTREAM_LOAD_BIN", "LINKSTREAM_LOAD_RESULTS", "LINKSTREAM_LOAD_DATA"}, name) {
			words = append(words, pair)
		}
	}
	slices.Sort(words)
	return strings.Join(append(words, "make loadtest SCENARIO="+what), " ")
}
