package kafka

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/plugin/kslog"

	"github.com/linkstream/linkstream/services/internal/outage"
)

// quiet is the client's logger without what nobody reads. A healthy client writes an
// informational line for every group heartbeat that changes something, a thousand an
// hour. One whose broker is away writes a warning for every try and everything that
// comes of it, a hundred a minute: that a broker is away is told once (package outage).
// At debug level all of that is there.
type quiet struct {
	kgo.Logger
	away *outage.Outage
}

func newLogger(log *slog.Logger, away *outage.Outage) kgo.Logger {
	return quiet{kslog.New(log.With("component", "kafka")), away}
}

// Level implements kgo.Logger.
func (q quiet) Level() kgo.LogLevel {
	if level := q.Logger.Level(); level != kgo.LogLevelInfo {
		return level
	}
	return kgo.LogLevelWarn
}

// Log implements kgo.Logger.
func (q quiet) Log(level kgo.LogLevel, msg string, keyvals ...any) {
	if q.away.Away() || unreachable(msg, keyvals) {
		level = kgo.LogLevelDebug
	}
	q.Logger.Log(level, msg, keyvals...)
}

// unreachable says whether a line is about a connection that could not be made or
// broke. One that broke before anything was answered is not meant: it is made again and
// breaks again until somebody reads that TLS or SASL is missing.
func unreachable(msg string, keyvals []any) bool {
	if strings.Contains(msg, "TLS") || strings.Contains(msg, "SASL") {
		return false
	}
	for _, v := range keyvals {
		err, ok := v.(error)
		if !ok {
			continue
		}
		if _, ok := errors.AsType[*net.OpError](err); ok || errors.Is(err, io.EOF) {
			return true
		}
	}
	return false
}

// connections tell from what the client does with its connections whether a broker is
// away: nobody takes a connection, or leaves a request without an answer.
type connections struct{ away *outage.Outage }

var (
	_ kgo.HookBrokerConnect = connections{}
	_ kgo.HookBrokerRead    = connections{}
)

// OnBrokerConnect implements kgo.HookBrokerConnect.
func (c connections) OnBrokerConnect(meta kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	if err != nil && !errors.Is(err, kgo.ErrClientClosed) {
		c.away.Failed(address(meta), err)
	}
}

// OnBrokerRead implements kgo.HookBrokerRead. A connection that ends is no sign: the
// next one is made at once, or cannot be.
func (c connections) OnBrokerRead(meta kgo.BrokerMetadata, _ int16, _ int, _, _ time.Duration, err error) {
	if err == nil {
		c.away.Worked(address(meta))
		return
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		c.away.Failed(address(meta), err)
	}
}

// address is a broker's, whether it is known as a seed or by its number.
func address(meta kgo.BrokerMetadata) string {
	return net.JoinHostPort(meta.Host, strconv.Itoa(int(meta.Port)))
}
