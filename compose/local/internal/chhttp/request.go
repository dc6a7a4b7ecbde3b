package chhttp

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/ClickHouse/ch-go/compress"

	"github.com/linkstream/linkstream/compose/local/internal/chdb"
)

const (
	// statementHead is how much of a body is searched for the end of an INSERT statement: the server's max_query_size.
	statementHead = 256 << 10
	// maxStatement bounds a statement that is read whole, inline VALUES included. A guess: far above what a
	// migration or a test sends, far below what would hurt the machine.
	maxStatement = 64 << 20
)

var settingName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// request is one HTTP request, understood.
type request struct {
	statement string
	insert    *insert   // set when rows follow the statement
	rows      io.Reader // of that insert

	database string
	format   string // of the answer, unless the statement names one
	revision uint64 // of the Native format that the client expects; 0 is the engine's own
	compress *compress.Writer
	settings []string // "name = 'value'"
	params   chdb.Params
}

// readRequest refuses what the engine behind this handler cannot do (sessions, external tables) rather than ignoring it.
func readRequest(r *http.Request) (*request, error) {
	if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
		return nil, refuse(codeNotImplemented, "NOT_IMPLEMENTED", "External tables are not supported by the local ClickHouse")
	}
	q := &request{format: "TabSeparated", params: chdb.Params{}}
	if format := r.Header.Get("X-ClickHouse-Format"); format != "" {
		q.format = format
	}
	q.database = r.Header.Get("X-ClickHouse-Database")
	var query, method string
	var compressed, decompress bool
	for name, values := range r.URL.Query() {
		value := values[len(values)-1]
		switch name {
		case "query":
			query = value
		case "database":
			q.database = value
		case "default_format":
			q.format = value
		case "client_protocol_version":
			revision, err := strconv.ParseUint(value, 10, 32)
			if err != nil {
				return nil, refuse(codeBadArguments, "BAD_ARGUMENTS", "client_protocol_version %q is not a number", value)
			}
			q.revision = revision
		case "compress":
			compressed = value == "1" || value == "true"
		case "decompress":
			decompress = value == "1" || value == "true"
		case "network_compression_method":
			method = value
		case "session_id", "session_timeout", "session_check":
			return nil, refuse(codeNotImplemented, "NOT_IMPLEMENTED", "Sessions over HTTP are not supported by the local ClickHouse")
		case "user", "password", "quota_key", "query_id", "buffer_size", "wait_end_of_query", "role":
			// What they ask for is either how this handler works anyway or has no meaning for a single local user.
		default:
			if param, ok := strings.CutPrefix(name, "param_"); ok {
				q.params[param] = value
				continue
			}
			if !settingName.MatchString(name) {
				return nil, refuse(codeUnknownSetting, "UNKNOWN_SETTING", "Unknown setting '%s'", name)
			}
			q.settings = append(q.settings, name+" = "+quote(value))
		}
	}
	if compressed {
		q.compress = newCompressor(method)
	}
	if r.Method == http.MethodGet {
		q.settings = append(q.settings, "readonly = 2") // as the server does: a GET changes nothing
	}
	body, err := bodyReader(r, decompress)
	if err != nil {
		return nil, err
	}
	return q, q.readStatement(query, body)
}

// readStatement joins the statement of the URL with the body, as the server does, and parts rows from statement.
func (q *request) readStatement(query string, body io.Reader) error {
	if found, ok := splitInsert(query); ok {
		q.insert = &found
		q.rows = io.MultiReader(strings.NewReader(query[found.data:]), body)
		return nil
	}
	text := body
	if query != "" {
		text = io.MultiReader(strings.NewReader(query+"\n"), body)
	}
	buffered := bufio.NewReaderSize(text, statementHead)
	head, err := buffered.Peek(statementHead)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("reading the statement: %w", err)
	}
	if found, ok := splitInsert(string(head)); ok {
		q.insert = &found
		if _, err := buffered.Discard(found.data); err != nil {
			return fmt.Errorf("reading the statement: %w", err)
		}
		q.rows = buffered
		return nil
	}
	whole, err := io.ReadAll(io.LimitReader(buffered, maxStatement+1))
	if err != nil {
		return fmt.Errorf("reading the statement: %w", err)
	}
	if len(whole) > maxStatement {
		return refuse(codeSyntaxError, "SYNTAX_ERROR", "The statement is larger than %d bytes: send rows with a FORMAT clause", maxStatement)
	}
	q.statement = string(whole)
	if strings.TrimSpace(q.statement) == "" {
		return refuse(codeSyntaxError, "SYNTAX_ERROR", "Empty query")
	}
	return nil
}

func bodyReader(r *http.Request, decompress bool) (io.Reader, error) {
	var body io.Reader = r.Body
	switch encoding := r.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
	case "gzip":
		unzipped, err := gzip.NewReader(r.Body)
		if err != nil {
			return nil, fmt.Errorf("reading the gzip header: %w", err)
		}
		body = unzipped
	default:
		return nil, refuse(codeNotImplemented, "NOT_IMPLEMENTED", "Content-Encoding %q is not supported by the local ClickHouse", encoding)
	}
	if decompress {
		body = unframed{compress.NewReader(body)}
	}
	return body, nil
}

// unframed reads ClickHouse's compressed frames. Their reader wraps the end of the data like a failure.
type unframed struct{ frames *compress.Reader }

func (u unframed) Read(p []byte) (int, error) {
	n, err := u.frames.Read(p)
	if errors.Is(err, io.EOF) {
		err = io.EOF
	}
	return n, err
}

func newCompressor(method string) *compress.Writer {
	if strings.EqualFold(method, "ZSTD") {
		return compress.NewWriter(compress.LevelZero, compress.ZSTD)
	}
	return compress.NewWriter(compress.LevelZero, compress.LZ4)
}

// quote writes a string literal of ClickHouse's SQL.
func quote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

// identifier quotes a name, whatever it contains.
func identifier(s string) string {
	return "`" + strings.NewReplacer(`\`, `\\`, "`", "\\`").Replace(s) + "`"
}
