package events_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/linkstream/linkstream/events"
)

func TestDeadRecordKeepsTheRecordAndItsOrigin(t *testing.T) {
	read := &kgo.Record{
		Topic: "linkstream.clicks.v1", Partition: 3, Offset: 41, Key: []byte("k"), Value: []byte{0xff},
		Headers: []kgo.RecordHeader{{Key: "h", Value: []byte("v")}},
	}
	got := events.DeadRecord(events.DeadClicks, "", read, errors.New("bad bytes"))
	want := &kgo.Record{
		Topic: "linkstream.clicks.dead.v1", Key: []byte("k"), Value: []byte{0xff},
		Headers: []kgo.RecordHeader{
			{Key: "h", Value: []byte("v")},
			{Key: "error", Value: []byte("bad bytes")},
			{Key: "source_topic", Value: []byte("linkstream.clicks.v1")},
			{Key: "source_partition", Value: []byte("3")},
			{Key: "source_offset", Value: []byte("41")},
		},
	}
	if got.Topic != want.Topic || cmp.Diff(got.Key, want.Key) != "" || cmp.Diff(got.Value, want.Value) != "" {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if diff := cmp.Diff(want.Headers, got.Headers); diff != "" {
		t.Error(diff)
	}
	if len(read.Headers) != 1 {
		t.Error("the record that was read has been changed")
	}
}
