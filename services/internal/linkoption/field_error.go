package linkoption

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Code says what is wrong with a field, for a program. Its values are stable, and among
// those of the API's field errors.
type Code string

// The codes.
const (
	CodeRequired   Code = "required"
	CodeInvalid    Code = "invalid"
	CodeTooLong    Code = "too_long"
	CodeTooMany    Code = "too_many"
	CodeNotAllowed Code = "not_allowed"
)

// FieldError is what is wrong with one field. The field is a path from the link's top
// level: rules[0].conditions[1].values.
type FieldError struct {
	Field  string
	Code   Code
	Detail string
}

// Target holds a destination against the rules for targets. It returns the form that is
// stored; with an error, whatever it likes. The field of the error is the one given.
type Target func(field, destination string) (stored string, wrong *FieldError)

// problems collects what is wrong.
type problems []FieldError

func (p *problems) add(field string, code Code, detail string) {
	*p = append(*p, FieldError{Field: field, Code: code, Detail: detail})
}

func (p *problems) addf(field string, code Code, format string, args ...any) {
	p.add(field, code, fmt.Sprintf(format, args...))
}

// target stores a checked destination.
func (p *problems) target(check Target, field string, destination *string) {
	stored, wrong := check(field, *destination)
	if wrong != nil {
		*p = append(*p, *wrong)
		return
	}
	*destination = stored
}

// text refuses what cannot be stored, shown or put into a header.
func (p *problems) text(field, s string, limit int) {
	switch {
	case !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\n' || r == 0x7F }):
		p.add(field, CodeInvalid, "the text has characters that cannot be stored")
	case utf8.RuneCountInString(s) > limit:
		p.addf(field, CodeTooLong, "the text has at most %d characters", limit)
	}
}
