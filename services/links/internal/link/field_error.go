package link

import (
	"fmt"
	"strings"
)

// Code says what is wrong with a field, for a program. The list is closed and
// its values are stable.
type Code string

// The codes of field errors.
const (
	CodeRequired      Code = "required"
	CodeInvalid       Code = "invalid"
	CodeTooLong       Code = "too_long"
	CodeTooShort      Code = "too_short"
	CodeTooMany       Code = "too_many"
	CodeReserved      Code = "reserved"
	CodeNotAllowed    Code = "not_allowed"
	CodeUnknownDomain Code = "unknown_domain"
	CodeOwnDomain     Code = "own_domain"
)

// FieldError is what is wrong with one field.
type FieldError struct {
	Field  string
	Code   Code
	Detail string
}

// FieldErrors is what is wrong with a request, field by field. It is an error if it
// has entries; see Err.
type FieldErrors []FieldError

// Error implements error.
func (i FieldErrors) Error() string {
	texts := make([]string, len(i))
	for n, f := range i {
		texts[n] = f.Field + ": " + f.Detail
	}
	return strings.Join(texts, "; ")
}

// Err is nil when nothing is wrong.
func (i FieldErrors) Err() error {
	if len(i) == 0 {
		return nil
	}
	return i
}

// Add notes one more thing that is wrong.
func (i *FieldErrors) Add(field string, code Code, detail string) {
	*i = append(*i, FieldError{Field: field, Code: code, Detail: detail})
}

func (i *FieldErrors) addf(field string, code Code, format string, args ...any) {
	i.Add(field, code, fmt.Sprintf(format, args...))
}

// addErr notes what a rule said about a field; nil is ignored.
func (i *FieldErrors) addErr(field string, err *ruleError) {
	if err != nil {
		i.Add(field, err.code, err.detail)
	}
}

// ruleError is what a rule says about a value, before the field is known.
type ruleError struct {
	code   Code
	detail string
}

func broken(code Code, detail string) *ruleError { return &ruleError{code: code, detail: detail} }
