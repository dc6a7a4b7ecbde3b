package event_test

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/linkstream/linkstream/events/eventspb"
	"github.com/linkstream/linkstream/services/internal/address"
	"github.com/linkstream/linkstream/services/webhooks/internal/event"
)

const schemas = "../../../../schemas/"

func change(t *testing.T, name string) *eventspb.LinkChanged {
	t.Helper()
	text, err := os.ReadFile(schemas + "examples/link_changed/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	c := &eventspb.LinkChanged{}
	if err := protojson.Unmarshal(text, c); err != nil {
		t.Fatal(err)
	}
	return c
}

// The bodies that receivers parse are compared byte for byte with those of earlier
// releases; members may be added.
func TestBodiesAreThoseOfTheExamples(t *testing.T) {
	urls := address.URLs{Scheme: "https"}
	endpoint, workspace := uuid.MustParse("019acf12-dc00-7000-8000-0000000000e1"), uuid.MustParse("019acf12-dc00-7000-8000-0000000000aa")
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	moved := change(t, "moved")
	link := event.LinkOf(moved, urls)
	check := func(name string, e *event.Event) {
		t.Helper()
		got, err := e.JSON()
		if err != nil {
			t.Fatal(err)
		}
		path := schemas + "examples/webhooks/" + name + ".json"
		want, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			if err := os.WriteFile(path, append(got, '\n'), 0o644); err != nil { //nolint:gosec // a file of the repository
				t.Fatal(err)
			}
			t.Errorf("%s was not there and is written: look at it and commit it", path)
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if strings.TrimSuffix(string(want), "\n") != string(got) {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
	}
	check("link.created", event.Changed(change(t, "created"), urls))
	check("link.updated", event.Changed(moved, urls))
	check("link.updated.options", event.Changed(change(t, "options"), urls))
	check("link.deleted", event.Changed(change(t, "deleted"), urls))
	check("link.expired", event.Expired(change(t, "created"), at, urls))
	check("link.threshold_reached", event.Reached(endpoint, workspace, event.ThresholdData{LinkID: link.ID, Threshold: 100, Clicks: 103, Link: &link}, at))
	check("clicks.summary", event.Summed(endpoint, workspace, 7, event.ClickSummary{
		From: at, To: at.Add(5 * time.Minute), Clicks: 12, Part: 1, Parts: 1,
		Links: []event.LinkClicks{{LinkID: link.ID, Domain: link.Domain, Slug: link.Slug, Clicks: 12, Total: 103}},
	}))
	test := event.Tested(endpoint, workspace, at)
	check("webhook.test", test)
}

func TestAnEventHasOneID(t *testing.T) {
	urls := address.URLs{Scheme: "https"}
	created, moved := change(t, "created"), change(t, "moved")
	if a, b := event.Changed(created, urls), event.Changed(created, urls); a.ID != b.ID || !strings.HasPrefix(a.ID, "evt_") || len(a.ID) != 36 {
		t.Errorf("one change has the ids %s and %s", a.ID, b.ID)
	}
	seen := map[string]bool{}
	for _, e := range []*event.Event{
		event.Changed(created, urls), event.Changed(moved, urls), event.Expired(created, time.Now(), urls),
		event.Reached(uuid.Max, uuid.Nil, event.ThresholdData{Threshold: 1}, time.Now()), event.Reached(uuid.Max, uuid.Nil, event.ThresholdData{Threshold: 11}, time.Now()),
		event.Summed(uuid.Max, uuid.Nil, 1, event.ClickSummary{Part: 1}), event.Summed(uuid.Max, uuid.Nil, 1, event.ClickSummary{Part: 2}),
		event.Summed(uuid.Max, uuid.Nil, 2, event.ClickSummary{Part: 1}), event.Tested(uuid.Max, uuid.Nil, time.Now()), event.Tested(uuid.Max, uuid.Nil, time.Now()),
	} {
		if seen[e.ID] {
			t.Errorf("%s has the id of another event", e.Type)
		}
		seen[e.ID] = true
	}
}

// Every member has the name that the API's document gives it: receivers use one parser.
func TestALinkLooksLikeInTheAPI(t *testing.T) {
	text, err := os.ReadFile(schemas + "openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]struct{ Type any }
			}
		}
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	of := document.Components.Schemas["LinkView"].Properties
	if len(of) == 0 {
		t.Fatal("the document has no LinkView")
	}
	c := change(t, "created")
	c.Password = &eventspb.Password{UnlockKey: []byte("sesame")}
	body, err := json.Marshal(event.LinkOf(c, address.URLs{Scheme: "https"}))
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]any
	if err := json.Unmarshal(body, &members); err != nil {
		t.Fatal(err)
	}
	if got, want := slices.Sorted(maps.Keys(members)), slices.Sorted(maps.Keys(of)); !slices.Equal(got, want) {
		t.Errorf("a link has %v, in the API %v", got, want)
	}
	if members["has_password"] != true || strings.Contains(string(body), "sesame") || strings.Contains(string(body), "c2VzYW1l") {
		t.Errorf("of a password it says %s", body)
	}
}
