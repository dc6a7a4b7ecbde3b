// Package devenv reads and writes dev.env, the file that tells people, scripts and tests where the local stack is.
//
// It promises a file that a shell can source and that a line-by-line reader of NAME=value understands too (a value is
// quoted only if a shell needs it), readable by its owner only, and replaced all at once.
package devenv

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"
)

// Pair is one line.
type Pair struct{ Name, Value string }

// plain values mean the same to a shell with and without quotes, on the right of an assignment.
var plain = regexp.MustCompile(`^[A-Za-z0-9_./:@,=?%+-]*$`)

// Write replaces the file at path.
func Write(path string, pairs []Pair) error {
	var text strings.Builder
	for _, pair := range pairs {
		value := pair.Value
		if strings.ContainsAny(value, "\n\x00") {
			return fmt.Errorf("writing %s: the value of %s has a line end", path, pair.Name)
		}
		if !plain.MatchString(value) {
			value = "'" + strings.ReplaceAll(value, "'", `'\''`) + "'"
		}
		fmt.Fprintf(&text, "%s=%s\n", pair.Name, value)
	}
	temporary := path + ".new"
	if err := os.WriteFile(temporary, []byte(text.String()), 0o600); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := os.Rename(temporary, path); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// Read reads what Write wrote. A missing file has no values and is no error.
func Read(path string) (map[string]string, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]string{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading dev.env: %w", err)
	}
	defer func() { _ = file.Close() }()
	values := map[string]string{}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		name, value, ok := strings.Cut(strings.TrimSpace(lines.Text()), "=")
		if !ok || strings.HasPrefix(name, "#") {
			continue
		}
		if len(value) >= 2 && value[0] == '\'' && value[len(value)-1] == '\'' {
			value = strings.ReplaceAll(value[1:len(value)-1], `'\''`, "'")
		}
		values[name] = value
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading dev.env: %w", err)
	}
	return values, nil
}
