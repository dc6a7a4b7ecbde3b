package cpu

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
)

// look reads who has used how much so far.
func look(roots []int) (glance, error) {
	g := glance{at: time.Now(), ours: map[int]time.Duration{}}
	var err error
	if g.machine, err = everybody(); err != nil {
		return g, err
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return g, fmt.Errorf("listing processes: %w", err)
	}
	parents, all := map[int]int{}, map[int]time.Duration{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if parent, used, err := process(pid); err == nil { // else it has ended
			parents[pid], all[pid] = parent, used
		}
	}
	mine := map[int]bool{os.Getpid(): true}
	for _, root := range roots {
		mine[root] = true
	}
	for pid, used := range all {
		for at := pid; at > 1; at = parents[at] {
			if mine[at] {
				g.ours[pid] = used
				break
			}
		}
	}
	return g, nil
}

// process is a process's parent and what it has used itself.
func process(pid int) (parent int, sum time.Duration, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, err
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 15-2 {
		return 0, 0, errors.New("too few fields")
	}
	parent, err = strconv.Atoi(string(fields[4-3]))
	if err != nil {
		return 0, 0, err
	}
	sum, err = used(pid)
	return parent, sum, err
}

// Parent is the process that a process was started by.
func Parent(pid int) (int, error) {
	parent, _, err := process(pid)
	return parent, err
}

// everybody is what all processes together have used so far, and what the machine under
// this one, if it is a virtual one, has taken away. Interrupts are nobody's.
func everybody() (sum time.Duration, err error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, fmt.Errorf("reading processor times: %w", err)
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	fields := bytes.Fields(line)
	if len(fields) < 9 {
		return 0, errors.New("reading processor times: too few fields")
	}
	for _, i := range []int{1, 2, 3, 8} { // user, nice, system, steal
		n, err := strconv.Atoi(string(fields[i]))
		if err != nil {
			return 0, fmt.Errorf("reading processor times: %w", err)
		}
		sum += time.Duration(n) * tick
	}
	return sum, nil
}
