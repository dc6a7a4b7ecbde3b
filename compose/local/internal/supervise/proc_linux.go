package supervise

import (
	"bytes"
	"context"
	"fmt"
	"os"
)

// carries reports whether the process has the NAME=value pair in its environment.
func carries(_ context.Context, pid int, pair string) bool {
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return false // gone, or of another user, so not ours
	}
	for entry := range bytes.SplitSeq(environ, []byte{0}) {
		if string(entry) == pair {
			return true
		}
	}
	return false
}

func defunct(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	// "pid (name) state ...": the name may hold anything, so the state is looked for from the right.
	_, rest, ok := bytes.Cut(stat[max(0, bytes.LastIndexByte(stat, ')')):], []byte(") "))
	return ok && len(rest) > 0 && rest[0] == 'Z'
}
