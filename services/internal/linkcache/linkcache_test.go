package linkcache_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/linkstream/linkstream/events/eventspb"
	"github.com/linkstream/linkstream/services/internal/linkcache"
)

const (
	linkID      = "01890a5d-ac96-774b-bcce-b302099a8057"
	workspaceID = "01890a5d-ac96-774b-bcce-b302099a8058"
)

func record() linkcache.Record {
	return linkcache.Record{
		Destination: "https://e.test/?q=%27x%27&r=<ü>",
		Version:     3,
		Revision:    41,
		LinkID:      uuid.MustParse(linkID),
		WorkspaceID: uuid.MustParse(workspaceID),
	}
}

// The bytes in Redis are a contract between releases that run side by side.
func TestRecordGoldenBytes(t *testing.T) {
	check := func(name string, r linkcache.Record, want string) {
		t.Helper()
		got, err := r.Encode()
		if err != nil || string(got) != want {
			t.Errorf("%s: Encode() = %s, %v; want %s", name, got, err, want)
		}
		back, err := linkcache.Decode([]byte(want))
		if r.Status == 0 {
			r.Status = linkcache.DefaultStatus
		}
		if err != nil || back != r {
			t.Errorf("%s: Decode() = %+v, %v; want %+v", name, back, err, r)
		}
	}
	ids := `"i":"` + linkID + `","w":"` + workspaceID + `"`
	plain := record()
	check("plain", plain, `{"d":"https://e.test/?q=%27x%27\u0026r=\u003cü\u003e","f":0,"v":3,"r":41,`+ids+`}`)

	full := record()
	full.Destination, full.Status, full.StartsAt, full.ExpiresAt, full.Fallback = "https://e.test/", 308, 1700000000123, 1800000000456, "https://f.test/"
	check("full", full, `{"d":"https://e.test/","f":0,"v":3,"r":41,`+ids+`,"s":308,"a":1700000000123,"e":1800000000456,"b":"https://f.test/"}`)

	marker := record()
	marker.Destination, marker.Flags = "", linkcache.FlagDeleted
	check("marker", marker, `{"d":"","f":32768,"v":3,"r":41,`+ids+`}`)
}

func TestWhatIsNoRecordIsRefused(t *testing.T) {
	for _, value := range []string{"", "x", "[]", "{}", `{"d":"https://e.test/","f":0,"v":1}`, `{"d":"","f":0,"v":1,"r":2}`, `{"d":1}`} {
		if r, err := linkcache.Decode([]byte(value)); err == nil {
			t.Errorf("Decode(%q) = %+v, want an error", value, r)
		}
	}
	later := `{"d":"https://e.test/","f":64,"v":1,"r":2,"i":"` + linkID + `","w":"` + workspaceID + `","zz":1}`
	if r, err := linkcache.Decode([]byte(later)); err != nil || r.Flags != 64 {
		t.Errorf("a record of a later release: %+v, %v; want its flags kept", r, err)
	}
}

func TestMessageGoldenBytes(t *testing.T) {
	check := func(name string, m linkcache.Message, want string) {
		t.Helper()
		got, err := m.Encode()
		if err != nil || string(got) != want {
			t.Errorf("%s: Encode() = %s, %v; want %s", name, got, err, want)
		}
		if _, err := linkcache.DecodeMessage([]byte(want)); err != nil {
			t.Errorf("%s: DecodeMessage: %v", name, err)
		}
	}
	check("invalidation", linkcache.Message{
		Keys: []string{"redirect:s.test:a", "redirect:s.test:b"}, Version: 2, Revision: 9,
		Position: linkcache.Position{Partition: 3, Offset: 12}, Previous: 10,
	}, `{"k":["redirect:s.test:a","redirect:s.test:b"],"v":2,"r":9,"p":{"n":3,"o":12},"q":10}`)
	check("first invalidation", linkcache.Message{Keys: []string{"redirect:s.test:a"}, Version: 1, Revision: 1, Previous: -1},
		`{"k":["redirect:s.test:a"],"v":1,"r":1,"q":-1}`)
	check("heartbeat", linkcache.Message{Heartbeat: []linkcache.Position{{Partition: 0, Offset: -1}, {Partition: 1, Offset: 7}}, Partitions: 2},
		`{"h":[{"n":0,"o":-1},{"n":1,"o":7}],"c":2}`)
	check("heartbeat while filling", linkcache.Message{Heartbeat: []linkcache.Position{{Partition: 1, Offset: 7}}, Partitions: 12, Filling: true},
		`{"h":[{"n":1,"o":7}],"c":12,"l":true}`)
	for _, bad := range []string{"", "x", "{}", `{"r":4}`} {
		if m, err := linkcache.DecodeMessage([]byte(bad)); err == nil {
			t.Errorf("DecodeMessage(%q) = %+v, want an error", bad, m)
		}
	}
}

