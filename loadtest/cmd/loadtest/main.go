// Command loadtest runs a load scenario and ends with a verdict: it exits with 1
// when a promise was broken, with 75 when none was that this machine could judge, and
// with 77 when this machine cannot run the scenario.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/linkstream/linkstream/loadtest/internal/report"
	"github.com/linkstream/linkstream/loadtest/internal/scenario"
)

// skipped is the exit status by which test tools know that something was not run, and
// notJudged that of what is worth another try (EX_TEMPFAIL).
const (
	skipped   = 77
	notJudged = 75
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	err := run(ctx, os.Environ(), os.Args[1:], os.Stdout)
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "loadtest:", err)
	if errors.Is(err, report.ErrSkipped) {
		os.Exit(skipped)
	}
	if errors.Is(err, report.ErrNotJudged) {
		os.Exit(notJudged)
	}
	os.Exit(1)
}

func run(ctx context.Context, environ, args []string, stdout io.Writer) error {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		_, err := io.WriteString(stdout, usage())
		if err == nil && len(args) == 0 {
			err = errors.New("name a scenario")
		}
		return err
	}
	switch {
	case len(args) == 1 && args[0] == "api":
		return api(ctx, environ, stdout)
	case len(args) == 1 && args[0] == "edge":
		return edge(ctx, environ, stdout)
	case len(args) == 1 && args[0] == "analytics":
		return analytics(ctx, environ, stdout)
	}
	chosen, short, err := choose(args)
	if err != nil {
		return err
	}
	return onStack(ctx, environ, chosen, short, stdout)
}

func usage() string {
	var b strings.Builder
	b.WriteString(`usage: loadtest SCENARIO[=LENGTH]...

Load scenarios. Load goes to loopback only. Each ends with a verdict and leaves a
report in LINKSTREAM_LOAD_RESULTS (default loadtest/results). The exit status is 1
when a promise was broken, 75 when none was but some could not be judged (see
LINKSTREAM_LOAD_NOISY), 77 when this machine cannot run the scenario.

These run on the stack that "make run" has started, or else on one of their own, with
two regions of one edge each, from the built programs (make build). They need Linux.
"all", or several names, runs a short form of each, one after the other. A length
(mutate=1m) is how long the load is, or each phase under a fault.

`)
	for _, s := range scenario.OnStack() {
		fmt.Fprintf(&b, "  %-20s %s\n", s.Name, s.About)
	}
	b.WriteString(`
  LINKSTREAM_LOAD_DURATION  the length of all that have none of their own
  LINKSTREAM_LOAD_RATE      redirects a second over all edges
  LINKSTREAM_LOAD_KEYS      a file of recorded visits, a line "SLUG COUNT" for each link
                            (default: Zipf's law)
  LINKSTREAM_LOAD_NOISY     true does not judge times that this machine cannot measure,
                            because others use more than a tenth of its processors, or
                            half of them for a second of a hundred
  LINKSTREAM_LOAD_STACK     folder of the stack (default .local)
  LINKSTREAM_LOAD_BIN       folder of the built programs (default .local/bin)

And three that are about one part:

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
           asks what the dashboard's panels ask, once the days that are over are settled;
           every one has to answer in 100 ms at p95.
           It starts all it needs itself from the built programs (make build). 100 million
           clicks take about half an hour and ten gigabytes in the system's temporary folder

  LINKSTREAM_LOAD_CLICKS    how many (default 100000000)
  LINKSTREAM_LOAD_DATA      a folder in which the stores are kept: another run with the same
                            folder asks for the clicks that were made the first time
  LINKSTREAM_LOAD_PANELS    a regular expression: only panels whose name it matches; "^$"
                            makes the clicks and asks for nothing
`)
	return b.String()
}
