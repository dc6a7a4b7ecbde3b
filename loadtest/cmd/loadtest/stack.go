package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"

	"github.com/linkstream/linkstream/loadtest/internal/report"
	"github.com/linkstream/linkstream/loadtest/internal/scenario"
	"github.com/linkstream/linkstream/loadtest/internal/stack"
)

type stackConfig struct {
	Stack    string        `env:"LINKSTREAM_LOAD_STACK" envDefault:".local"`
	Bin      string        `env:"LINKSTREAM_LOAD_BIN" envDefault:".local/bin"`
	Rate     float64       `env:"LINKSTREAM_LOAD_RATE"`
	Duration time.Duration `env:"LINKSTREAM_LOAD_DURATION"`
	Keys     string        `env:"LINKSTREAM_LOAD_KEYS"`
	Noisy    bool          `env:"LINKSTREAM_LOAD_NOISY"`
	Results  string        `env:"LINKSTREAM_LOAD_RESULTS" envDefault:"loadtest/results"`
}

// choice is a scenario and for how long; none for as long as it is by itself.
type choice struct {
	scenario.Scenario
	length time.Duration
}

// choose reads the names of scenarios, each with a length or without, and says whether
// they are to be short.
func choose(args []string) (chosen []choice, short bool, err error) {
	all := scenario.OnStack()
	for _, arg := range args {
		name, text, given := strings.Cut(arg, "=")
		if name == "all" && !given {
			for _, s := range all {
				chosen = append(chosen, choice{Scenario: s})
			}
			short = true
			continue
		}
		i := slices.IndexFunc(all, func(s scenario.Scenario) bool { return s.Name == name })
		if i < 0 {
			return nil, false, fmt.Errorf("there is no scenario %q: there are all, api, edge, analytics, %s", name, names(all))
		}
		c := choice{Scenario: all[i]}
		if given {
			if c.length, err = time.ParseDuration(text); err != nil || c.length < time.Second {
				return nil, false, fmt.Errorf("%s: a length is at least 1s, not %q", name, text)
			}
		}
		chosen = append(chosen, c)
	}
	return chosen, short || len(chosen) > 1, nil
}

func names(all []scenario.Scenario) string {
	words := make([]string, len(all))
	for i, s := range all {
		words[i] = s.Name
	}
	return strings.Join(words, ", ")
}

// maxRate is more than two processors serve beside the generator.
const maxRate = 100_000

func readStack(environ []string) (stackConfig, error) {
	c, err := env.ParseAsWithOptions[stackConfig](env.Options{Environment: env.ToMap(environ)})
	errs := []error{err}
	if c.Rate < 0 || c.Rate > maxRate {
		errs = append(errs, fmt.Errorf("LINKSTREAM_LOAD_RATE must be from 1 to %d", maxRate))
	}
	if c.Duration != 0 && c.Duration < time.Second {
		errs = append(errs, errors.New("LINKSTREAM_LOAD_DURATION must be at least 1s"))
	}
	if c.Keys != "" {
		if _, err := os.Stat(c.Keys); err != nil {
			errs = append(errs, fmt.Errorf("LINKSTREAM_LOAD_KEYS: %w", err))
		}
	}
	return c, errors.Join(errs...)
}

// onStack runs scenarios one after the other on one stack. All run, whatever the
// verdict on one is; the error names those whose promises were broken.
func onStack(ctx context.Context, environ []string, chosen []choice, short bool, stdout io.Writer) (err error) {
	c, err := readStack(environ)
	if err != nil {
		return err
	}
	if c.Bin, err = filepath.Abs(c.Bin); err != nil {
		return fmt.Errorf("locating the programs: %w", err)
	}
	s, err := stack.Open(ctx, c.Stack)
	if errors.Is(err, stack.ErrNotRunning) {
		fmt.Fprintln(stdout, "no stack is running here: starting one of its own")
		own, startErr := stack.Start(ctx, c.Bin, environ)
		if startErr != nil {
			return startErr
		}
		defer func() { err = errors.Join(err, own.Stop(ctx)) }()
		s, err = own.Stack, nil
	}
	if err != nil {
		return err
	}
	began := time.Now()
	verdicts := make([]error, len(chosen))
	for i, one := range chosen {
		fmt.Fprintf(stdout, "\n== %s: %s\n", one.Name, one.About)
		length, name := cmp.Or(one.length, c.Duration), one.Name
		if length == 0 && short {
			length = one.Short
		}
		if length > 0 {
			name += "=" + length.String()
		}
		result, err := one.Run(ctx, scenario.Options{
			Stack: s, Bin: c.Bin, Environ: environ, Duration: length, Rate: c.Rate, Keys: c.Keys,
			Command: command(environ, name), Progress: stdout,
		})
		if err == nil {
			if c.Noisy {
				result.Doubt()
			}
			if err = result.Write(c.Results, stdout); err == nil {
				err = result.Verdict()
			}
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w", one.Name, errors.Join(ctx.Err(), err))
		}
		verdicts[i] = err
	}
	if len(chosen) > 1 {
		summary(stdout, chosen, verdicts, time.Since(began))
	}
	return verdictOf(chosen, verdicts)
}

// verdictOf all scenarios. What is broken comes first; then what was not judged; skipped
// ones count only if there was no other.
func verdictOf(chosen []choice, verdicts []error) error {
	var broken, doubtful, left []error
	for i, err := range verdicts {
		if err == nil {
			continue
		}
		err = fmt.Errorf("%s: %w", chosen[i].Name, err)
		switch {
		case errors.Is(err, report.ErrSkipped):
			left = append(left, err)
		case errors.Is(err, report.ErrNotJudged):
			doubtful = append(doubtful, err)
		default:
			broken = append(broken, err)
		}
	}
	switch {
	case len(broken) > 0:
		return errors.Join(broken...)
	case len(doubtful) > 0:
		return errors.Join(doubtful...)
	case len(left) == len(chosen):
		return errors.Join(left...)
	}
	return nil
}

func summary(stdout io.Writer, chosen []choice, verdicts []error, took time.Duration) {
	fmt.Fprintf(stdout, "\n== all, in %.0f s\n\n", took.Seconds())
	for i, s := range chosen {
		word, err := "held", verdicts[i]
		switch {
		case errors.Is(err, report.ErrSkipped):
			word = "skipped"
		case errors.Is(err, report.ErrNotJudged):
			word = "not judged"
		case err != nil:
			word = "BROKEN"
		}
		fmt.Fprintf(stdout, "  %-20s %s\n", s.Name, word)
		if err != nil {
			for line := range strings.Lines(err.Error()) {
				fmt.Fprintf(stdout, "  %20s %s\n", "", strings.TrimSpace(line))
			}
		}
	}
	fmt.Fprintln(stdout)
}
