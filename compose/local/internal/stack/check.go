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
	"github.com/linkstream/linkstream/compose/local/internal/kafka"
	"github.com/linkstream/linkstream/compose/local/internal/plan"
	"github.com/linkstream/linkstream/compose/local/internal/ports"
)

// minFree is what the stack needs to start and to be tried: fresh stores take about 100 MB. A guess with room.
const minFree = 500 << 20

// installer is what to run when a tool is missing.
const installer = "run compose/local/install.sh (make run does)"

// tools are the machine's own programs that the stack runs.
type tools struct {
	redis string        // path of redis-server
	kafka kafka.Runtime // if the plan has Apache Kafka
}

// checkMachine finds out what is missing before anything is started.
func checkMachine(ctx context.Context, p plan.Plan, wanted []plan.Process, binaries []string, getenv func(string) string) (tools, error) {
	var found tools
	var err error
	if found.redis, err = exec.LookPath("redis-server"); err != nil {
		return tools{}, fmt.Errorf("redis-server is not installed: %s", installer)
	}
	if p.Settings.Broker == plan.KafkaBroker {
		if found.kafka, err = kafka.Find(getenv); err != nil {
			return tools{}, err
		}
	}
	if err := checkBinaries(p.Settings.Bin, wanted, binaries); err != nil {
		return tools{}, err
	}
	if lib := chdb.Path(getenv); !isFile(lib) {
		return tools{}, fmt.Errorf("the ClickHouse library is missing (%s): %s", lib, installer)
	}
	if err := checkBrokerData(p.Settings); err != nil {
		return tools{}, err
	}
	if err := checkDisk(p.Settings.Root, minFree); err != nil {
		return tools{}, err
	}
	var uses []ports.Use
	for _, process := range wanted {
		uses = append(uses, process.Ports...)
	}
	return found, checkPorts(ctx, uses)
}

// checkBrokerData refuses a folder whose data came about with another broker. The new one would be empty, while
// PostgreSQL says what was published, so the changelog would stay without it.
func checkBrokerData(s plan.Settings) error {
	for _, other := range plan.BrokerKinds() {
		if other == s.Broker {
			continue
		}
		if _, err := os.Stat(s.BrokerData(other)); err == nil {
			return fmt.Errorf("the data in %s belong together with those of the broker %q: keep to that one, give the %q broker another --dir, or start anew with make clean",
				filepath.Join(s.Root, "data"), other, s.Broker)
		}
	}
	return nil
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
		return fmt.Errorf("%w. Stop that program, or move the whole stack to other ports, for instance with LINKSTREAM_PORT_BASE=20000", taken)
	}
	return err
}
