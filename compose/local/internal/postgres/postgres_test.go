package postgres

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func TestStalePostmasterPidIsRemoved(t *testing.T) {
	c := &Cluster{Dir: t.TempDir()}
	file := filepath.Join(c.Dir, "postmaster.pid")
	check := func(content string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := c.Prepare(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(file); err == nil {
			t.Errorf("%q is still there", content)
		}
	}
	check("")
	check("not a number\n")
	check(fmt.Sprintf("%d\n/data\n", 1<<30))
	if _, err := os.Stat("/proc/self/cmdline"); err == nil {
		check(strconv.Itoa(os.Getpid()) + "\n/data\n") // alive, but not a server of these data
	}
	if err := c.Prepare(); err != nil {
		t.Errorf("without a file: %v", err)
	}
}

func TestMissingVersionIsNamed(t *testing.T) {
	dir := t.TempDir()
	if _, err := FindBin(dir); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "PG_VERSION"), []byte("7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := FindBin(dir); err == nil || !strings.Contains(err.Error(), "PostgreSQL 7, which is not installed") {
		t.Errorf("got %v", err)
	}
}

func TestMajorVersionIsReadFromThePath(t *testing.T) {
	check := func(path string, want int) {
		t.Helper()
		if got := major(path); got != want {
			t.Errorf("major(%s) = %d, want %d", path, got, want)
		}
	}
	check("/usr/lib/postgresql/15/bin", 15)
	check("/opt/homebrew/opt/postgresql@17/bin", 17)
	check("/usr/local/opt/postgresql@16/bin", 16)
	check("/usr/bin", 0)
}

func TestClosedParentIsNoticed(t *testing.T) {
	nobody, err := user.Lookup("nobody")
	if err != nil {
		t.Skip("there is no user nobody")
	}
	id, err := strconv.ParseUint(nobody.Uid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	a := &Account{Name: "nobody", Credential: &syscall.Credential{Uid: uint32(id), Gid: uint32(id)}}
	dir := t.TempDir()
	closed := filepath.Join(dir, "closed")
	if err := os.Mkdir(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	if a.CanReach(filepath.Join(closed, "data")) {
		t.Error("a directory of mode 0700 was passed")
	}
	if !a.CanReach("/data") {
		t.Error("the root was not passed")
	}
}
