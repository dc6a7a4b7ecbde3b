package stack_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/linkstream/linkstream/compose/local/internal/chdb"
	"github.com/linkstream/linkstream/compose/local/internal/console"
	"github.com/linkstream/linkstream/compose/local/internal/devenv"
	"github.com/linkstream/linkstream/compose/local/internal/plan"
	"github.com/linkstream/linkstream/compose/local/internal/stack"
	"github.com/linkstream/linkstream/compose/local/internal/supervise"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if binDir != "" {
			_ = os.RemoveAll(binDir)
		}
		os.Exit(code)
	}))
}

var binDir string

// bin builds the broker and ClickHouse once for all tests.
var bin = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "stack-test-bin-")
	if err != nil {
		return "", err
	}
	binDir = dir
	out, err := exec.Command("go", "build", "-o", dir, "../../cmd/broker", "../../cmd/clickhouse").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("building: %w\n%s", err, out)
	}
	return dir, err
})

func builtBin(t *testing.T) string {
	t.Helper()
	dir, err := bin()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// needStores skips on a machine without the stores' programs, and fails in CI.
func needStores(t *testing.T) {
	t.Helper()
	_, redisErr := exec.LookPath("redis-server")
	_, libErr := os.Stat(chdb.Path(os.Getenv))
	if err := errors.Join(redisErr, libErr); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skipf("not installed, see compose/local/install.sh: %v", err)
	}
}

// folder is a stack's folder which an unprivileged PostgreSQL reaches; t.TempDir is closed to others.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "stack-test-") //nolint:usetesting // see above
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// freeBase finds a port base that leaves the stores' ports free.
func freeBase(t *testing.T) string {
	t.Helper()
	for base := 3000; base < 12000; base += 250 {
		free := true
		for _, port := range []int{15432, 16379, 16380, 18123, 19092, 19093} {
			var config net.ListenConfig
			listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:"+strconv.Itoa(port+base))
			if err != nil {
				free = false
				break
			}
			_ = listener.Close()
		}
		if free {
			return strconv.Itoa(base)
		}
	}
	t.Fatal("no free ports")
	return ""
}

type run struct {
	dir    string
	output *output
	cancel context.CancelFunc
	ended  chan error
	force  chan struct{}
}

type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func up(t *testing.T, dir, base string) *run {
	t.Helper()
	return upWith(t, dir, base, plan.EmbeddedBroker)
}

func upWith(t *testing.T, dir, base string, broker plan.BrokerKind) *run {
	t.Helper()
	environ := map[string]string{
		"LINKSTREAM_PORT_BASE": base, "HOME": os.Getenv("HOME"), "XDG_CACHE_HOME": os.Getenv("XDG_CACHE_HOME"),
		"LINKSTREAM_CHDB_LIB": os.Getenv("LINKSTREAM_CHDB_LIB"),
	}
	r := &run{dir: dir, output: &output{}, ended: make(chan error, 1), force: make(chan struct{})}
	var ctx context.Context
	ctx, r.cancel = context.WithCancel(t.Context())
	go func() {
		r.ended <- stack.Up(ctx, stack.Options{
			Dir: dir, Bin: builtBin(t), Broker: broker, StoresOnly: true, Environ: os.Environ(),
			Getenv:  func(name string) string { return environ[name] },
			Console: console.New(r.output), Force: r.force,
		})
	}()
	t.Cleanup(func() {
		r.cancel()
		if err := <-r.ended; err != nil {
			t.Log(err)
		}
	})
	return r
}

func (r *run) stop(t *testing.T) error {
	t.Helper()
	r.cancel()
	err := <-r.ended
	r.ended <- err // for the clean-up
	return err
}

func (r *run) waitReady(t *testing.T) map[string]string {
	t.Helper()
	r.eventually(t, "the stores are ready", func() bool {
		select {
		case err := <-r.ended:
			r.ended <- err
			t.Fatalf("the stack ended: %v\n%s", err, r.output)
		default:
		}
		return strings.Contains(r.output.String(), "The stores are running")
	})
	values, err := devenv.Read(filepath.Join(r.dir, "dev.env"))
	if err != nil {
		t.Fatal(err)
	}
	return values
}

func (r *run) eventually(t *testing.T, what string, check func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(60 * time.Second); !check(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("not so: %s\n%s", what, r.output)
		}
	}
}

