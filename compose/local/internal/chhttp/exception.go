package chhttp

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/linkstream/linkstream/compose/local/internal/chdb"
)

// Codes of ClickHouse for what this handler refuses by itself.
const (
	codeBadArguments   = 36
	codeNotImplemented = 48
	codeSyntaxError    = 62 // also what the server answers to a text over max_query_size
	codeUnknownSetting = 115
	codeTooManyQueries = 202
)

// refuse is an exception in the server's form, for requests that never reach the engine.
func refuse(code int, name, format string, args ...any) *chdb.Exception {
	return &chdb.Exception{
		Code: code,
		Text: fmt.Sprintf("Code: %d. DB::Exception: %s. (%s)", code, fmt.Sprintf(format, args...), name),
	}
}

// writeException answers with an error the way the server does: the text in the body, the code in a header.
func writeException(w http.ResponseWriter, err error) {
	var exception *chdb.Exception
	if !errors.As(err, &exception) {
		exception = refuse(chdb.CodeUnknown, "UNKNOWN_EXCEPTION", "%v", err)
	}
	w.Header().Set("X-ClickHouse-Exception-Code", strconv.Itoa(exception.Code))
	w.Header().Set("Content-Type", "text/plain; charset=UTF-8")
	w.WriteHeader(status(exception.Code))
	_, _ = fmt.Fprintln(w, exception.Text) // the client is gone if this fails
}

// status maps a code to the status that the server's HTTP handler gives it.
func status(code int) int {
	switch code {
	case 6, 26, 27, 36, 38, 41, 43, 53, 62, 69, 70, 72, 117, 130, 131, 320, 441: // cannot parse, syntax, bad type
		return http.StatusBadRequest
	case 16, 46, 47, 50, 56, 60, 81, 115: // unknown column, function, identifier, type, storage, table, database, setting
		return http.StatusNotFound
	case codeNotImplemented:
		return http.StatusNotImplemented
	case codeTooManyQueries:
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}
