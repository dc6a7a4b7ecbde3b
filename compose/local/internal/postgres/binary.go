// Package postgres runs the local stack's PostgreSQL from the system's own binaries, with a data directory and a port
// of its own.
//
// It promises that a data directory is either wholly initialised or not there, that it is only ever opened by the
// major version that made it, that fsync stays on, and that it listens on 127.0.0.1 only. As root it runs the server
// under an unprivileged account, because PostgreSQL refuses to run as root. It knows no passwords, so it is not for a machine with other users.
package postgres

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// places are where packages put a version's binaries: Debian's, then Homebrew's.
func places() []string {
	return []string{
		"/usr/lib/postgresql/*/bin",
		"/opt/homebrew/opt/postgresql@*/bin",
		"/usr/local/opt/postgresql@*/bin",
	}
}

var digits = regexp.MustCompile(`\d+`)

// FindBin finds the directory with initdb and postgres: of the version that made dataDir if that exists, else the newest.
func FindBin(dataDir string) (string, error) {
	var found []string
	for _, place := range places() {
		dirs, _ := filepath.Glob(place) // the patterns are well formed
		found = append(found, slices.DeleteFunc(dirs, func(dir string) bool { return !usable(dir) })...)
	}
	slices.SortStableFunc(found, func(a, b string) int { return cmp.Compare(major(b), major(a)) })
	if path, err := exec.LookPath("initdb"); err == nil {
		if file, err := filepath.EvalSymlinks(path); err == nil && usable(filepath.Dir(file)) {
			found = append(found, filepath.Dir(file))
		}
	}
	if len(found) == 0 {
		return "", errors.New("PostgreSQL is not installed: run compose/local/install.sh")
	}

	version, err := os.ReadFile(filepath.Join(dataDir, "PG_VERSION"))
	if errors.Is(err, fs.ErrNotExist) {
		return found[0], nil
	}
	if err != nil {
		return "", fmt.Errorf("reading the data directory's version: %w", err)
	}
	want := strings.TrimSpace(string(version))
	for _, dir := range found {
		if n := major(dir); n == 0 || strconv.Itoa(n) == want { // an unknown version may fit: the server itself will tell
			return dir, nil
		}
	}
	return "", fmt.Errorf("the data in %s are of PostgreSQL %s, which is not installed (found: %s): install it, or start anew with make clean",
		dataDir, want, strings.Join(found, ", "))
}

func usable(dir string) bool {
	for _, name := range []string{"initdb", "postgres"} {
		if _, err := exec.LookPath(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// major is the version in a path such as /usr/lib/postgresql/15/bin, or 0.
func major(dir string) int {
	n, err := strconv.Atoi(digits.FindString(strings.TrimPrefix(dir, "/usr/local")))
	if err != nil {
		return 0
	}
	return n
}
