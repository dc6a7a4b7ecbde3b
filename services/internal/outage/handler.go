package outage

import (
	"context"
	"log/slog"
)

// Logger returns a logger like log that says nothing of what is away: a warning or an
// error with an attribute "err" for which whose names a Watch begins that one, and is
// dropped. whose returns nil for every other error.
func Logger(log *slog.Logger, whose func(err error) *Watch) *slog.Logger {
	return slog.New(&handler{Handler: log.Handler(), whose: whose})
}

type handler struct {
	slog.Handler
	whose func(err error) *Watch
}

// Handle implements slog.Handler.
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	var outage *Watch
	if r.Level >= slog.LevelWarn {
		r.Attrs(func(a slog.Attr) bool {
			if err, ok := a.Value.Any().(error); ok && a.Key == "err" {
				if outage = h.whose(err); outage != nil {
					outage.Begin(ctx, err)
				}
			}
			return outage == nil
		})
	}
	if outage != nil {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &handler{Handler: h.Handler.WithAttrs(attrs), whose: h.whose}
}

// WithGroup implements slog.Handler.
func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{Handler: h.Handler.WithGroup(name), whose: h.whose}
}
