package events_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/events/eventspb"
)

// The hand-written encoder against the generated type, on every golden example:
// the bytes must be the ones that protobuf itself writes.
func TestGoldenClicksEncodeAndDecode(t *testing.T) {
	newMessage := func() proto.Message { return &eventspb.Click{} }
	golden(t, "click", newMessage, func(t *testing.T, wire []byte, want proto.Message) {
		t.Helper()
		click := handWritten(want.(*eventspb.Click))
		if got := events.AppendClick(nil, &click); !bytes.Equal(got, wire) {
			t.Errorf("encoded %x\n   want %x", got, wire)
		}
		got := &eventspb.Click{}
		if err := events.DecodeClick(wire, got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, proto.Message(got), protocmp.Transform()); diff != "" {
			t.Error(diff)
		}
	})
}

// Whatever a visitor sends, the hand-written encoder and the generated type agree.
func FuzzClickEncoder(f *testing.F) {
	f.Add([]byte("curl/8"), []byte("https://e.test/"), []byte("a=1&a=2"), "launch", int64(1796025600123456), uint64(1), 302)
	f.Add([]byte{0xff, 0}, []byte(nil), []byte("\r\n"), "", int64(-1), ^uint64(0), -1)
	f.Fuzz(func(t *testing.T, agent, referrer, query []byte, slug string, at int64, version uint64, status int) {
		click := events.Click{
			TimeUnixMicro: at, LinkVersion: version, Host: "go.test", SlugKey: slug, Status: status,
			UserAgent: agent, Referrer: referrer, Query: query,
		}
		message := &eventspb.Click{
			Id: click.ID[:], TimeUnixUs: at, WorkspaceId: click.WorkspaceID[:], LinkId: click.LinkID[:],
			LinkVersion: version, Host: "go.test", SlugKey: slug, Status: uint32(status),
			UserAgent: agent, Referrer: referrer, Query: query,
		}
		want, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
		if err != nil {
			return // a slug that is not UTF-8 never gets this far
		}
		if got := events.AppendClick(nil, &click); !bytes.Equal(got, want) && uint64(status) == uint64(uint32(status)) {
			t.Errorf("encoded %x\n   want %x", got, want)
		}
	})
}

func FuzzDecodeClick(f *testing.F) {
	f.Add([]byte("\x0a\x10"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, value []byte) {
		click := &eventspb.Click{}
		if err := events.DecodeClick(value, click); err == nil && len(click.GetId()) != 16 {
			t.Errorf("accepted a click with an id of %d bytes", len(click.GetId()))
		}
	})
}

func TestImpossibleClicksAreRefused(t *testing.T) {
	check := func(name string, spoil func(*eventspb.Click)) {
		t.Helper()
		id := bytes.Repeat([]byte{1}, 16)
		click := &eventspb.Click{Id: id, WorkspaceId: id, LinkId: id, TimeUnixUs: 1, Host: "go.test"}
		spoil(click)
		wire, err := proto.Marshal(click)
		if err != nil {
			t.Fatal(err)
		}
		if err := events.DecodeClick(wire, &eventspb.Click{}); err == nil {
			t.Errorf("%s: decoded", name)
		}
	}
	check("no id", func(c *eventspb.Click) { c.Id = nil })
	check("long workspace id", func(c *eventspb.Click) { c.WorkspaceId = make([]byte, 17) })
	check("no link id", func(c *eventspb.Click) { c.LinkId = nil })
	check("no time", func(c *eventspb.Click) { c.TimeUnixUs = 0 })
	check("no host", func(c *eventspb.Click) { c.Host = "" })
	check("address of five bytes", func(c *eventspb.Click) { c.Address = make([]byte, 5) })
}

func TestEncodingAClickAllocatesNothing(t *testing.T) {
	click := events.Click{
		TimeUnixMicro: 1796025600123456, LinkVersion: 2, Host: "go.test", SlugKey: "launch", Status: 302,
		EdgeRegion: "fra", Edge: "redirect-fra-0", Address: []byte{127, 0, 0, 1}, UserAgent: []byte("Mozilla/5.0"),
	}
	buf := make([]byte, 0, 512)
	if got := testing.AllocsPerRun(1000, func() { buf = events.AppendClick(buf[:0], &click) }); got != 0 {
		t.Errorf("encoding allocates %v times, the budget is 0", got)
	}
}

func BenchmarkAppendClick(b *testing.B) {
	click := events.Click{
		TimeUnixMicro: 1796025600123456, LinkVersion: 2, Host: "go.test", SlugKey: "launch", Status: 302,
		EdgeRegion: "fra", Edge: "redirect-fra-0", Address: []byte{127, 0, 0, 1},
		UserAgent: []byte("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36"),
	}
	buf := make([]byte, 0, 512)
	b.ReportAllocs()
	for b.Loop() {
		buf = events.AppendClick(buf[:0], &click)
	}
}

func handWritten(c *eventspb.Click) events.Click {
	return events.Click{
		ID: [16]byte(c.GetId()), TimeUnixMicro: c.GetTimeUnixUs(), WorkspaceID: [16]byte(c.GetWorkspaceId()), LinkID: [16]byte(c.GetLinkId()),
		LinkVersion: c.GetLinkVersion(), Host: c.GetHost(), SlugKey: c.GetSlugKey(), Status: int(c.GetStatus()),
		EdgeRegion: c.GetEdgeRegion(), Edge: c.GetEdge(), Address: c.GetAddress(), UserAgent: c.GetUserAgent(),
		Referrer: c.GetReferrer(), AcceptLanguage: c.GetAcceptLanguage(), Query: c.GetQuery(), Purpose: c.GetPurpose(),
		TargetQuery: string(c.GetTargetQuery()), Variant: int(c.GetVariant()), Rule: int(c.GetRule()), Source: c.GetSource(),
	}
}
