package api

import (
	"encoding/json"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// orNull is an object of a named schema, or null. (huma's own nullable is for plain
// types only.)
type orNull[T any] struct{ value *T }

// MarshalJSON implements json.Marshaler.
func (o orNull[T]) MarshalJSON() ([]byte, error) { return json.Marshal(o.value) }

// Schema implements huma.SchemaProvider.
func (orNull[T]) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{AnyOf: []*huma.Schema{r.Schema(reflect.TypeFor[T](), true, ""), {Type: "null"}}}
}
