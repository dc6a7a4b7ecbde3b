// Package cpu puts processes on processors and reads how much of them they use.
//
// It works on Linux only; elsewhere every call that would have an effect returns
// ErrNotLinux.
package cpu

import "errors"

// ErrNotLinux says that this system cannot pin a process to a processor.
var ErrNotLinux = errors.New("pinning processes to processors needs Linux")
