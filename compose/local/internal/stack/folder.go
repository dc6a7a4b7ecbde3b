package stack

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/linkstream/linkstream/compose/local/internal/supervise"
)

// marker is the variable in the environment of every process of a stack, with the stack's folder as value: it tells
// the stack's own processes from others, whatever they call themselves.
const marker = "LINKSTREAM_STACK_DIR"

const lockName = "stack.lock"

// folder is the stack's directory, .local in a checkout.
type folder struct {
	root string // absolute
}

func (f folder) dirs() supervise.Dirs {
	return supervise.Dirs{Run: filepath.Join(f.root, "run"), Log: filepath.Join(f.root, "log")}
}

func (f folder) devEnv() string { return filepath.Join(f.root, "dev.env") }

// markerPair has no symbolic links in it, since it is compared between runs that may spell the path differently.
func (f folder) markerPair() string { return marker + "=" + f.root }

func openFolder(path string) (folder, error) {
	root, err := filepath.Abs(path)
	if err != nil {
		return folder{}, fmt.Errorf("locating %s: %w", path, err)
	}
	if target, err := filepath.EvalSymlinks(root); err == nil {
		root = target
	}
	return folder{root: root}, nil
}

// create makes the directories. Others may pass through the root: the unprivileged PostgreSQL does.
func (f folder) create() error {
	for _, dir := range []string{f.root, f.dirs().Run, f.dirs().Log, filepath.Join(f.root, "data")} {
		if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // see above
			return fmt.Errorf("creating the stack's folder: %w", err)
		}
	}
	return nil
}

// clearHolds removes the hold files that a test left behind: they are for a running stack.
func (f folder) clearHolds() error {
	files, err := filepath.Glob(supervise.HoldFile(f.dirs().Run, "*"))
	if err != nil {
		return fmt.Errorf("listing hold files: %w", err)
	}
	for _, file := range files {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing a hold file: %w", err)
		}
	}
	return nil
}

// lock is held while a stack runs. The system gives it back when the process ends, however it ends.
type lock struct {
	file *os.File
}

// lockedError says that a stack runs in the folder.
type lockedError struct {
	root string
	pid  int // 0 if not known
}

// Error says what to do about it.
func (e *lockedError) Error() string {
	who := ""
	if e.pid > 0 {
		who = fmt.Sprintf(" (process %d)", e.pid)
	}
	return fmt.Sprintf("a stack is already running in %s%s: stop it with Ctrl-C where it runs, or with %s", e.root, who, filepath.Join(e.root, "bin", "stack")+" down")
}

func (f folder) lock() (*lock, error) {
	file, err := os.OpenFile(filepath.Join(f.root, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the lock file: %w", err)
	}
	err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		pid, _ := supervise.ReadPid(file.Name()) // only to name it
		_ = file.Close()
		return nil, &lockedError{root: f.root, pid: pid}
	}
	if err == nil {
		err = file.Truncate(0)
	}
	if err == nil {
		_, err = file.WriteString(strconv.Itoa(os.Getpid()) + "\n")
	}
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("locking %s: %w", f.root, err)
	}
	return &lock{file: file}, nil
}

// release empties the file and keeps it: removing a lock file that another process is just opening would let two in.
func (l *lock) release() {
	_ = l.file.Truncate(0)
	_ = l.file.Close()
}

// tail is the end of a log file, for an error message.
func tail(path string, lines int) string {
	const most = 16 << 10
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }()
	if info, err := file.Stat(); err == nil && info.Size() > most {
		_, _ = file.Seek(-most, io.SeekEnd) // if that fails the beginning is shown
	}
	text, _ := io.ReadAll(io.LimitReader(file, most)) // what could be read is shown
	all := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	return "  | " + strings.Join(all[max(0, len(all)-lines):], "\n  | ")
}
