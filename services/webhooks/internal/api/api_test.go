package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/internal/access"
	"github.com/linkstream/linkstream/services/internal/httpapi"
	"github.com/linkstream/linkstream/services/internal/pgtest"
	"github.com/linkstream/linkstream/services/internal/telemetry"
	"github.com/linkstream/linkstream/services/internal/testproc"
	"github.com/linkstream/linkstream/services/webhooks/internal/api"
	"github.com/linkstream/linkstream/services/webhooks/internal/endpoint"
	"github.com/linkstream/linkstream/services/webhooks/internal/hooktest"
	"github.com/linkstream/linkstream/services/webhooks/internal/outbound"
	"github.com/linkstream/linkstream/services/webhooks/internal/postgres"
)

func TestMain(m *testing.M) { os.Exit(testproc.NoLeaks(pgtest.Main(m))) }

// keys stands in for the links service.
type keys map[string]access.Identity

func (k keys) Authenticate(_ context.Context, token string) (*access.Identity, error) {
	if id, ok := k[token]; ok {
		return &id, nil
	}
	return nil, access.ErrUnauthenticated
}

type world struct {
	*hooktest.Store
	server *httptest.Server
}

func newWorld(t *testing.T, allow ...netip.Prefix) *world {
	t.Helper()
	w := &world{Store: hooktest.NewStore(t)}
	auth := keys{
		"mine":   {WorkspaceID: w.Workspace, Scopes: []access.Scope{access.Admin}},
		"theirs": {WorkspaceID: w.NewWorkspace(t), Scopes: []access.Scope{access.Admin}},
		"reader": {WorkspaceID: w.Workspace, Scopes: []access.Scope{access.LinksRead, access.LinksWrite, access.AnalyticsRead}},
	}
	log := slog.New(slog.DiscardHandler)
	mux := http.NewServeMux()
	document := httpapi.New(mux, api.Title, api.Version, auth, log)
	policy := outbound.NewPolicy(allow)
	api.Register(document, w.Store.Store, &endpoint.Rules{Permits: policy.Permits, Plain: policy.Plain()}, time.Now, log)
	w.server = httptest.NewServer(httpapi.Middleware(mux, telemetry.NewRegistry(), log))
	t.Cleanup(w.server.Close)
	return w
}

// answer is what tests read of any answer.
type answer struct {
	status int
	header http.Header
	body   string

	ID, Code, Secret, URL, Description string
	Enabled                            bool
	Events, Domains                    []string
	Thresholds                         []int64 `json:"click_thresholds"`
	Summary                            int     `json:"summary_interval_seconds"`
	PreviousUntil                      *string `json:"previous_secret_until"`
	Version                            int
	Errors                             []httpapi.FieldError
	Data                               []struct{ ID, State string }
	Next                               *string `json:"next_cursor"`
	Log                                []any
	Payload                            json.RawMessage
}

func (w *world) call(t *testing.T, key, method, path, body string, header ...string) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, w.server.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+key)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	got, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = got.Body.Close() }()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	a := answer{status: got.StatusCode, header: got.Header, body: string(text)}
	if len(text) > 0 {
		if err := json.NewDecoder(bytes.NewReader(text)).Decode(&a); err != nil {
			t.Fatalf("%s %s answers %s: %v", method, path, text, err)
		}
	}
	return a
}

