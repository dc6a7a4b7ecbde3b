package chdb

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"unsafe"
)

// insertChunk is how much of an insert's data is handed to the engine at once: large enough that the calls do not
// show, small enough not to matter in memory.
const insertChunk = 1 << 20

// Session is one connection to the engine, with settings of its own. It runs one statement at a time and is used by
// one goroutine. Opening one costs about 0.2 ms, so a session per request is cheap.
type Session struct {
	engine *Engine
	conn   unsafe.Pointer
}

// Session opens a fresh session. The tag names its statements for Kill; it consists of letters, digits and dashes.
func (e *Engine) Session(tag string) (*Session, error) {
	conn := e.connect(tag)
	if conn == nil {
		return nil, errors.New("the engine refused a new session")
	}
	return &Session{engine: e, conn: conn}, nil
}

// Close ends the session.
func (s *Session) Close() {
	s.engine.lib.closeConn(s.conn)
}

// Kill stops whatever statement the sessions with this tag are running; Query and Insert then return an *Exception
// with CodeQueryWasCancelled. It does not wait for that, and finding no such statement is no error.
func (e *Engine) Kill(tag string) error {
	s, err := e.Session("kill")
	if err != nil {
		return err
	}
	defer s.Close()
	result, err := s.Query("KILL QUERY WHERE Settings['log_comment'] = {tag:String} ASYNC", "Null", Params{"tag": tag})
	if err != nil {
		return err
	}
	result.Close()
	return nil
}

// Params are the values of a statement's {name:Type} placeholders, in ClickHouse's escaped text form.
type Params map[string]string

// Result is the formatted answer to a query.
type Result struct {
	lib    *Library
	handle unsafe.Pointer
}

// Bytes is the answer. The slice is the engine's memory: it must not be used after Close, nor written to.
func (r *Result) Bytes() []byte {
	n := r.lib.resultLength(r.handle)
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(r.lib.resultBuffer(r.handle)), n)
}

// Close frees the answer.
func (r *Result) Close() {
	r.lib.destroyResult(r.handle)
}

// Query runs one statement to its end and formats the answer with the named format, unless the statement has a
// FORMAT clause. An error of the engine is an *Exception.
func (s *Session) Query(sql, format string, params Params) (*Result, error) {
	p := packParams(params)
	query, name := pointer(sql), pointer(format)
	handle := s.engine.lib.query(s.handle(), query, uintptr(len(sql)), name, uintptr(len(format)),
		p.names.pointers(), p.names.sizes(), p.values.pointers(), p.values.sizes(), uintptr(len(params)))
	runtime.KeepAlive(query)
	runtime.KeepAlive(name)
	runtime.KeepAlive(p)
	result := &Result{lib: s.engine.lib, handle: handle}
	if text := s.engine.lib.resultError(handle); text != "" {
		result.Close()
		return nil, newException(text)
	}
	return result, nil
}

// Insert runs an INSERT statement that has neither FORMAT clause nor inline values over the data, which are in the
// named format. It returns after the rows are committed. When reading data fails the insert is cancelled, and the error is the reader's.
func (s *Session) Insert(statement, format string, params Params, data io.Reader) error {
	lib := s.engine.lib
	p := packParams(params)
	query, name := pointer(statement), pointer(format)
	stream := lib.insert(s.handle(), query, uintptr(len(statement)), name, uintptr(len(format)),
		p.names.pointers(), p.names.sizes(), p.values.pointers(), p.values.sizes(), uintptr(len(params)))
	runtime.KeepAlive(query)
	runtime.KeepAlive(name)
	runtime.KeepAlive(p)
	defer lib.insertDestroy(stream)
	if text := lib.insertError(stream); text != "" {
		return newException(text)
	}

	chunk := make([]byte, insertChunk)
	for more := true; more; {
		n, err := fill(chunk, data)
		if err != nil && err != io.EOF { //nolint:errorlint // a wrapped EOF is not the end of the data
			lib.insertCancel(stream)
			return fmt.Errorf("reading the insert's data: %w", err)
		}
		more = err == nil
		if n > 0 && lib.insertAppend(stream, unsafe.Pointer(&chunk[0]), uintptr(n)) != 0 {
			break // the engine refused a row: its reason comes from insertDone
		}
	}
	handle := lib.insertDone(stream)
	defer lib.destroyResult(handle)
	if text := lib.resultError(handle); text != "" {
		return newException(text)
	}
	return nil
}

// fill reads until the chunk is full. It is not io.ReadFull because that gives one error for two things: data that end
// here, which is well, and a request that was cut off, which must not be committed.
func fill(chunk []byte, from io.Reader) (n int, err error) {
	for n < len(chunk) && err == nil {
		var m int
		m, err = from.Read(chunk[n:])
		n += m
	}
	return n, err
}

// handle is the connection as the calls want it: chdb_connect returns a pointer to it.
func (s *Session) handle() unsafe.Pointer { return *(*unsafe.Pointer)(s.conn) }

// texts is a C array of strings with lengths.
type texts struct {
	data []unsafe.Pointer
	lens []uintptr
}

func (t *texts) add(s string) {
	t.data = append(t.data, pointer(s))
	t.lens = append(t.lens, uintptr(len(s)))
}

func (t *texts) pointers() unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(t.data)) }
func (t *texts) sizes() unsafe.Pointer    { return unsafe.Pointer(unsafe.SliceData(t.lens)) }

type packedParams struct{ names, values texts }

func packParams(params Params) *packedParams {
	p := &packedParams{}
	for name, value := range params {
		p.names.add(name)
		p.values.add(value)
	}
	return p
}

// pointer copies s to where C may read it; a NUL follows, so it is never nil. The caller keeps it alive over the call.
func pointer(s string) unsafe.Pointer {
	return unsafe.Pointer(unsafe.SliceData(append([]byte(s), 0)))
}
