package chdb

import (
	"regexp"
	"strconv"
)

// Codes of ClickHouse that this module acts on.
const (
	CodeQueryWasCancelled = 394
	CodeUnknown           = 1002 // UNKNOWN_EXCEPTION: the engine gave a text without a code
)

var codePattern = regexp.MustCompile(`Code:\s*(\d+)\.`)

// Exception is an error of the engine, in its own words.
type Exception struct { //nolint:errname // what ClickHouse and its driver call it
	Code int
	Text string // as the server writes it: "Code: 60. DB::Exception: ... (UNKNOWN_TABLE)"
}

// Error is the engine's text.
func (e *Exception) Error() string { return e.Text }

func newException(text string) *Exception {
	e := &Exception{Code: CodeUnknown, Text: text}
	if match := codePattern.FindStringSubmatch(text); match != nil {
		if code, err := strconv.Atoi(match[1]); err == nil {
			e.Code = code
		}
	}
	return e
}
