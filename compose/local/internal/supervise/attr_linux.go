package supervise

import "syscall"

func (s Spec) sysProcAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Setpgid:    true, // the terminal's Ctrl-C is for the supervisor, which stops the children in order
		Pdeathsig:  s.StopSignal,
		Credential: s.User,
	}
}
