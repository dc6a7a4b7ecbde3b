package linkcache_test

import (
	"fmt"
	"reflect"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/linkstream/linkstream/events/eventspb"
	"github.com/linkstream/linkstream/services/internal/linkcache"
)

// notInARecord are the fields of a change that an edge has no use for, and why.
func notInARecord() map[string]string {
	return map[string]string{
		"address.slug":          "people's spelling; the key is made of slug_key",
		"previous_address.slug": "likewise",
		"kind":                  "created and updated are one; a deletion is a marker, see TestEntriesOfAChange",
		"changed_at":            "revisions say what is newer",
		"tags":                  "for the dashboard",
		"notes":                 "for the dashboard",
		"archived":              "an archived link redirects",
		"created_at":            "the id says so",
		"updated_at":            "for the dashboard",
		"split.variants.name":   "for the dashboard",
	}
}

// Every field of LinkChanged gets into the record, or is on the list: a change in any of
// them makes another record. Whoever adds an option and forgets it here is told.
//
// Guards I66.
func TestEveryFieldOfAChangeGetsIntoTheRecord(t *testing.T) {
	whole := &eventspb.LinkChanged{}
	fill(whole.ProtoReflect())
	before, err := linkcache.Entries(whole)
	if err != nil {
		t.Fatal(err)
	}
	missing := notInARecord()
	for _, path := range leaves(whole.ProtoReflect().Descriptor(), nil) {
		other := proto.CloneOf(whole)
		alter(other.ProtoReflect(), path)
		name := nameOf(path)
		after, err := linkcache.Entries(other)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		_, listed := missing[name]
		delete(missing, name)
		if same := reflect.DeepEqual(before, after); same != listed {
			t.Errorf("another %s makes another record: %t; on the list of those that do not: %t", name, !same, listed)
		}
	}
	for name := range missing {
		t.Errorf("%s is on the list and does not exist", name)
	}
}

type path []protoreflect.FieldDescriptor

func nameOf(p path) string {
	name := ""
	for _, f := range p {
		if name != "" {
			name += "."
		}
		name += string(f.Name())
	}
	return name
}

func isTimestamp(f protoreflect.FieldDescriptor) bool {
	return f.Message() != nil && f.Message().FullName() == "google.protobuf.Timestamp"
}

// leaves are the ways to all fields that hold no message of ours.
func leaves(d protoreflect.MessageDescriptor, to path) []path {
	var out []path
	for i := range d.Fields().Len() {
		f := d.Fields().Get(i)
		at := append(append(path{}, to...), f)
		if f.Message() == nil || isTimestamp(f) {
			out = append(out, at)
			continue
		}
		out = append(out, leaves(f.Message(), at)...)
	}
	return out
}

// fill sets every field of a message, lists to one element.
func fill(m protoreflect.Message) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		switch f := fields.Get(i); {
		case f.IsList() && f.Message() != nil:
			fill(m.Mutable(f).List().AppendMutable().Message())
		case f.IsList():
			m.Mutable(f).List().Append(value(f, 1))
		case isTimestamp(f):
			setSeconds(m.Mutable(f).Message(), 1_000_000)
		case f.Message() != nil:
			fill(m.Mutable(f).Message())
		default:
			m.Set(f, value(f, 1))
		}
	}
}

func setSeconds(m protoreflect.Message, n int64) {
	m.Set(m.Descriptor().Fields().ByName("seconds"), protoreflect.ValueOfInt64(n))
}

// alter gives the leaf at the end of a path another value.
func alter(m protoreflect.Message, p path) {
	f := p[0]
	switch {
	case len(p) > 1 && f.IsList():
		alter(m.Mutable(f).List().Get(0).Message(), p[1:])
	case len(p) > 1:
		alter(m.Mutable(f).Message(), p[1:])
	case f.IsList():
		m.Mutable(f).List().Set(0, value(f, 2))
	case isTimestamp(f):
		setSeconds(m.Mutable(f).Message(), 2_000_000)
	default:
		m.Set(f, value(f, 2))
	}
}

// value is the n-th value of a field, which is none of its zero values.
func value(f protoreflect.FieldDescriptor, n int) protoreflect.Value {
	switch f.Kind() {
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(fmt.Sprintf("https://%s.test/%d", f.Name(), n))
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes(append(make([]byte, 15), byte(n)))
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(n == 1)
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(n)) //nolint:gosec // 1 or 2
	case protoreflect.Uint32Kind:
		return protoreflect.ValueOfUint32(uint32(n)) //nolint:gosec // 1 or 2
	case protoreflect.Uint64Kind:
		return protoreflect.ValueOfUint64(uint64(n)) //nolint:gosec // 1 or 2
	default:
		panic(fmt.Sprintf("a field of kind %s: say what its values are", f.Kind()))
	}
}