func TestAnEndpointsLife(t *testing.T) {
	w := newWorld(t)
	made := w.call(t, "mine", "POST", "/v1/webhooks", `{"url":"https://example.com/hook","description":"CRM","events":["link.created","link.created"],"domains":["BÜCHER.example"]}`)
	if made.status != 201 || !strings.HasPrefix(made.Secret, "whsec_") || made.header.Get("Location") != "/v1/webhooks/"+made.ID || made.header.Get("ETag") != `"1"` ||
		!made.Enabled || !slices.Equal(made.Events, []string{"link.created"}) || !slices.Equal(made.Domains, []string{"xn--bcher-kva.example"}) || made.Summary != 300 || len(made.Thresholds) != 5 {
		t.Fatalf("made: %d %s", made.status, made.body)
	}
	path := "/v1/webhooks/" + made.ID
	got := w.call(t, "mine", "GET", path, "")
	if got.status != 200 || got.URL != "https://example.com/hook" || strings.Contains(got.body, "whsec") {
		t.Errorf("got: %d %s", got.status, got.body)
	}
	if list := w.call(t, "mine", "GET", "/v1/webhooks", ""); list.status != 200 || len(list.Data) != 1 || list.Next != nil || strings.Contains(list.body, "whsec") {
		t.Errorf("listed: %d %s", list.status, list.body)
	}
	edited := w.call(t, "mine", "PATCH", path, `{"description":null,"events":null,"click_thresholds":[500,5,5],"enabled":false}`, "If-Match", `"1"`)
	if edited.status != 200 || edited.Description != "" || len(edited.Events) != 6 || !slices.Equal(edited.Thresholds, []int64{5, 500}) || edited.Enabled || edited.Version != 2 || edited.URL != made.URL ||
		!strings.Contains(edited.body, `"disabled_reason":"request"`) {
		t.Errorf("edited: %d %s", edited.status, edited.body)
	}
	if stale := w.call(t, "mine", "PATCH", path, `{"description":"x"}`, "If-Match", `"1"`); stale.status != 412 || stale.Code != "stale_version" {
		t.Errorf("edited an old version: %d %s", stale.status, stale.body)
	}
	if bad := w.call(t, "mine", "PATCH", path, `{}`, "If-Match", `nonsense`); bad.status != 400 || bad.Code != "malformed" {
		t.Errorf("nonsense in If-Match: %d %s", bad.status, bad.body)
	}
	for _, p := range []string{"/test", "/deliveries/" + uuid.NewString() + "/replay"} {
		if off := w.call(t, "mine", "POST", path+p, ""); off.Code != "webhook_disabled" && off.status != 404 {
			t.Errorf("%s of a disabled endpoint: %d %s", p, off.status, off.body)
		}
	}
	if on := w.call(t, "mine", "PATCH", path, `{"enabled":null}`); on.status != 200 || !on.Enabled || !strings.Contains(on.body, `"disabled_reason":null`) {
		t.Errorf("enabled: %d %s", on.status, on.body)
	}
	rotated := w.call(t, "mine", "POST", path+"/rotate-secret", `{"overlap_seconds":60}`)
	if rotated.status != 200 || rotated.Secret == made.Secret || rotated.PreviousUntil == nil {
		t.Errorf("rotated: %d %s", rotated.status, rotated.body)
	}
	if again := w.call(t, "mine", "POST", path+"/rotate-secret", ""); again.status != 200 || again.PreviousUntil == nil {
		t.Errorf("rotated without a body: %d %s", again.status, again.body)
	}
	if gone := w.call(t, "mine", "DELETE", path, ""); gone.status != 204 {
		t.Errorf("deleted: %d %s", gone.status, gone.body)
	}
	if gone := w.call(t, "mine", "GET", path, ""); gone.status != 404 {
		t.Errorf("after the deletion: %d", gone.status)
	}
}

