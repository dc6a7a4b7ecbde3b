// Package chhttp answers ClickHouse's HTTP protocol from the embedded engine, so that clickhouse-go and curl talk to
// it as they talk to a server.
//
// It promises that every request runs in a session of its own (its settings, parameters and database do not reach the
// next), that an insert is answered after its rows are committed, that a cancelled request stops a statement that reads,
// and none that writes, as on a server, and that
// no more than a fixed number of statements run at once (the others wait). It refuses sessions over HTTP and external
// tables, and requests that a browser sends on behalf of another site; it knows no users or passwords, so it must listen on the loopback address only.
package chhttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/linkstream/linkstream/compose/local/internal/chdb"
)

// killEvery is how often a cancelled statement is told to stop until it has: the first call can come before the
// engine knows the statement.
const killEvery = 50 * time.Millisecond

// Handler serves one engine.
type Handler struct {
	engine *chdb.Engine
	slots  chan struct{} // bounds the statements that run at once; more requests wait for a place or until they are cancelled
	log    *slog.Logger
	count  atomic.Uint64
}

// New returns a handler that runs at most parallel statements at once.
func New(engine *chdb.Engine, parallel int, log *slog.Logger) *Handler {
	return &Handler{engine: engine, slots: make(chan struct{}, parallel), log: log}
}

// ServeHTTP answers / and /ping.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Header.Get("Origin") != "" || !loopback(r.Host):
		// Without users this is what keeps a web page in the developer's browser away from the data. A page may also
		// have a name of its own that leads to 127.0.0.1 (DNS rebinding); its requests bear that name.
		http.Error(w, "The local ClickHouse does not answer web pages.", http.StatusForbidden)
	case r.Method != http.MethodGet && r.Method != http.MethodPost:
		w.Header().Set("Allow", "GET, POST")
		http.Error(w, "Use GET or POST.", http.StatusMethodNotAllowed)
	case r.URL.Path == "/ping", r.URL.Path == "/" && r.Method == http.MethodGet && !r.URL.Query().Has("query"):
		_, _ = io.WriteString(w, "Ok.\n") // the client is gone if this fails
	case r.URL.Path != "/":
		http.Error(w, "There is no handle "+r.URL.Path+"; use / or /ping.", http.StatusNotFound)
	default:
		h.serve(w, r)
	}
}

// loopback says whether a Host header names this machine.
func loopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || err == nil && addr.IsLoopback()
}

func (h *Handler) serve(w http.ResponseWriter, r *http.Request) {
	q, err := readRequest(r)
	if err != nil {
		writeException(w, err)
		return
	}
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	case <-r.Context().Done():
		// Mostly nobody reads this. But when the server is stopping, the client must not take silence for success.
		writeException(w, refuse(chdb.CodeQueryWasCancelled, "QUERY_WAS_CANCELLED", "Query was cancelled while it waited for its turn"))
		return
	}
	err = h.answer(r.Context(), w, q)
	switch {
	case err == nil:
	case errors.Is(err, errHalfWritten):
		h.log.Error("answer broken off", "err", err)
		panic(http.ErrAbortHandler) // the client must not take half an answer for a whole one
	default:
		writeException(w, err)
	}
}

func (h *Handler) answer(ctx context.Context, w http.ResponseWriter, q *request) error {
	tag := "http-" + strconv.FormatUint(h.count.Add(1), 10)
	session, err := h.engine.Session(tag)
	if err != nil {
		return err
	}
	defer session.Close()
	// Who writes goes on, as on a server (cancel_http_readonly_queries_on_client_close): an insert that is stopped
	// half-way has its block in some of the tables that views fill and not in others.
	if q.insert == nil && reads(q.statement) {
		defer h.killOnCancel(ctx, tag)()
	}

	if err := prepare(session, q); err != nil {
		return err
	}
	if q.insert != nil {
		if err := session.Insert(q.insert.head, q.insert.format, q.params, q.rows); err != nil {
			return err
		}
		w.WriteHeader(http.StatusOK)
		return nil
	}
	result, err := session.Query(q.statement, q.format, q.params)
	if err != nil {
		return err
	}
	defer result.Close()
	return write(w, q, result.Bytes())
}

// prepare gives the fresh session the request's settings and database.
func prepare(session *chdb.Session, q *request) error {
	var statements []string
	if q.database != "" {
		statements = append(statements, "USE "+identifier(q.database))
	}
	if len(q.settings) > 0 {
		statements = append(statements, "SET "+strings.Join(q.settings, ", "))
	}
	for _, statement := range statements {
		result, err := session.Query(statement, "Null", nil)
		if err != nil {
			return err
		}
		result.Close()
	}
	return nil
}

// killOnCancel stops the tagged statement when ctx ends. The returned function ends the watch and waits for it.
func (h *Handler) killOnCancel(ctx context.Context, tag string) func() {
	finished, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-finished:
			return
		case <-ctx.Done():
		}
		again := time.NewTicker(killEvery)
		defer again.Stop()
		for {
			if err := h.engine.Kill(tag); err != nil {
				h.log.Warn("cancelled statement not stopped", "err", err)
			}
			select {
			case <-finished:
				return
			case <-again.C:
			}
		}
	}()
	return func() {
		close(finished)
		<-watched
	}
}

var errHalfWritten = errors.New("the answer is half written")

// write sends the result in the client's revision and compression. Until the first byte is out an error can still be
// answered properly; after it the error is errHalfWritten.
func write(w http.ResponseWriter, q *request, result []byte) error {
	format := q.format
	if named, ok := outputFormat(q.statement); ok {
		format = named
	}
	w.Header().Set("X-ClickHouse-Format", format)
	w.Header().Set("Content-Type", contentType(format))
	out := &countingWriter{to: w}
	body := io.Writer(out)
	var compressed *frames
	if q.compress != nil {
		compressed = &frames{to: out, with: q.compress}
		body = compressed
	}

	var err error
	if format == "Native" && q.revision > 0 {
		err = encodeNative(body, result, q.revision)
	} else {
		_, err = body.Write(result)
	}
	if err == nil && compressed != nil {
		err = compressed.Flush()
	}
	switch {
	case err == nil:
		return nil
	case out.n > 0:
		return fmt.Errorf("%w: %w", errHalfWritten, err)
	case errors.Is(err, errUnsupportedBlock):
		return refuse(codeNotImplemented, "NOT_IMPLEMENTED", "The local ClickHouse cannot send this result in the Native format: %v", err)
	default:
		return err
	}
}

type countingWriter struct {
	to io.Writer
	n  int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	c.n += int64(n)
	return n, err
}

func contentType(format string) string {
	switch {
	case strings.HasPrefix(format, "TabSeparated"), strings.HasPrefix(format, "TSV"):
		return "text/tab-separated-values; charset=UTF-8"
	case strings.HasPrefix(format, "CSV"):
		return "text/csv; charset=UTF-8"
	case strings.HasPrefix(format, "JSON") && strings.Contains(format, "EachRow"):
		return "application/x-ndjson; charset=UTF-8"
	case strings.HasPrefix(format, "JSON"):
		return "application/json; charset=UTF-8"
	case format == "Native":
		return "application/octet-stream"
	default:
		return "text/plain; charset=UTF-8"
	}
}
