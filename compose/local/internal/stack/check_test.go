package stack

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/linkstream/linkstream/compose/local/internal/plan"
)

func TestFullDiskIsSaid(t *testing.T) {
	dir := t.TempDir()
	if err := checkDisk(dir, 1); err != nil {
		t.Error(err)
	}
	err := checkDisk(dir, 1<<62)
	if err == nil || !strings.Contains(err.Error(), "nearly full") || !strings.Contains(err.Error(), dir) {
		t.Errorf("got %v", err)
	}
}

func TestTailShowsTheLastLines(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.log")
	check := func(content, want string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := tail(file, 2); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	check("a\nb\nc\n", "  | b\n  | c")
	check("a", "  | a")
	check(strings.Repeat("x", 100_000)+"\nlast\n", "  | "+strings.Repeat("x", 16<<10-6)+"\n  | last")
}

func TestLockIsHeldOnce(t *testing.T) {
	f, err := openFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	first, err := f.lock()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.lock(); err == nil || !strings.Contains(err.Error(), "already running") {
		t.Errorf("got %v", err)
	}
	first.release()
	second, err := f.lock()
	if err != nil {
		t.Fatal(err)
	}
	second.release()
}

func TestDataOfAnotherBrokerAreNotTakenOver(t *testing.T) {
	embedded, apache := plan.Settings{Root: t.TempDir()}, plan.Settings{Root: t.TempDir(), Broker: plan.KafkaBroker}
	check := func(s plan.Settings, wanted ...string) {
		t.Helper()
		err := checkBrokerData(s)
		if len(wanted) == 0 && err != nil {
			t.Errorf("refused: %v", err)
		}
		for _, want := range wanted {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q is not in %v", want, err)
			}
		}
	}
	check(embedded)
	check(apache)
	for _, s := range []plan.Settings{embedded, apache} {
		if err := os.MkdirAll(s.BrokerData(s.Broker), 0o700); err != nil {
			t.Fatal(err)
		}
		check(s)
	}
	embedded.Broker, apache.Broker = plan.KafkaBroker, plan.EmbeddedBroker
	check(embedded, embedded.Root, `of the broker "embedded"`, "--dir", "make clean")
	check(apache, apache.Root, `of the broker "kafka"`)
}

func TestPathsArePastable(t *testing.T) {
	check := func(path, want string) {
		t.Helper()
		if got := shellPath(path); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	check("/home/a/.local/dev.env", "/home/a/.local/dev.env")
	check("/home/a b/dev.env", "'/home/a b/dev.env'")
	check("/it's", `'/it'\''s'`)
}
