package httpapi_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/internal/access"
	"github.com/linkstream/linkstream/services/internal/httpapi"
	"github.com/linkstream/linkstream/services/internal/telemetry"
)

// keys stands in for the links service: it knows three tokens.
type keys struct{}

func (keys) Authenticate(_ context.Context, token string) (*access.Identity, error) {
	switch token {
	case "writer":
		return &access.Identity{WorkspaceID: uuid.Max, Scopes: []access.Scope{access.LinksWrite}}, nil
	case "reader":
		return &access.Identity{WorkspaceID: uuid.Max, Scopes: []access.Scope{access.LinksRead}}, nil
	case "outage":
		return nil, access.ErrUnavailable
	}
	return nil, access.ErrUnauthenticated
}

type thing struct {
	Body struct {
		Name string `json:"name" minLength:"1" maxLength:"5"`
	}
}

// api serves one operation, POST /v1/things, whose handler does what the name says.
func api(t *testing.T, log *slog.Logger) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	a := httpapi.New(mux, "test", "v1", keys{}, log)
	huma.Register(a, huma.Operation{
		OperationID: "make-thing", Method: http.MethodPost, Path: "/v1/things", Security: httpapi.Needs(access.LinksWrite),
		BodyReadTimeout: 200 * time.Millisecond,
	}, func(ctx context.Context, in *thing) (*struct{}, error) {
		if _, err := access.FromContext(ctx); err != nil {
			return nil, err
		}
		switch in.Body.Name {
		case "panic":
			panic("at the disco")
		case "fail":
			return nil, errors.New("secret detail")
		case "taken":
			return nil, httpapi.NewProblem(http.StatusConflict, "slug_taken", "Taken.")
		}
		return nil, nil
	})
	huma.Register(a, huma.Operation{OperationID: "open", Method: http.MethodGet, Path: "/v1/open"},
		func(context.Context, *struct{}) (*struct{}, error) { return nil, nil })
	server := httptest.NewServer(httpapi.Middleware(mux, telemetry.NewRegistry(), log))
	t.Cleanup(server.Close)
	return server
}

func TestErrorsAreProblems(t *testing.T) {
	var logged bytes.Buffer
	server := api(t, slog.New(slog.NewJSONHandler(&logged, nil)))
	check := func(name, method, path, token, contentType, body string, wantStatus int, wantCode string, wantFields ...string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("X-Request-Id", "req-1")
		request.Header.Set("Content-Type", contentType)
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		answer, err := server.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = answer.Body.Close() }()
		if answer.StatusCode != wantStatus || answer.Header.Get("X-Request-Id") != "req-1" {
			t.Errorf("%s: status %d, request id %q; want %d, req-1", name, answer.StatusCode, answer.Header.Get("X-Request-Id"), wantStatus)
		}
		if wantCode == "" {
			return
		}
		if got := answer.Header.Get("Content-Type"); got != "application/problem+json" {
			t.Errorf("%s: content type %q", name, got)
		}
		var problem httpapi.Problem
		if err := json.NewDecoder(answer.Body).Decode(&problem); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if problem.Code != wantCode || problem.Status != wantStatus || problem.RequestID != "req-1" || problem.Title == "" {
			t.Errorf("%s: got %+v, want code %s", name, problem, wantCode)
		}
		var fields []string
		for _, e := range problem.Errors {
			fields = append(fields, e.Field)
		}
		if strings.Join(fields, " ") != strings.Join(wantFields, " ") {
			t.Errorf("%s: fields %v, want %v", name, fields, wantFields)
		}
		if strings.Contains(problem.Detail, "secret") {
			t.Errorf("%s: the answer shows what only the log may: %s", name, problem.Detail)
		}
	}
	const js = "application/json"
	check("fine", "POST", "/v1/things", "writer", js, `{"name":"a"}`, 204, "")
	check("no token", "POST", "/v1/things", "", js, `{"name":"a"}`, 401, "unauthenticated")
	check("bad token", "POST", "/v1/things", "nobody", js, `{"name":"a"}`, 401, "unauthenticated")
	check("no scope", "POST", "/v1/things", "reader", js, `{"name":"a"}`, 403, "forbidden")
	check("keys away", "POST", "/v1/things", "outage", js, `{"name":"a"}`, 503, "unavailable")
	check("names no scope", "GET", "/v1/open", "writer", js, "", 403, "forbidden")
	check("not JSON", "POST", "/v1/things", "writer", js, `{"name":`, 400, "malformed")
	check("no body", "POST", "/v1/things", "writer", js, ``, 400, "malformed")
	check("unknown field", "POST", "/v1/things", "writer", js, `{"name":"a","color":"b"}`, 422, "validation", "color")
	check("missing field", "POST", "/v1/things", "writer", js, `{}`, 422, "validation", "name")
	check("too long", "POST", "/v1/things", "writer", js, `{"name":"abcdef"}`, 422, "validation", "name")
	check("other type", "POST", "/v1/things", "writer", "text/csv", `name`, 415, "unsupported_media_type")
	check("wrong type", "POST", "/v1/things", "writer", js, `{"name":1}`, 422, "validation", "name")
	check("unreadable query", "POST", "/v1/things?q=%", "writer", js, `{"name":"a"}`, 400, "malformed")
	check("repeated parameter", "POST", "/v1/things?a=1&a=2", "writer", js, `{"name":"a"}`, 422, "validation", "query.a")
	check("conflict", "POST", "/v1/things", "writer", js, `{"name":"taken"}`, 409, "slug_taken")
	check("fault", "POST", "/v1/things", "writer", js, `{"name":"fail"}`, 500, "internal")
	check("panic", "POST", "/v1/things", "writer", js, `{"name":"panic"}`, 500, "internal")
	check("no such path", "GET", "/v1/nothing", "writer", js, "", 404, "not_found")
	check("no such method", "PUT", "/v1/things", "writer", js, "", 405, "method_not_allowed")
	if n := strings.Count(logged.String(), "at the disco"); n != 1 || !strings.Contains(logged.String(), `"request_id":"req-1"`) {
		t.Errorf("the panic is in the log %d times", n)
	}
}

