package main

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
	"time"
	"unicode"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/linkstream/linkstream/events"
)

// field is one name and value of a JSON object that keeps its order.
type field struct {
	name  string
	value any
}

type object []field

// MarshalJSON implements json.Marshaler.
func (o object) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, f := range o {
		if i > 0 {
			out = append(out, ',')
		}
		name, err := json.Marshal(f.name)
		if err != nil {
			return nil, err
		}
		value, err := marshal(f.value)
		if err != nil {
			return nil, err
		}
		out = append(append(append(out, name...), ':'), value...)
	}
	return append(out, '}'), nil
}

// marshal is json.Marshal without escaping what only matters in HTML: destinations
// are full of ampersands.
func marshal(value any) ([]byte, error) {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return []byte(strings.TrimSuffix(out.String(), "\n")), err
}

// readable is a message as people read it: the names of the schema, ids as UUIDs,
// times as RFC 3339, addresses as such, enums in lower case, bytes as text. Fields that
// are not set are left out, and so are those that skip names, and secrets: what is printed
// gets into files and tickets.
func readable(m proto.Message, skip ...string) object {
	return readableFields(m.ProtoReflect(), skip)
}

// secret is the field of the schema that is marked so.
const secret = "unlock_key"

func readableFields(m protoreflect.Message, skip []string) object {
	out := object{}
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		name := string(fd.Name())
		if !m.Has(fd) || slices.Contains(skip, name) || name == secret {
			continue
		}
		out = append(out, field{name, readableValue(fd, m.Get(fd))})
	}
	return out
}

func readableValue(fd protoreflect.FieldDescriptor, v protoreflect.Value) any {
	switch {
	case fd.IsMap():
		out := map[string]any{}
		v.Map().Range(func(key protoreflect.MapKey, value protoreflect.Value) bool {
			out[key.String()] = single(fd.MapValue(), value)
			return true
		})
		return out
	case fd.IsList():
		out := []any{}
		for i := range v.List().Len() {
			out = append(out, single(fd, v.List().Get(i)))
		}
		return out
	default:
		return single(fd, v)
	}
}

func single(fd protoreflect.FieldDescriptor, v protoreflect.Value) any {
	switch fd.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		if at, ok := v.Message().Interface().(*timestamppb.Timestamp); ok {
			return at.AsTime().Format(time.RFC3339Nano)
		}
		return readableFields(v.Message(), nil)
	case protoreflect.EnumKind:
		return enumName(fd.Enum(), v.Enum())
	case protoreflect.BytesKind:
		return bytesText(string(fd.Name()), v.Bytes())
	case protoreflect.Int64Kind:
		if strings.HasSuffix(string(fd.Name()), "_unix_us") {
			return time.UnixMicro(v.Int()).UTC().Format(time.RFC3339Nano)
		}
		return v.Int()
	default:
		return v.Interface()
	}
}

// enumName is the value's name without that of its type: KIND_CREATED is created. One
// that this version does not know is its number.
func enumName(enum protoreflect.EnumDescriptor, n protoreflect.EnumNumber) any {
	value := enum.Values().ByNumber(n)
	if value == nil {
		return n
	}
	var prefix strings.Builder
	for i, r := range string(enum.Name()) {
		if i > 0 && unicode.IsUpper(r) {
			prefix.WriteByte('_')
		}
		prefix.WriteRune(unicode.ToUpper(r))
	}
	return strings.ToLower(strings.TrimPrefix(string(value.Name()), prefix.String()+"_"))
}

func bytesText(name string, raw []byte) string {
	if (name == "id" || strings.HasSuffix(name, "_id")) && len(raw) == len(events.ID{}) {
		return events.ID(raw).String()
	}
	if name == "address" {
		if ip, ok := netip.AddrFromSlice(raw); ok {
			return ip.Unmap().String()
		}
	}
	return strings.ToValidUTF8(string(raw), "\uFFFD")
}
