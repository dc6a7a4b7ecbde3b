package api

import (
	"bufio"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/linkstream/linkstream/services/internal/httpapi"
)

// writeTimeout is how long whoever reads a download may take nothing at all.
const writeTimeout = time.Minute

// download is an answer that is written while it is made. What goes wrong before its
// first bytes have left is a problem; after that the connection is broken off, because
// half a file must not look whole.
type download struct {
	hc         huma.Context
	kind, name string
	buffer     *bufio.Writer
	begun      bool
}

func newDownload(hc huma.Context, kind, name string) *download {
	d := &download{hc: hc, kind: kind, name: name}
	d.buffer = bufio.NewWriterSize(sender{d}, 64<<10)
	return d
}

// Write implements io.Writer.
func (d *download) Write(p []byte) (int, error) { return d.buffer.Write(p) }

// sender is the way out behind the buffer.
type sender struct{ d *download }

// Write implements io.Writer.
func (s sender) Write(p []byte) (int, error) {
	s.d.begin()
	w := s.d.hc.BodyWriter()
	rw, ok := w.(http.ResponseWriter)
	if !ok {
		return w.Write(p)
	}
	control := http.NewResponseController(rw)
	_ = control.SetWriteDeadline(time.Now().Add(writeTimeout)) // a recorder of a test has none
	n, err := w.Write(p)
	if err == nil {
		if err = control.Flush(); errors.Is(err, http.ErrNotSupported) {
			err = nil
		}
	}
	return n, err
}

func (d *download) begin() {
	if d.begun {
		return
	}
	d.begun = true
	d.hc.SetHeader("Content-Type", d.kind)
	d.hc.SetHeader("Content-Disposition", `attachment; filename="`+d.name+`"`)
	d.hc.SetHeader("Cache-Control", "no-store")
	d.hc.SetHeader("X-Content-Type-Options", "nosniff")
	d.hc.SetStatus(http.StatusOK)
}

// end sends the rest, or says that the answer is not whole.
func (d *download) end(ctx context.Context, err error, log *slog.Logger) {
	if err == nil {
		d.begin()
		err = d.buffer.Flush()
	}
	if err == nil {
		return
	}
	if rw, ok := d.hc.BodyWriter().(http.ResponseWriter); ok && !d.begun {
		p := told(err)
		if p.Status == http.StatusServiceUnavailable {
			rw.Header().Set("Retry-After", "1")
		}
		if p.Status >= http.StatusInternalServerError {
			log.ErrorContext(ctx, "request failed", "request_id", httpapi.RequestID(ctx), "err", err)
		}
		httpapi.Write(ctx, rw, p)
		return
	}
	if ctx.Err() == nil {
		log.WarnContext(ctx, "download broken off", "request_id", httpapi.RequestID(ctx), "err", err)
	}
	panic(http.ErrAbortHandler) // the middleware breaks the connection
}
