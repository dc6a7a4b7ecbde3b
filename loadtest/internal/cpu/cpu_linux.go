package cpu

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// tick is the unit of /proc's processor times, USER_HZ. It is 100 on every
// architecture that Go runs on.
const tick = 10 * time.Millisecond

// Two returns two processors that this process may use.
func Two() (first, second int, err error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return 0, 0, fmt.Errorf("asking which processors may be used: %w", err)
	}
	var found []int
	for i := range len(set) * strconv.IntSize {
		if set.IsSet(i) {
			found = append(found, i)
		}
	}
	if len(found) < 2 {
		return 0, 0, errors.New("this needs two processors: one for the server, one for the load")
	}
	return found[0], found[1], nil
}

// PinSelf keeps this process, and what it starts from here on, on one processor.
func PinSelf(core int) error {
	// A thread inherits from the one that makes it, so a second look finds none that
	// was missed.
	for range 2 {
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return fmt.Errorf("listing threads: %w", err)
		}
		for _, thread := range threads {
			id, err := strconv.Atoi(thread.Name())
			if err != nil {
				return fmt.Errorf("listing threads: %w", err)
			}
			if err := pin(id, core); err != nil && !errors.Is(err, unix.ESRCH) {
				return err
			}
		}
	}
	return nil
}

// Pinned calls start on a thread that is on core, so that a process started by it
// is born there, and puts the thread back to home.
func Pinned(core, home int, start func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := pin(0, core); err != nil {
		return err
	}
	return errors.Join(start(), pin(0, home))
}

func pin(thread, core int) error {
	var set unix.CPUSet
	set.Set(core)
	if err := unix.SchedSetaffinity(thread, &set); err != nil {
		return fmt.Errorf("pinning to processor %d: %w", core, err)
	}
	return nil
}

// Used is how much processor time a process and its children have used so far,
// in steps of 10 ms.
func Used(pid int) (time.Duration, error) {
	sum, err := used(pid)
	if err != nil {
		return 0, err
	}
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		return 0, fmt.Errorf("listing children: %w", err)
	}
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			continue // the thread has ended
		}
		for field := range bytes.FieldsSeq(text) {
			child, err := strconv.Atoi(string(field))
			if err != nil {
				return 0, fmt.Errorf("reading %s: %w", list, err)
			}
			if more, err := used(child); err == nil {
				sum += more
			}
		}
	}
	return sum, nil
}

func used(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("reading processor times: %w", err)
	}
	// The second field is a name in parentheses that may hold anything.
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	const user, system = 14 - 3, 15 - 3 // see proc(5); counted from the third
	if len(fields) <= system {
		return 0, errors.New("reading processor times: too few fields")
	}
	a, errA := strconv.Atoi(string(fields[user]))
	b, errB := strconv.Atoi(string(fields[system]))
	return time.Duration(a+b) * tick, errors.Join(errA, errB)
}

// Busy is how long a processor has not been idle so far, with everything on it.
func Busy(core int) (time.Duration, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, fmt.Errorf("reading processor times: %w", err)
	}
	for line := range bytes.Lines(text) {
		fields := bytes.Fields(line)
		if len(fields) < 9 || string(fields[0]) != "cpu"+strconv.Itoa(core) {
			continue
		}
		var sum time.Duration
		for _, i := range []int{1, 2, 3, 6, 7} { // user, nice, system, irq, softirq
			n, err := strconv.Atoi(string(fields[i]))
			if err != nil {
				return 0, fmt.Errorf("reading processor times: %w", err)
			}
			sum += time.Duration(n) * tick
		}
		return sum, nil
	}
	return 0, fmt.Errorf("reading processor times: no processor %d", core)
}

// Model is the processor's name and the kernel's release.
func Model() string {
	name := runtime.GOARCH
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if _, rest, ok := bytes.Cut(text, []byte("model name\t: ")); ok {
			line, _, _ := bytes.Cut(rest, []byte("\n"))
			name = string(line)
		}
	}
	var uts unix.Utsname
	if err := unix.Uname(&uts); err == nil {
		name += ", Linux " + unix.ByteSliceToString(uts.Release[:])
	}
	return name
}

// urgency of a thread, as a nice value. A real-time priority would be one too many:
// the kernel's own thread for packets that wait has a usual one.
const urgency = -10

// Urgent lets the calling thread, which must be locked, run soon after it has
// something to do: with a timer that is not rounded by the usual 50 microseconds
// and, where that is allowed, before most else on its processor. The returned
// function ends it.
func Urgent() (calm func(), err error) {
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("asking for sharp timers: %w", err)
	}
	// Without the right to it, latencies have the scheduler's share in them too.
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, urgency)
	return func() {
		_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 0, 0, 0, 0) // 0: the default
		_ = unix.Setpriority(unix.PRIO_PROCESS, 0, 0)
	}, nil
}

// Orphan makes a command's process end, by SIGTERM, when the thread that started it
// does, and take no part in the terminal's signals.
func Orphan() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGTERM}
}