func TestTheLogAndReplays(t *testing.T) {
	w := newWorld(t)
	made := w.call(t, "mine", "POST", "/v1/webhooks", `{"url":"https://example.com/hook"}`)
	path := "/v1/webhooks/" + made.ID
	if tested := w.call(t, "mine", "POST", path+"/test", ""); tested.status != 202 || !strings.Contains(tested.body, `"event_id":"evt_`) {
		t.Fatalf("tested: %d %s", tested.status, tested.body)
	}
	for n := range 4 {
		if err := w.Enqueue(t.Context(), []postgres.Queued{{Endpoint: uuid.MustParse(made.ID), Event: w.Event(uuid.New(), n)}}); err != nil {
			t.Fatal(err)
		}
	}
	claimed, err := w.Claim(t.Context(), 2, 2, nil, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	for i := range claimed {
		if _, err := w.Finish(t.Context(), &claimed[i], postgres.Result{Attempt: postgres.Attempt{StartedAt: time.Now(), Error: "no answer in time"}, Outcome: postgres.GivenUp, FailingLimit: time.Hour}); err != nil {
			t.Fatal(err)
		}
	}
	var ids []string
	for cursor := ""; ; {
		page := w.call(t, "mine", "GET", path+"/deliveries?limit=2"+cursor, "")
		if page.status != 200 {
			t.Fatalf("listed: %d %s", page.status, page.body)
		}
		for _, d := range page.Data {
			ids = append(ids, d.ID)
		}
		if page.Next == nil {
			break
		}
		cursor = "&cursor=" + *page.Next
	}
	if slices.Sort(ids); len(slices.Compact(ids)) != 5 {
		t.Errorf("the pages hold %v", ids)
	}
	failed := w.call(t, "mine", "GET", path+"/deliveries?state=failed", "")
	if len(failed.Data) != 2 {
		t.Fatalf("failed: %s", failed.body)
	}
	one := w.call(t, "mine", "GET", path+"/deliveries/"+failed.Data[0].ID, "")
	if one.status != 200 || len(one.Log) != 1 || !strings.Contains(one.body, "no answer in time") || !strings.Contains(string(one.Payload), `"type":"`) {
		t.Errorf("looked: %d %s", one.status, one.body)
	}
	if again := w.call(t, "mine", "POST", path+"/deliveries/"+failed.Data[0].ID+"/replay", ""); again.status != 202 {
		t.Errorf("replayed: %d %s", again.status, again.body)
	}
	from, to := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339), time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	if many := w.call(t, "mine", "POST", path+"/replay", fmt.Sprintf(`{"from":%q,"to":%q}`, from, to)); many.status != 202 || !strings.Contains(many.body, `"replayed":1,"more":false`) {
		t.Errorf("replayed: %d %s", many.status, many.body)
	}
	if left := w.call(t, "mine", "GET", path+"/deliveries?state=failed", ""); len(left.Data) != 0 {
		t.Errorf("still failed: %s", left.body)
	}
	if wrong := w.call(t, "mine", "POST", path+"/replay", fmt.Sprintf(`{"from":%q,"to":%q}`, to, from)); wrong.status != 422 || wrong.Errors[0].Code != "not_before_to" {
		t.Errorf("backwards: %d %s", wrong.status, wrong.body)
	}
	for _, query := range []string{"cursor=x", "link_id=x", "state=x", "limit=0", "wrong=1"} {
		if a := w.call(t, "mine", "GET", path+"/deliveries?"+query, ""); a.status != 422 {
			t.Errorf("%s: %d %s", query, a.status, a.body)
		}
	}
}

// Guards I78.
func TestWhatMayNotBeCalledIsRefused(t *testing.T) {
	w := newWorld(t)
	check := func(body string, want ...string) {
		t.Helper()
		a := w.call(t, "mine", "POST", "/v1/webhooks", body)
		var got []string
		for _, e := range a.Errors {
			got = append(got, e.Field+":"+e.Code)
		}
		if a.status != 422 || !slices.Equal(got, want) {
			t.Errorf("%s: %d %v, want %v", body, a.status, got, want)
		}
	}
	for _, url := range []string{"http://example.com/", "https://127.0.0.1/", "https://[::1]/", "https://169.254.169.254/latest", "https://user:pw@example.com/", "ftp://example.com/", "https://example.com/#x", "https://[::ffff:10.0.0.1]/"} {
		check(fmt.Sprintf(`{"url":%q}`, url), "url:not_allowed")
	}
	for _, url := range []string{"", "example.com", "https://", "https:///x", "https://exa mple.com/", "mailto:a@b.test"} {
		check(fmt.Sprintf(`{"url":%q}`, url), "url:invalid")
	}
	check(`{"url":"https://example.com/`+strings.Repeat("x", 2000)+`"}`, "url:too_long")
	check(`{"url":"https://e.test/","description":"`+strings.Repeat("x", 501)+`","events":["link.exploded"],"domains":["a b"],"link_ids":["7"],"click_thresholds":[0],"summary_interval_seconds":1}`,
		"description:too_long", "events[0]:invalid", "domains[0]:invalid", "link_ids[0]:invalid", "summary_interval_seconds:invalid", "click_thresholds[0]:invalid")
	check(`{"url":"https://e.test/","tags":[`+strings.Repeat(`"a",`, 100)+`"a"],"click_thresholds":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21]}`, "tags:too_many", "click_thresholds:too_many")

	local := newWorld(t, netip.MustParsePrefix("127.0.0.0/8"))
	if a := local.call(t, "mine", "POST", "/v1/webhooks", `{"url":"http://127.0.0.1:9/"}`); a.status != 201 {
		t.Errorf("what is allowed is refused: %s", a.body)
	}
	if a := local.call(t, "mine", "POST", "/v1/webhooks", `{"url":"http://10.0.0.1/"}`); a.status != 422 {
		t.Errorf("what is not allowed is not refused: %s", a.body)
	}
}

