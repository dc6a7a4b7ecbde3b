//go:build unix && !linux

package supervise

import "syscall"

func (p *Process) sysProcAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Setpgid:    true, // the terminal's Ctrl-C is for the supervisor, which stops the children in order
		Credential: p.spec.User,
	}
}
