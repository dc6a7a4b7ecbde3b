package kafka_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/linkstream/linkstream/compose/local/internal/kafka"
)

func TestFetchScriptFetchesThisVersion(t *testing.T) {
	pom, err := os.ReadFile("../../kafka/pom.xml")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`<kafka\.version>(.*)</kafka\.version>`).FindSubmatch(pom)
	if version == nil || string(version[1]) != kafka.Version {
		t.Errorf("pom.xml names %s, this module wants %s", version, kafka.Version)
	}
}

// write makes a file and the directories above it.
func write(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, mode); err != nil {
		t.Fatal(err)
	}
}

func TestWhatIsMissingIsNamedWithItsCure(t *testing.T) {
	home := t.TempDir()
	path := t.TempDir()
	t.Setenv("PATH", path)
	find := func(environ map[string]string) (kafka.Runtime, error) {
		return kafka.Find(func(name string) string { return environ[name] })
	}
	refused := func(environ map[string]string, parts ...string) {
		t.Helper()
		_, err := find(environ)
		for _, part := range append(parts, "compose/local/kafka/fetch.sh", "make test-kafka") {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%v: %q is not in %v", environ, part, err)
			}
		}
	}
	found := func(environ map[string]string, want kafka.Runtime) {
		t.Helper()
		got, err := find(environ)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v: %v\n%s", environ, err, diff)
		}
	}
	jars := filepath.Join(home, ".cache", "linkstream", "kafka", kafka.Version)
	java := filepath.Join(path, "java")

	refused(map[string]string{"HOME": home}, "java is not installed")
	write(t, java, 0o700)
	refused(map[string]string{"HOME": home}, "Apache Kafka is missing", jars)
	write(t, filepath.Join(jars, "kafka_2.13-"+kafka.Version+".jar"), 0o600)
	found(map[string]string{"HOME": home}, kafka.Runtime{Java: java, Jars: jars})
	found(map[string]string{"XDG_CACHE_HOME": filepath.Join(home, ".cache")}, kafka.Runtime{Java: java, Jars: jars})
	refused(map[string]string{"HOME": home, "XDG_CACHE_HOME": "/c"}, "/c/linkstream/kafka/"+kafka.Version)
}

func TestDataDirectoryIsFormattedOnceAndWhole(t *testing.T) {
	server := kafka.Server{
		Runtime: kafka.Runtime{Java: "/bin/java", Jars: "/jars"},
		Dir:     filepath.Join(t.TempDir(), "data", "kafka"), Port: 1, ControllerPort: 2,
	}
	runs := 0
	format := func(result error) kafka.Command {
		return func(_ context.Context, dir, path string, args ...string) error {
			runs++
			line := strings.Join(append([]string{path}, args...), " ")
			for _, part := range []string{"/bin/java -Xmx512m ", " -cp /jars/* kafka.tools.StorageTool format --cluster-id "} {
				if !strings.Contains(line, part) {
					t.Errorf("%q is not in %s", part, line)
				}
			}
			if dir == server.Dir {
				t.Error("formats in place")
			}
			write(t, filepath.Join(dir, "log", "meta.properties"), 0o600)
			return result
		}
	}
	there := func(name string) bool {
		_, err := os.Stat(filepath.Join(server.Dir, name))
		return err == nil
	}

	interrupted := errors.New("interrupted")
	if err := server.Init(t.Context(), format(interrupted)); !errors.Is(err, interrupted) {
		t.Errorf("got %v", err)
	}
	if there(".") {
		t.Error("an unfinished directory is in place")
	}
	for range 2 { // the second finds it
		if err := server.Init(t.Context(), format(nil)); err != nil {
			t.Error(err)
		}
	}
	if runs != 2 || !there("log/meta.properties") {
		t.Errorf("formatted %d times, there: %v", runs, there("log/meta.properties"))
	}
}

func TestEachStartHasTheSettingsOfItsTime(t *testing.T) {
	server := kafka.Server{Dir: filepath.Join(t.TempDir(), "kafka"), Port: 19092, ControllerPort: 19093}
	check := func(wanted ...string) {
		t.Helper()
		if err := server.Prepare(); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(server.Dir, "server.properties"))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range wanted {
			if !strings.Contains(string(text), "\n"+want+"\n") {
				t.Errorf("%q is not in\n%s", want, text)
			}
		}
	}
	check(
		"process.roles=broker,controller",
		"listeners=CLIENTS://127.0.0.1:19092,CONTROLLER://127.0.0.1:19093",
		"advertised.listeners=CLIENTS://127.0.0.1:19092",
		"controller.quorum.voters=1@127.0.0.1:19093",
		"auto.create.topics.enable=false",
		"offsets.topic.replication.factor=1",
		"transaction.state.log.replication.factor=1",
		"transaction.state.log.min.isr=1",
		"group.initial.rebalance.delay.ms=0",
		"log.dirs=log",
	)

	unpacked := filepath.Join(server.Dir, "tmp", "libzstd-jni.so") // by a Java that was killed
	write(t, unpacked, 0o600)
	server.Port, server.ControllerPort = 20092, 20093
	check("listeners=CLIENTS://127.0.0.1:20092,CONTROLLER://127.0.0.1:20093", "controller.quorum.voters=1@127.0.0.1:20093")
	if _, err := os.Stat(unpacked); err == nil {
		t.Error("temporary files are kept")
	}
}
