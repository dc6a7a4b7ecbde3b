package events_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/events/eventspb"
)

func TestGoldenLinkChangesDecode(t *testing.T) {
	newMessage := func() proto.Message { return &eventspb.LinkChanged{} }
	golden(t, "link_changed", newMessage, func(t *testing.T, wire []byte, want proto.Message) {
		t.Helper()
		got, err := events.DecodeLinkChanged(&kgo.Record{Value: wire})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, proto.Message(got), protocmp.Transform()); diff != "" {
			t.Error(diff)
		}
	})
}

// The record's topic, key and headers are as much contract as its value.
func TestLinkChangedRecordIsPinned(t *testing.T) {
	ev := linkChanged()
	record, err := events.LinkChangedRecord("eu.", ev)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := record.Topic, "eu.linkstream.links.changelog.v1"; got != want {
		t.Errorf("topic %q, want %q", got, want)
	}
	if diff := cmp.Diff(ev.GetLinkId(), record.Key); diff != "" {
		t.Errorf("key: %s", diff)
	}
	want := [][2]string{
		{"ce_specversion", "1.0"},
		{"ce_id", "01010101010101010101010101010101-7"},
		{"ce_type", "linkstream.link.created"},
		{"ce_source", "linkstream/links"},
		{"ce_time", "2026-11-30T08:00:00.000000005Z"},
		{"content-type", "application/protobuf"},
	}
	var got [][2]string
	for _, h := range record.Headers {
		got = append(got, [2]string{h.Key, string(h.Value)})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	back, err := events.DecodeLinkChanged(record)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(ev, back, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
}

func TestTombstoneIsTold(t *testing.T) {
	record := events.LinkTombstone("", linkChanged().GetLinkId())
	if record.Value != nil {
		t.Error("a tombstone has a value")
	}
	if _, err := events.DecodeLinkChanged(record); !errors.Is(err, events.ErrTombstone) {
		t.Errorf("got %v, want ErrTombstone", err)
	}
}

func TestImpossibleLinkChangesAreRefused(t *testing.T) {
	check := func(name string, spoil func(*eventspb.LinkChanged)) {
		t.Helper()
		ev := linkChanged()
		spoil(ev)
		if _, err := events.LinkChangedRecord("", ev); err == nil {
			t.Errorf("%s: encoded", name)
		}
		wire, err := proto.Marshal(ev)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := events.DecodeLinkChanged(&kgo.Record{Value: wire}); err == nil {
			t.Errorf("%s: decoded", name)
		}
	}
	check("short link id", func(ev *eventspb.LinkChanged) { ev.LinkId = ev.LinkId[:15] })
	check("no workspace", func(ev *eventspb.LinkChanged) { ev.WorkspaceId = nil })
	check("no address", func(ev *eventspb.LinkChanged) { ev.Address = nil })
	check("no slug", func(ev *eventspb.LinkChanged) { ev.Address.SlugKey = "" })
	check("version 0", func(ev *eventspb.LinkChanged) { ev.Version = 0 })
	check("revision 0", func(ev *eventspb.LinkChanged) { ev.Revision = 0 })
	check("unknown kind", func(ev *eventspb.LinkChanged) { ev.Kind = 99 })
	check("no kind", func(ev *eventspb.LinkChanged) { ev.Kind = eventspb.LinkChanged_KIND_UNSPECIFIED })
	check("no destination", func(ev *eventspb.LinkChanged) { ev.Destination = "" })
	if _, err := events.DecodeLinkChanged(&kgo.Record{Value: []byte{}}); err == nil {
		t.Error("an empty value decoded: only null is a tombstone")
	}
	if _, err := events.DecodeLinkChanged(&kgo.Record{Value: []byte("\xff\xff")}); err == nil {
		t.Error("garbage decoded")
	}
}

func linkChanged() *eventspb.LinkChanged {
	id := make([]byte, 16)
	for i := range id {
		id[i] = 1
	}
	return &eventspb.LinkChanged{
		LinkId:      id,
		WorkspaceId: append([]byte{}, id...),
		Address:     &eventspb.Address{Host: "go.test", Slug: "launch", SlugKey: "launch"},
		Version:     1,
		Revision:    7,
		Kind:        eventspb.LinkChanged_KIND_CREATED,
		ChangedAt:   &timestamppb.Timestamp{Seconds: 1796025600, Nanos: 5},
		Destination: "https://e.test/",
		StatusCode:  302,
	}
}
