package cpu

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
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

// SharpTimers makes the calling thread wake up when it asked to, instead of up to
// 50 microseconds later. The thread must be locked.
func SharpTimers() error {
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("asking for sharp timers: %w", err)
	}
	return nil
}

// Pause blocks the calling thread. Go's own timers wake up tens of microseconds
// late, which an open-loop generator would report as the server's latency.
func Pause(d time.Duration) {
	ts := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&ts, nil) // cut short by a signal: the caller looks at the clock
}

// Orphan makes a command's process end, by SIGTERM, when the thread that started it
// does, and take no part in the terminal's signals.
func Orphan() *unix.SysProcAttr {
	return &unix.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGTERM}
}
