package query

import (
	"strconv"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// sql is text that we wrote and values that go beside it as parameters: no value of
// a caller is ever part of the text.
type sql struct {
	text   strings.Builder
	values []any
	bound  map[string]bool
}

// write adds text of ours.
func (s *sql) write(parts ...string) {
	for _, p := range parts {
		s.text.WriteString(p)
	}
}

// bind gives a named parameter its value.
func (s *sql) bind(name string, value any) {
	if s.bound[name] {
		return // named twice in the text, with one value
	}
	if s.bound == nil {
		s.bound = map[string]bool{}
	}
	s.bound[name] = true
	s.values = append(s.values, clickhouse.Named(name, value))
}

// value binds a value to a parameter of its own and returns what stands for it.
func (s *sql) value(kind, value string) string {
	name := "value" + strconv.Itoa(len(s.values))
	s.bind(name, value)
	return "{" + name + ":" + kind + "}"
}

// among is the condition that the column has one of the values, or none of them.
// Each value is a parameter of its own: an array's elements would be escaped twice
// over, once more with each protocol.
func (s *sql) among(column, kind string, values []string, not bool) string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = s.value(kind, v)
	}
	operator := " IN ("
	if not {
		operator = " NOT IN ("
	}
	return column + operator + strings.Join(list, ", ") + ")"
}
