// Package report prints what a scenario measured and keeps it as JSON, with the
// commit, the machine and the command it was measured with: a number without them
// is not to be quoted.
package report

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/linkstream/linkstream/loadtest/internal/cpu"
)

// Stamp says where numbers come from.
type Stamp struct {
	Scenario string    `json:"scenario"`
	Started  time.Time `json:"started"`
	Commit   string    `json:"commit"`
	Machine  string    `json:"machine"`
	Command  string    `json:"command"`
}

// NewStamp is the stamp of a run that starts now.
func NewStamp(ctx context.Context, scenario, command string) Stamp {
	s := Stamp{
		Scenario: scenario, Started: time.Now().UTC(), Commit: "unknown", Command: command,
		Machine: fmt.Sprintf("%s, %d cores, %s", cpu.Model(), runtime.NumCPU(), runtime.Version()),
	}
	if out, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty", "--exclude=*").Output(); err == nil {
		s.Commit = strings.TrimSpace(string(out))
	}
	return s
}

// save writes a result as JSON, and returns the file's path without its ending.
func (s Stamp) save(folder string, result any) (string, error) {
	text, err := json.MarshalIndent(result, "", "  ")
	if err != nil {
		return "", fmt.Errorf("encoding the report: %w", err)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", fmt.Errorf("making the folder for reports: %w", err)
	}
	path := filepath.Join(folder, s.Started.Format("20060102-150405")+"-"+s.Scenario)
	if err := os.WriteFile(path+".json", append(text, '\n'), 0o644); err != nil {
		return "", fmt.Errorf("writing the report: %w", err)
	}
	return path, nil
}