func TestOthersSeeNothing(t *testing.T) {
	w := newWorld(t)
	made := w.call(t, "mine", "POST", "/v1/webhooks", `{"url":"https://example.com/hook"}`)
	path, delivery := "/v1/webhooks/"+made.ID, uuid.NewString()
	if err := w.Enqueue(t.Context(), []postgres.Queued{{Endpoint: uuid.MustParse(made.ID), Event: w.Event(uuid.New(), 1)}}); err != nil {
		t.Fatal(err)
	}
	if page := w.call(t, "mine", "GET", path+"/deliveries", ""); len(page.Data) == 1 {
		delivery = page.Data[0].ID
	}
	calls := [][3]string{
		{"GET", path, ""},
		{"PATCH", path, `{"description":"x"}`},
		{"DELETE", path, ""},
		{"POST", path + "/rotate-secret", `{}`},
		{"POST", path + "/test", ""},
		{"GET", path + "/deliveries", ""},
		{"GET", path + "/deliveries/" + delivery, ""},
		{"POST", path + "/deliveries/" + delivery + "/replay", ""},
		{"POST", path + "/replay", `{"from":"2026-01-01T00:00:00Z","to":"2027-01-01T00:00:00Z"}`},
	}
	for _, c := range calls {
		if a := w.call(t, "theirs", c[0], c[1], c[2]); a.status != 404 || a.Code != "not_found" {
			t.Errorf("another workspace: %s %s answers %d %s", c[0], c[1], a.status, a.body)
		}
		if a := w.call(t, "reader", c[0], c[1], c[2]); a.status != 403 || a.Code != "forbidden" {
			t.Errorf("a key without admin: %s %s answers %d %s", c[0], c[1], a.status, a.body)
		}
		if a := w.call(t, "nobody", c[0], c[1], c[2]); a.status != 401 {
			t.Errorf("nobody: %s %s answers %d", c[0], c[1], a.status)
		}
	}
	if list := w.call(t, "theirs", "GET", "/v1/webhooks", ""); len(list.Data) != 0 {
		t.Errorf("another workspace lists %s", list.body)
	}
	if got := w.call(t, "mine", "GET", path, ""); got.Version != 1 {
		t.Errorf("somebody changed it: %s", got.body)
	}
	for _, id := range []string{"x", "{" + made.ID + "}", strings.ReplaceAll(made.ID, "-", "")} {
		if a := w.call(t, "mine", "GET", "/v1/webhooks/"+id, ""); a.status != 404 {
			t.Errorf("the id %s: %d", id, a.status)
		}
	}
}

func TestAWorkspaceHasSoManyEndpoints(t *testing.T) {
	w := newWorld(t)
	for range endpoint.Max {
		w.Endpoint(t, "https://e.test/", nil)
	}
	if a := w.call(t, "mine", "POST", "/v1/webhooks", `{"url":"https://e.test/"}`); a.status != 409 || a.Code != "too_many_webhooks" {
		t.Errorf("one more: %d %s", a.status, a.body)
	}
	if a := w.call(t, "theirs", "POST", "/v1/webhooks", `{"url":"https://e.test/"}`); a.status != 201 {
		t.Errorf("another workspace: %d %s", a.status, a.body)
	}
}
