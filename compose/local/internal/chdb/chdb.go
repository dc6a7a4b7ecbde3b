// Package chdb runs the ClickHouse engine inside this process: it binds libchdb (ClickHouse itself, built as a shared
// library) without cgo.
//
// It promises that one engine at a time serves one data directory, that every session is a fresh one (no setting,
// current database or parameter of an earlier session is visible in it), and that errors carry the engine's own code and text. It refuses to guess: what the library cannot do is an error.
//
// The package holds all of the module's unsafe code: a foreign function interface cannot do without.
package chdb

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"
)

// Library is a loaded libchdb. It stays loaded until the process ends: the engine cannot be unloaded.
type Library struct {
	setSignalHandlers func(enabled int32)
	connect           func(argc int32, argv unsafe.Pointer) unsafe.Pointer
	closeConn         func(conn unsafe.Pointer)

	query func(conn, sql unsafe.Pointer, sqlLen uintptr, format unsafe.Pointer, formatLen uintptr,
		names, nameLens, values, valueLens unsafe.Pointer, params uintptr) unsafe.Pointer
	resultBuffer  func(result unsafe.Pointer) unsafe.Pointer
	resultLength  func(result unsafe.Pointer) uintptr
	resultError   func(result unsafe.Pointer) string
	destroyResult func(result unsafe.Pointer)

	insert func(conn, sql unsafe.Pointer, sqlLen uintptr, format unsafe.Pointer, formatLen uintptr,
		names, nameLens, values, valueLens unsafe.Pointer, params uintptr) unsafe.Pointer
	insertError   func(stream unsafe.Pointer) string
	insertAppend  func(stream, data unsafe.Pointer, length uintptr) int32
	insertDone    func(stream unsafe.Pointer) unsafe.Pointer
	insertCancel  func(stream unsafe.Pointer)
	insertDestroy func(stream unsafe.Pointer)
}

// Load maps the library at path into the process. The error of a missing file satisfies errors.Is(err, os.ErrNotExist).
func Load(path string) (*Library, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("finding libchdb: %w", err)
	}
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, fmt.Errorf("loading %s: %w", path, err)
	}
	l := &Library{}
	for name, function := range map[string]any{
		"chdb_set_signal_handlers_enabled": &l.setSignalHandlers,
		"chdb_connect":                     &l.connect,
		"chdb_close_conn":                  &l.closeConn,
		"chdb_query_with_params_n":         &l.query,
		"chdb_result_buffer":               &l.resultBuffer,
		"chdb_result_length":               &l.resultLength,
		"chdb_result_error":                &l.resultError,
		"chdb_destroy_query_result":        &l.destroyResult,
		"chdb_stream_insert_with_params_n": &l.insert,
		"chdb_stream_insert_error":         &l.insertError,
		"chdb_stream_append":               &l.insertAppend,
		"chdb_stream_done":                 &l.insertDone,
		"chdb_stream_cancel_insert":        &l.insertCancel,
		"chdb_destroy_insert_stream":       &l.insertDestroy,
	} {
		symbol, err := purego.Dlsym(handle, name)
		if err != nil {
			return nil, fmt.Errorf("looking up %s in %s (is it libchdb %s?): %w", name, path, Version, err)
		}
		purego.RegisterFunc(function, symbol)
	}
	// Signals belong to Go: the engine's own handlers would take SIGTERM away from the process.
	l.setSignalHandlers(0)
	return l, nil
}

// Engine is the running engine over one data directory.
type Engine struct {
	lib  *Library
	dir  string
	root unsafe.Pointer // keeps the engine up between sessions: closing the last connection would stop it
}

// ErrNotStarted says that the engine did not come up, as when another process holds its data directory. The library
// tells the reason on standard error only.
var ErrNotStarted = errors.New("the engine did not start: is another process using its data directory?")

// Open starts the engine on dir, which is created if need be. A process can have one open engine.
func (l *Library) Open(dir string) (*Engine, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("creating the data directory: %w", err)
	}
	e := &Engine{lib: l, dir: dir}
	e.root = e.connect("")
	if e.root == nil {
		return nil, ErrNotStarted
	}
	return e, nil
}

// Close stops the engine. The caller has closed every session before.
func (e *Engine) Close() {
	e.lib.closeConn(e.root)
}

func (e *Engine) connect(tag string) unsafe.Pointer {
	// The embedded engine takes "1 + 1" for a query; a server does not, so a mistake must not pass here either.
	args := []string{"clickhouse", "--path=" + e.dir, "--implicit_select=0"}
	if tag != "" {
		args = append(args, "--log_comment="+tag)
	}
	argv := make([]unsafe.Pointer, len(args)+1) // the last stays null, as for a C main
	for i, arg := range args {
		argv[i] = unsafe.Pointer(unsafe.SliceData(append([]byte(arg), 0)))
	}
	conn := e.lib.connect(int32(len(args)), unsafe.Pointer(&argv[0]))
	runtime.KeepAlive(argv)
	return conn
}
