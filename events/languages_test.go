package events_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/linkstream/linkstream/events"
)

// The README's program in another language, run on the golden example of each change.
func readmeProgram(t *testing.T, language string, command func(program string) *exec.Cmd) {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)```" + language + "\n(.*?)```").FindSubmatch(text)
	if found == nil {
		t.Fatalf("README.md has no program in %s", language)
	}
	files, err := filepath.Glob("../schemas/examples/link_changed/*.binpb")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, file := range files {
		value, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		link, err := events.DecodeLinkChanged(&kgo.Record{Value: value})
		if err != nil {
			t.Fatal(err)
		}
		cmd := command(string(found[1]))
		cmd.Dir = ".." // where schemas/ is
		cmd.Stdin = bytes.NewReader(value)
		got, err := cmd.CombinedOutput()
		want := fmt.Sprintf("%s %d %s %s\n", hex.EncodeToString(link.GetLinkId()), link.GetVersion(), link.GetAddress().GetSlug(), link.GetDestination())
		if err != nil || string(got) != want {
			t.Errorf("%s: %v, printed %q, want %q", filepath.Base(file), err, got, want)
		}
	}
}

func TestReadmePythonReadsTheExamples(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not there")
	}
	readmeProgram(t, "python", func(program string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), python, "-c", program)
		cmd.Env = append(os.Environ(), "PYTHONIOENCODING=utf-8")
		return cmd
	})
}

func TestReadmeNodeReadsTheExamples(t *testing.T) {
	modules := os.Getenv("LINKSTREAM_TEST_PROTOBUFJS")
	if modules == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("LINKSTREAM_TEST_PROTOBUFJS is not set")
		}
		t.Skip("LINKSTREAM_TEST_PROTOBUFJS is not set: make test-go does")
	}
	readmeProgram(t, "js", func(program string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), "node", "-e", program)
		cmd.Env = append(os.Environ(), "NODE_PATH="+modules)
		return cmd
	})
}
