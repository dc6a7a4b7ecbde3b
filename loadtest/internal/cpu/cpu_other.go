//go:build !linux

package cpu

import (
	"runtime"
	"syscall"
	"time"
)

// Two returns two processors that this process may use.
func Two() (first, second int, err error) { return 0, 0, ErrNotLinux }

// PinSelf keeps this process, and what it starts from here on, on one processor.
func PinSelf(int) error { return ErrNotLinux }

// Pinned calls start on a thread that is on core.
func Pinned(_, _ int, _ func() error) error { return ErrNotLinux }

// Used is how much processor time a process and its children have used so far.
func Used(int) (time.Duration, error) { return 0, ErrNotLinux }

// Busy is how long a processor has not been idle so far.
func Busy(int) (time.Duration, error) { return 0, ErrNotLinux }

// Model is the processor's name and the kernel's release.
func Model() string { return runtime.GOOS + "/" + runtime.GOARCH }

// Urgent lets the calling thread run as soon as it has something to do.
func Urgent() (calm func(), err error) { return nil, ErrNotLinux }

// Orphan makes a command's process take no part in the terminal's signals.
func Orphan() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// Parent is the process that a process was started by.
func Parent(int) (int, error) { return 0, ErrNotLinux }

func look([]int) (glance, error) { return glance{}, ErrNotLinux }
