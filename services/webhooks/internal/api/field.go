package api

import (
	"bytes"
	"encoding/json"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// field is a member of a request body that may be left out or be null, which are
// two different things in a merge patch.
type field[T any] struct {
	Sent, Null bool
	Value      T
}

// UnmarshalJSON implements json.Unmarshaler. It is called only for members that
// are there.
func (f *field[T]) UnmarshalJSON(b []byte) error {
	f.Sent = true
	if bytes.Equal(b, []byte("null")) {
		f.Null = true
		return nil
	}
	return json.Unmarshal(b, &f.Value)
}

// Schema implements huma.SchemaProvider.
func (field[T]) Schema(r huma.Registry) *huma.Schema {
	schema := *huma.SchemaFromType(r, reflect.TypeFor[T]())
	schema.Nullable = true
	return &schema
}

// into writes what was sent, and what null means.
func (f *field[T]) into(value *T, cleared T) {
	switch {
	case f.Null:
		*value = cleared
	case f.Sent:
		*value = f.Value
	}
}
