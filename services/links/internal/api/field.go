package api

import (
	"bytes"
	"encoding/json"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/linkstream/linkstream/services/links/internal/link"
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

// edit is the field as an edit means it: null clears.
func (f field[T]) edit() link.Optional[T] {
	return link.Optional[T]{Set: f.Sent, Value: f.Value}
}

// given is the field as a new link means it: null is as good as leaving it out.
func (f field[T]) given() link.Optional[T] {
	return link.Optional[T]{Set: f.Sent && !f.Null, Value: f.Value}
}

// pointer is edit for a field that has a state without value: null is nil.
func (f field[T]) pointer() link.Optional[*T] {
	if !f.Sent || f.Null {
		return link.Optional[*T]{Set: f.Sent}
	}
	return link.Some(&f.Value)
}

// sent is the field, or as if it had been left out when it was null.
func (f field[T]) sent() field[T] {
	if f.Null {
		return field[T]{}
	}
	return f
}

// optionalParam is a query parameter whose absence is not its zero value.
type optionalParam[T any] struct {
	Value T
	IsSet bool
}

// Schema implements huma.SchemaProvider.
func (o optionalParam[T]) Schema(r huma.Registry) *huma.Schema {
	return huma.SchemaFromType(r, reflect.TypeFor[T]())
}

// Receiver implements huma.ParamWrapper.
func (o *optionalParam[T]) Receiver() reflect.Value { return reflect.ValueOf(o).Elem().Field(0) }

// OnParamSet implements huma.ParamReactor.
func (o *optionalParam[T]) OnParamSet(isSet bool, _ any) { o.IsSet = isSet }

func (o *optionalParam[T]) pointer() *T {
	if !o.IsSet {
		return nil
	}
	return &o.Value
}
