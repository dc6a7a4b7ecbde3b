package kafka

import (
	"log/slog"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/plugin/kslog"
)

// quiet is the client's logger without its informational lines: a healthy client
// writes one for every group heartbeat that changes something, a thousand an hour,
// and nobody reads them. At debug level they are all there.
type quiet struct{ kgo.Logger }

func newLogger(log *slog.Logger) kgo.Logger {
	return quiet{kslog.New(log.With("component", "kafka"))}
}

// Level implements kgo.Logger.
func (q quiet) Level() kgo.LogLevel {
	if level := q.Logger.Level(); level != kgo.LogLevelInfo {
		return level
	}
	return kgo.LogLevelWarn
}