func TestKeys(t *testing.T) {
	check := func(host, slug, want string) {
		t.Helper()
		key := linkcache.Key(host, slug)
		if key != want {
			t.Errorf("Key(%q, %q) = %q, want %q", host, slug, key, want)
		}
		if b := linkcache.AppendKey(nil, []byte(host), []byte(slug)); string(b) != want {
			t.Errorf("AppendKey(%q, %q) = %q, want %q", host, slug, b, want)
		}
		h, s, ok := linkcache.SplitKey(key)
		if h != host || s != slug || !ok {
			t.Errorf("SplitKey(%q) = %q, %q, %t", key, h, s, ok)
		}
	}
	check("s.test", "launch", "redirect:s.test:launch")
	check("s.test", "a/b", "redirect:s.test:a/b")
	check("xn--bcher-kva.test", "❤", "redirect:xn--bcher-kva.test:❤")
	for _, bad := range []string{"", "redirect:", "redirect:s.test", "other:s.test:a"} {
		if _, _, ok := linkcache.SplitKey(bad); ok {
			t.Errorf("SplitKey(%q) accepts it", bad)
		}
	}
}

func TestEntriesOfAChange(t *testing.T) {
	ws, id := uuid.MustParse(workspaceID), uuid.MustParse(linkID)
	change := func(kind eventspb.LinkChanged_Kind) *eventspb.LinkChanged {
		return &eventspb.LinkChanged{
			LinkId: id[:], WorkspaceId: ws[:], Version: 3, Revision: 41, Kind: kind,
			Address:     &eventspb.Address{Host: "s.test", Slug: "New", SlugKey: "New"},
			Destination: "https://e.test/", StatusCode: 301,
			StartsAt: timestamppb.New(time.UnixMilli(5)), ExpiresAt: timestamppb.New(time.UnixMilli(6)), FallbackUrl: "https://f.test/",
		}
	}
	marker := linkcache.Record{Flags: linkcache.FlagDeleted, Version: 3, Revision: 41, LinkID: id, WorkspaceID: ws}
	live := linkcache.Record{
		Destination: "https://e.test/", Version: 3, Revision: 41, LinkID: id, WorkspaceID: ws,
		Status: 301, StartsAt: 5, ExpiresAt: 6, Fallback: "https://f.test/",
	}
	check := func(name string, ev *eventspb.LinkChanged, want ...linkcache.Entry) {
		t.Helper()
		got, err := linkcache.Entries(ev)
		if err != nil || len(got) != len(want) {
			t.Fatalf("%s: %+v, %v", name, got, err)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s: entry %d = %+v, want %+v", name, i, got[i], want[i])
			}
		}
	}
	check("update", change(eventspb.LinkChanged_KIND_UPDATED), linkcache.Entry{Key: "redirect:s.test:New", Record: live})
	check("deletion", change(eventspb.LinkChanged_KIND_DELETED), linkcache.Entry{Key: "redirect:s.test:New", Record: marker})
	moved := change(eventspb.LinkChanged_KIND_UPDATED)
	moved.PreviousAddress = &eventspb.Address{Host: "s.test", Slug: "old", SlugKey: "old"}
	check("move", moved, linkcache.Entry{Key: "redirect:s.test:New", Record: live}, linkcache.Entry{Key: "redirect:s.test:old", Record: marker})
}
