//go:build unix && !linux

package supervise

import (
	"context"
	"os/exec"
	"strconv"
	"strings"
)

// carries reports whether the process has the NAME=value pair in its environment.
func carries(ctx context.Context, pid int, pair string) bool {
	out, err := exec.CommandContext(ctx, "ps", "-Eww", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && strings.Contains(string(out)+" ", " "+pair+" ")
}

// defunct is not asked here: launchd collects orphans at once.
func defunct(int) bool { return false }
