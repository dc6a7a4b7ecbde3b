// Package telemetry makes the logger and the metrics registry of a process.
//
// It promises one JSON object a line on the given writer, each naming the
// service, with durations as people read them ("1.2s"), and a registry that belongs to one process, not to the program: tests
// start several in one.
package telemetry

import (
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// NewLogger writes JSON lines of at least the given level (debug, info, warn,
// error) to w.
func NewLogger(w io.Writer, level, service string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("LINKSTREAM_LOG_LEVEL must be debug, info, warn or error: %w", err)
	}
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: l, ReplaceAttr: readable})).With("service", service), nil
}

// readable writes durations with their unit, which the handler for JSON writes as
// nanoseconds, and with as many digits as say something.
func readable(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(rounded(a.Value.Duration()).String())
	}
	return a
}

func rounded(d time.Duration) time.Duration {
	switch size := d.Abs(); {
	case size >= time.Second:
		return d.Round(100 * time.Millisecond)
	case size >= time.Millisecond:
		return d.Round(100 * time.Microsecond)
	default:
		return d
	}
}

// revision is the commit that was built, from the linker (see Makefile).
var revision string //nolint:gochecknoglobals // the linker sets nothing else

// Revision is the commit that was built, with -dirty behind it when there was more than
// that: what make or the image's build said or else what Go noted, and unknown where
// neither knew one.
func Revision() string {
	if revision != "" {
		return revision
	}
	known, dirty := "unknown", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				known = s.Value
			case s.Key == "vcs.modified" && s.Value == "true":
				dirty = "-dirty"
			}
		}
	}
	return known + dirty
}

// NewRegistry returns a registry with the metrics that every process has: those
// of Go and of the process, and build_info.
func NewRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name:        "build_info",
		Help:        "Always 1; the label says which commit was built.",
		ConstLabels: prometheus.Labels{"revision": Revision()},
	})
	build.Set(1)
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		build,
	)
	return registry
}