// A slow client is cut off, and one that hangs up halfway has asked for nothing.
func TestABodyThatDoesNotCome(t *testing.T) {
	server := api(t, slog.New(slog.DiscardHandler))
	check := func(name string, hangUp bool, wantStatus int, wantCode string) {
		t.Helper()
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		_, _ = io.WriteString(conn, "POST /v1/things HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer writer\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"name\":")
		if hangUp {
			_ = conn.(*net.TCPConn).CloseWrite()
		}
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		defer func() { _ = answer.Body.Close() }()
		var problem httpapi.Problem
		if err := json.NewDecoder(answer.Body).Decode(&problem); err != nil || answer.StatusCode != wantStatus || problem.Code != wantCode || problem.Status != wantStatus {
			t.Errorf("%s: got %d %+v, %v", name, answer.StatusCode, problem, err)
		}
	}
	check("slow", false, http.StatusRequestTimeout, "request_timeout")
	check("hangs up", true, http.StatusBadRequest, "malformed")
}

// An answer that breaks off must not look whole: half a list is a wrong list.
func TestABrokenAnswerDoesNotLookWhole(t *testing.T) {
	check := func(name string, cause any, wantLogged bool) {
		t.Helper()
		var logged bytes.Buffer
		log := slog.New(slog.NewJSONHandler(&logged, nil))
		mux := http.NewServeMux()
		mux.HandleFunc("GET /v1/things", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("one,two,"))
			_ = http.NewResponseController(w).Flush()
			panic(cause)
		})
		server := httptest.NewServer(httpapi.Middleware(mux, telemetry.NewRegistry(), log))
		defer server.Close()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/v1/things", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := server.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = answer.Body.Close() }()
		if body, err := io.ReadAll(answer.Body); err == nil {
			t.Errorf("%s: the answer %q ends in good order", name, body)
		}
		server.Close() // it has logged
		if got := strings.Contains(logged.String(), "request panicked"); got != wantLogged {
			t.Errorf("%s: logged %t, want %t", name, got, wantLogged)
		}
	}
	check("a fault of ours", "at the disco", true)
	check("the service behind a proxy went away", http.ErrAbortHandler, false)
}
