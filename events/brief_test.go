package events_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/events/eventspb"
)

// plainChange is a change as most are: of a link without options.
func plainChange() *eventspb.LinkChanged {
	ev := linkChanged()
	at := timestamppb.New(time.Date(2026, 11, 30, 8, 0, 0, 5000, time.UTC))
	ev.CreatedAt, ev.UpdatedAt = at, at
	ev.Title, ev.Tags, ev.Notes, ev.FallbackUrl = "Été", []string{"spring", "mail"}, "Printed", "https://example.com/over"
	ev.StartsAt, ev.Archived, ev.Disabled, ev.StatusCode = at, true, true, 301
	return ev
}

// Guards I97.
func TestABriefSaysOfAChangeWhatDecodingSays(t *testing.T) {
	check := func(name string, want bool, edit func(ev *eventspb.LinkChanged)) {
		t.Helper()
		ev := plainChange()
		edit(ev)
		value, err := proto.Marshal(ev)
		if err != nil {
			t.Fatal(err)
		}
		brief, ok := events.BriefOf(value)
		if ok != want {
			t.Errorf("%s: understood %t, want %t", name, ok, want)
		}
		if ok {
			if diff := cmp.Diff(briefOf(ev), brief); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	}
	check("plain", true, func(*eventspb.LinkChanged) {})
	check("updated", true, func(ev *eventspb.LinkChanged) { ev.Kind = eventspb.LinkChanged_KIND_UPDATED })
	check("deleted", true, func(ev *eventspb.LinkChanged) { ev.Kind, ev.Destination = eventspb.LinkChanged_KIND_DELETED, "" })
	check("expiring", true, func(ev *eventspb.LinkChanged) { ev.ExpiresAt = ev.GetChangedAt() })
	check("with a limit", true, func(ev *eventspb.LinkChanged) { ev.MaxClicks, ev.MaxClicksSince = 10, 1 })
	check("without a time", true, func(ev *eventspb.LinkChanged) { ev.ChangedAt = nil })
	check("before 1970", true, func(ev *eventspb.LinkChanged) { ev.ChangedAt.Seconds = -5 })
	check("moved", false, func(ev *eventspb.LinkChanged) { ev.PreviousAddress = ev.GetAddress() })
	check("with a password", false, func(ev *eventspb.LinkChanged) { ev.Password = &eventspb.Password{} })
	check("with rules", false, func(ev *eventspb.LinkChanged) { ev.Rules = []*eventspb.Rule{{Destination: "https://e.test"}} })
	check("without an id", false, func(ev *eventspb.LinkChanged) { ev.LinkId = nil })
	check("without a workspace", false, func(ev *eventspb.LinkChanged) { ev.WorkspaceId = ev.GetWorkspaceId()[:3] })
	check("without an address", false, func(ev *eventspb.LinkChanged) { ev.Address = nil })
	check("without a slug", false, func(ev *eventspb.LinkChanged) { ev.Address.SlugKey = "" })
	check("without a version", false, func(ev *eventspb.LinkChanged) { ev.Version = 0 })
	check("without a revision", false, func(ev *eventspb.LinkChanged) { ev.Revision = 0 })
	check("without a kind", false, func(ev *eventspb.LinkChanged) { ev.Kind = 0 })
	check("of an unknown kind", false, func(ev *eventspb.LinkChanged) { ev.Kind = 99 })
	check("without a destination", false, func(ev *eventspb.LinkChanged) { ev.Destination = "" })
	if _, ok := events.BriefOf(nil); ok {
		t.Error("a tombstone has a brief")
	}
}

func briefOf(ev *eventspb.LinkChanged) events.Brief {
	return events.Brief{
		Link: events.ID(ev.GetLinkId()), Workspace: events.ID(ev.GetWorkspaceId()), Revision: ev.GetRevision(), Kind: ev.GetKind(),
		ChangedAt: ev.GetChangedAt().AsTime(), Expires: ev.GetExpiresAt() != nil,
	}
}

// What is published of an encoded change is what is published of the change.
//
// Guards I97.
func TestTheRecordOfAnEncodedChange(t *testing.T) {
	check := func(ev *eventspb.LinkChanged) {
		t.Helper()
		want, err := events.LinkChangedRecord("eu.", ev)
		if err != nil {
			t.Fatal(err)
		}
		got, err := events.LinkChangedRecordOf("eu.", want.Value)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(kgo.RecordAttrs{})); diff != "" || err != nil {
			t.Error(diff, err)
		}
	}
	check(plainChange())
	check(linkChanged())
	for _, edit := range []func(ev *eventspb.LinkChanged){
		func(ev *eventspb.LinkChanged) { ev.PreviousAddress = ev.GetAddress() },
		func(ev *eventspb.LinkChanged) { ev.ChangedAt = nil },
		func(ev *eventspb.LinkChanged) { ev.Preview = &eventspb.Preview{Title: "Spring"} },
	} {
		ev := plainChange()
		edit(ev)
		check(ev)
	}
	for _, value := range [][]byte{nil, {}, []byte("no change"), {0xff}} {
		if record, err := events.LinkChangedRecordOf("", value); err == nil {
			t.Errorf("%q is %v", value, record)
		}
	}
}

// FuzzBrief looks for bytes of which a brief says something else than decoding does.
func FuzzBrief(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("..", "schemas", "examples", "link_changed", "*.binpb"))
	if err != nil || len(files) == 0 {
		f.Fatal("no examples", err)
	}
	for _, file := range files {
		value, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(value)
	}
	value, err := proto.Marshal(plainChange())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(value)
	f.Add(append(bytes.Clone(value), value...))
	f.Add(protowire.AppendTag(bytes.Clone(value), 63, protowire.VarintType))
	f.Fuzz(func(t *testing.T, value []byte) {
		brief, ok := events.BriefOf(value)
		if !ok {
			return
		}
		ev, err := events.DecodeLinkChanged(&kgo.Record{Value: value})
		if err != nil {
			t.Fatalf("understood, but not decoded: %v", err)
		}
		if diff := cmp.Diff(briefOf(ev), brief); diff != "" {
			t.Error(diff)
		}
	})
}

// BenchmarkBrief reads a plain change, beside decoding it.
func BenchmarkBrief(b *testing.B) {
	value, err := proto.Marshal(plainChange())
	if err != nil {
		b.Fatal(err)
	}
	b.Run("brief", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, ok := events.BriefOf(value); !ok {
				b.Fatal("not understood")
			}
		}
	})
	b.Run("decode", func(b *testing.B) {
		record := &kgo.Record{Value: value}
		b.ReportAllocs()
		for b.Loop() {
			if _, err := events.DecodeLinkChanged(record); err != nil {
				b.Fatal(err)
			}
		}
	})
}
