// Package redis runs the local stack's Redis servers.
//
// It promises that a Redis which was stopped orderly finds its data again, and that one which was killed starts empty.
// It never starts from data older than the moment it ended: the regional caches are written from the changelog, whose
// offsets are committed after the write, so an old snapshot would bring back old redirects that nobody writes again.
package redis

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

const snapshot = "dump.rdb"

// Server is one redis-server's data directory.
type Server struct {
	Dir  string
	Port int
}

// Args are the command line of redis-server.
func (s Server) Args() []string {
	return []string{
		"--bind", "127.0.0.1",
		"--port", strconv.Itoa(s.Port),
		"--dir", s.Dir,
		"--dbfilename", snapshot,
		// SIGTERM writes a snapshot only if some save point is set. This one, a change within a year, does not
		// write any by itself: see the package's promise.
		"--save", "31536000 1",
		"--appendonly", "no",
		"--daemonize", "no",
		// A new title would overwrite the environment, by which the stack knows its processes again.
		"--set-proc-title", "no",
	}
}

// Prepare readies the data directory for a start: a snapshot counts only if the last run ended orderly.
func (s Server) Prepare() error {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return fmt.Errorf("creating the data directory: %w", err)
	}
	err := os.Remove(s.marker())
	if err == nil {
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing the mark of an orderly end: %w", err)
	}
	if err := os.Remove(filepath.Join(s.Dir, snapshot)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing an old snapshot: %w", err)
	}
	return nil
}

// Ended notes how a run ended. If the mark cannot be written the next start is an empty one, which is safe.
func (s Server) Ended(orderly bool) {
	if orderly {
		_ = os.WriteFile(s.marker(), nil, 0o600)
	}
}

func (s Server) marker() string { return filepath.Join(s.Dir, "ended-orderly") }
