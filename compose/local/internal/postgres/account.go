package postgres

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// Account is the user that the server runs as, when that is not the caller.
type Account struct {
	Name       string
	Credential *syscall.Credential
}

// UnprivilegedAccount returns the account for a caller who is root, and nil for any other.
func UnprivilegedAccount() (*Account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} { // Debian's package makes the first; the second is everywhere
		account, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(account.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(account.Gid, 10, 32)
		if err := errors.Join(uidErr, gidErr); err != nil {
			return nil, fmt.Errorf("reading the account %s: %w", name, err)
		}
		return &Account{Name: name, Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
	}
	return nil, errors.New("PostgreSQL refuses to run as root, and there is neither a user postgres nor nobody: run as an ordinary user")
}

// CanReach reports whether the account may pass through every directory above path.
func (a *Account) CanReach(path string) bool {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return false
		}
		pass := info.Mode().Perm() & 0o001
		if stat, ok := info.Sys().(*syscall.Stat_t); ok {
			switch {
			case stat.Uid == a.Credential.Uid:
				pass = info.Mode().Perm() & 0o100
			case stat.Gid == a.Credential.Gid:
				pass = info.Mode().Perm() & 0o010
			}
		}
		if pass == 0 {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
	}
}
