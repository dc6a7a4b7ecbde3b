package events

import (
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"
)

// maxDeadError bounds the error text in a dead record's header, in bytes: the
// record itself is what matters.
const maxDeadError = 512

// DeadRecord wraps a record that could not be decoded for a dead topic: key,
// value and headers as read, and beside them why (`error`) and where from
// (`source_topic`, `source_partition`, `source_offset`), so that it can be
// looked at, mended and put back.
func DeadRecord(dead Topic, prefix string, r *kgo.Record, cause error) *kgo.Record {
	text := cause.Error()
	if len(text) > maxDeadError {
		text = text[:maxDeadError]
	}
	return &kgo.Record{
		Topic: dead.Name(prefix),
		Key:   r.Key,
		Value: r.Value,
		Headers: append(slices.Clone(r.Headers),
			kgo.RecordHeader{Key: "error", Value: []byte(text)},
			kgo.RecordHeader{Key: "source_topic", Value: []byte(r.Topic)},
			kgo.RecordHeader{Key: "source_partition", Value: strconv.AppendInt(nil, int64(r.Partition), 10)},
			kgo.RecordHeader{Key: "source_offset", Value: strconv.AppendInt(nil, r.Offset, 10)},
		),
	}
}
