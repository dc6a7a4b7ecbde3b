package api

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/linkstream/linkstream/services/analytics/internal/live"
	"github.com/linkstream/linkstream/services/analytics/internal/query"
	"github.com/linkstream/linkstream/services/internal/access"
	"github.com/linkstream/linkstream/services/internal/clickhousetest"
	"github.com/linkstream/linkstream/services/internal/httpapi"
)

// now is the tests' time: a Monday.
func now() time.Time { return time.Date(2026, 11, 30, 15, 30, 0, 0, time.UTC) }

// tokens is the links service of these tests.
type tokens map[string]*access.Identity

func (t tokens) Authenticate(_ context.Context, token string) (*access.Identity, error) {
	if token == "away" {
		return nil, access.ErrUnavailable
	}
	if id, ok := t[token]; ok {
		return id, nil
	}
	return nil, access.ErrUnauthenticated
}

type fixture struct {
	t           *testing.T
	handler     http.Handler
	conn        driver.Conn
	mine, other uuid.UUID
	unread      bool // not all links have been read
	live        *live.Hub
	dsn         string
	log         *slog.Logger
}

func (f *fixture) links(context.Context) error {
	if f.unread {
		return errors.New("unread")
	}
	return nil
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	dsn := clickhousetest.New(t)
	options, err := clickhouse.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := clickhouse.Open(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	f := &fixture{t: t, conn: conn, mine: uuid.New(), other: uuid.New(), dsn: dsn, log: slog.New(slog.NewTextHandler(t.Output(), nil))}
	f.handler = f.serve(dsn)
	return f
}

func (f *fixture) serve(dsn string) http.Handler {
	f.t.Helper()
	store, err := query.Open(dsn)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { _ = store.Close() })
	reader := []access.Scope{access.AnalyticsRead}
	auth := tokens{
		"mine":    {WorkspaceID: f.mine, Scopes: reader},
		"other":   {WorkspaceID: f.other, Scopes: reader},
		"admin":   {WorkspaceID: f.mine, Scopes: []access.Scope{access.Admin}},
		"noscope": {WorkspaceID: f.mine, Scopes: []access.Scope{access.LinksRead, access.LinksWrite}},
	}
	mux := http.NewServeMux()
	Register(httpapi.New(mux, Title, Version, auth, f.log), Sources{Clicks: store, Links: f.links, Live: f.live}, now, f.log)
	return httpapi.Middleware(mux, prometheus.NewRegistry(), f.log)
}

// click is one row; what is left out is a click of visitor 0 in the fixture's workspace.
type click struct {
	at                                     string // RFC 3339
	workspace, link                        uuid.UUID
	visitor                                uint64
	bot                                    bool
	status                                 uint16
	host, country, device, browser         string
	language, referrer, source, edgeRegion string
}

func (f *fixture) insert(clicks ...click) {
	f.t.Helper()
	batch, err := f.conn.PrepareBatch(f.t.Context(), `INSERT INTO clicks (ts, click_id, workspace_id, link_id, host, status,
		edge_region, visitor, bot, country, device, browser, language, referrer, utm_source)`)
	if err != nil {
		f.t.Fatal(err)
	}
	defer func() { _ = batch.Close() }()
	for _, c := range clicks {
		at, err := time.Parse(time.RFC3339, c.at)
		if err != nil {
			f.t.Fatal(err)
		}
		if c.workspace == uuid.Nil {
			c.workspace = f.mine
		}
		if c.link == uuid.Nil {
			c.link = uuid.UUID{15: 0xff} // no link has the id zero: in the rollups it is all of them
		}
		if c.status == 0 {
			c.status = 302
		}
		if err := batch.Append(at, uuid.New(), c.workspace, c.link, c.host, c.status, c.edgeRegion, c.visitor+uint64(at.Unix()/86400)*1000, c.bot,
			c.country, c.device, c.browser, c.language, c.referrer, c.source); err != nil {
			f.t.Fatal(err)
		}
	}
	if err := batch.Send(); err != nil {
		f.t.Fatal(err)
	}
}

// get asks as the given token. Parameters come in pairs.
func (f *fixture) get(token, path string, params ...string) *httptest.ResponseRecorder {
	f.t.Helper()
	values := url.Values{}
	for i := 0; i < len(params); i += 2 {
		values.Add(params[i], params[i+1])
	}
	return f.raw(token, path+"?"+values.Encode())
}

func (f *fixture) raw(token, target string) *httptest.ResponseRecorder {
	f.t.Helper()
	r := httptest.NewRequestWithContext(f.t.Context(), http.MethodGet, target, http.NoBody)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	w := httptest.NewRecorder()
	f.handler.ServeHTTP(w, r)
	return w
}

// ask decodes a 200.
func ask[T any](f *fixture, path string, params ...string) T {
	f.t.Helper()
	w := f.get("mine", path, params...)
	var out T
	if w.Code != http.StatusOK {
		f.t.Fatalf("%s %v answers %d: %s", path, params, w.Code, w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
		f.t.Fatal(err)
	}
	return out
}

type list[T any] struct{ Data []T }

const (
	summary    = "/v1/analytics/summary"
	timeseries = "/v1/analytics/timeseries"
	breakdown  = "/v1/analytics/breakdown"
)

// counts are clicks, unique visitors and bot clicks.
type counts [3]uint64

func of(c query.Counts) counts { return counts{c.Clicks, c.UniqueVisitors, c.BotClicks} }

// wrong lists the field errors of a 422 as "field:code", sorted as they came.
func wrong(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	var p httpapi.Problem
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Fatal(err)
	}
	if w.Code != http.StatusUnprocessableEntity || p.Code != "validation" || w.Header().Get("Content-Type") != "application/problem+json" ||
		p.RequestID == "" || p.RequestID != w.Header().Get("X-Request-Id") {
		t.Errorf("answered %d %s (%s), want a validation problem", w.Code, w.Body, w.Header().Get("Content-Type"))
	}
	var out []string
	for _, e := range p.Errors {
		if e.Detail == "" {
			t.Errorf("%s has no detail", e.Field)
		}
		out = append(out, strings.TrimPrefix(e.Field, "query.")+":"+e.Code)
	}
	return strings.Join(out, " ")
}
