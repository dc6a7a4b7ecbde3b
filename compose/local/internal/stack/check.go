package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/linkstream/linkstream/compose/local/internal/chdb"
	"github.com/linkstream/linkstream/compose/local/internal/plan"
	"github.com/linkstream/linkstream/compose/local/internal/ports"
)

// minFree is what the stack needs to start and to be tried: fresh stores take about 100 MB. A guess with room.
const minFree = 500 << 20

// installer is what to run when a tool is missing.
const installer = "run compose/local/install.sh (make run does)"

// checkMachine finds out what is missing before anything is started. It returns the path of redis-server.
func checkMachine(ctx context.Context, p plan.Plan, wanted []plan.Process, binaries []string, getenv func(string) string) (string, error) {
	redis, err := exec.LookPath("redis-server")
	if err != nil {
		return "", fmt.Errorf("redis-server is not installed: %s", installer)
	}
	if err := checkBinaries(p.Settings.Bin, wanted, binaries); err != nil {
		return "", err
	}
	if lib := chdb.Path(getenv); !isFile(lib) {
		return "", fmt.Errorf("the ClickHouse library is missing (%s): %s", lib, installer)
	}
	if err := checkDisk(p.Settings.Root, minFree); err != nil {
		return "", err
	}
	var uses []ports.Use
	for _, process := range wanted {
		uses = append(uses, process.Ports...)
	}
	return redis, checkPorts(ctx, uses)
}

func checkBinaries(bin string, wanted []plan.Process, more []string) error {
	names := slices.Clone(more)
	for _, process := range wanted {
		if process.Binary != "" {
			names = append(names, process.Binary)
		}
	}
	slices.Sort(names)
	var missing []string
	for _, name := range slices.Compact(names) {
		if !isFile(filepath.Join(bin, name)) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("not built yet: %s (looked in %s): start the stack with make run, which builds first", strings.Join(missing, ", "), bin)
	}
	return nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func checkDisk(root string, need uint64) error {
	var disk unix.Statfs_t
	if err := unix.Statfs(root, &disk); err != nil {
		return fmt.Errorf("asking for free space at %s: %w", root, err)
	}
	free := disk.Bavail * uint64(disk.Bsize)
	if free < need {
		return fmt.Errorf("the disk is nearly full: %d MB are free at %s, the stack needs %d MB: make room and start again", free>>20, root, need>>20)
	}
	return nil
}

func checkPorts(ctx context.Context, uses []ports.Use) error {
	err := ports.Check(ctx, uses)
	if taken, ok := errors.AsType[*ports.TakenError](err); ok {
		return fmt.Errorf("%w. Stop that program, or move the whole stack to other ports, for instance with LINKSTREAM_PORT_BASE=1000", taken)
	}
	return err
}
