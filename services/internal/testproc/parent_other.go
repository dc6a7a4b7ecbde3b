//go:build !linux

package testproc

import "syscall"

// dieWithParent does nothing where the system cannot do it.
func dieWithParent(*syscall.SysProcAttr) {}