func (r *run) pid(t *testing.T, name string) int {
	t.Helper()
	pid, err := supervise.ReadPid(supervise.PidFile(filepath.Join(r.dir, "run"), name))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func redis(t *testing.T, url string, command string) string {
	t.Helper()
	var dialer net.Dialer
	conn, err := dialer.DialContext(t.Context(), "tcp", strings.TrimSuffix(strings.TrimPrefix(url, "redis://"), "/0"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := fmt.Fprintf(conn, "%s\r\nQUIT\r\n", command); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	buffer := make([]byte, 512)
	for {
		n, err := conn.Read(buffer)
		text.Write(buffer[:n])
		if err != nil {
			return text.String()
		}
	}
}

func TestStoresKeepTheirDataAndLeaveNothingBehind(t *testing.T) {
	needStores(t)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	dir, base := folder(t), freeBase(t)
	first := up(t, dir, base)
	env := first.waitReady(t)
	fra, _, _ := strings.Cut(strings.TrimPrefix(env["LINKSTREAM_REDIS_URLS"], "fra="), ",")

	exec := func(sql string) error {
		conn, err := pgx.Connect(t.Context(), env["LINKSTREAM_POSTGRES_URL"])
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close(t.Context()) }()
		_, err = conn.Exec(t.Context(), sql)
		return err
	}
	if err := exec("CREATE TABLE kept (n int)"); err != nil {
		t.Fatal(err)
	}
	redis(t, fra, "SET kept 1")

	// Another stack in the same folder is refused, and one with the same ports elsewhere as well.
	second := up(t, dir, base)
	if err := <-second.ended; err == nil || !strings.Contains(err.Error(), "already running") {
		t.Errorf("got %v", err)
	}
	second.ended <- nil
	elsewhere := up(t, folder(t), base)
	if err := <-elsewhere.ended; err == nil || !strings.Contains(err.Error(), "needed by postgres, is in use") ||
		!strings.Contains(err.Error(), "LINKSTREAM_PORT_BASE") {
		t.Errorf("got %v", err)
	}
	elsewhere.ended <- nil

	var pids []int
	for _, name := range []string{"postgres", "redis-fra", "redis-ash", "broker", "clickhouse"} {
		pids = append(pids, first.pid(t, name))
	}
	if err := first.stop(t); err != nil {
		t.Error(err)
	}
	for _, pid := range pids {
		if supervise.Alive(pid) {
			t.Errorf("process %d is still there", pid)
		}
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "run", "*")); len(files) > 0 {
		t.Errorf("left: %v", files)
	}

	again := up(t, dir, base)
	again.waitReady(t)
	if err := exec("SELECT n FROM kept"); err != nil {
		t.Error(err)
	}
	if got := redis(t, fra, "GET kept"); !strings.HasPrefix(got, "$1\r\n1\r\n") {
		t.Errorf("redis answered %q", got)
	}

	// A killed Redis comes back empty rather than old, PostgreSQL with its data, both by themselves.
	for _, name := range []string{"redis-fra", "postgres"} {
		pid := again.pid(t, name)
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		again.eventually(t, name+" runs again", func() bool {
			now, err := supervise.ReadPid(supervise.PidFile(filepath.Join(dir, "run"), name))
			return err == nil && now != pid
		})
	}
	again.eventually(t, "PostgreSQL has its data", func() bool { return exec("SELECT n FROM kept") == nil })
	again.eventually(t, "Redis is empty", func() bool {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimSuffix(strings.TrimPrefix(fra, "redis://"), "/0"))
		if err != nil {
			return false
		}
		_ = conn.Close()
		return strings.HasPrefix(redis(t, fra, "GET kept"), "$-1")
	})

	close(again.force) // in a hurry: the orderly stop was tried above
	if err := again.stop(t); err != nil {
		t.Error(err)
	}
	other := filepath.Join(dir, "other")
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := stack.Clean(t.Context(), dir, console.New(again.output)); err != nil {
		t.Error(err)
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "*")); len(files) != 1 || files[0] != other {
		t.Errorf("left: %v", files)
	}
}

func TestMissingBinaryIsNamed(t *testing.T) {
	needStores(t)
	dir := folder(t)
	err := stack.Up(t.Context(), stack.Options{
		Dir: dir, Bin: filepath.Join(dir, "bin"), Getenv: func(string) string { return "" }, Console: console.New(&output{}),
	})
	for _, part := range []string{"not built yet", "broker", "migrate", "redirect", "make run"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in %v", part, err)
		}
	}
}

func TestMissingLibraryIsNamed(t *testing.T) {
	needStores(t)
	dir := folder(t)
	err := stack.Up(t.Context(), stack.Options{
		Dir: dir, Bin: builtBin(t), StoresOnly: true, Console: console.New(&output{}),
		Getenv: func(name string) string { return map[string]string{"LINKSTREAM_CHDB_LIB": "/nowhere/libchdb.so"}[name] },
	})
	if err == nil || !strings.Contains(err.Error(), "/nowhere/libchdb.so") || !strings.Contains(err.Error(), "install.sh") {
		t.Errorf("got %v", err)
	}
}

func TestBadSettingsStopTheStart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "made")
	err := stack.Up(t.Context(), stack.Options{
		Dir: dir, Getenv: func(name string) string { return map[string]string{"EDGES": "x"}[name] }, Console: console.New(&output{}),
	})
	if err == nil || !strings.Contains(err.Error(), "EDGES") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something was made: %v", err)
	}
}

func TestNothingToStopIsNoError(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	c := console.New(&output{})
	if err := errors.Join(stack.Down(t.Context(), dir, c), stack.Clean(t.Context(), dir, c), stack.Status(t.Context(), dir, c)); err != nil {
		t.Error(err)
	}
}
