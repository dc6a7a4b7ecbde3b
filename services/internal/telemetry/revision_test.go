package telemetry_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/linkstream/linkstream/services/internal/telemetry"
)

const linked = "github.com/linkstream/linkstream/services/internal/telemetry.revision="

// What is linked in is what build_info says. The test runs itself, linked anew.
func TestTheRevisionIsTheOneThatWasLinked(t *testing.T) {
	if want := os.Getenv("LINKSTREAM_TEST_REVISION"); want != "" {
		families, err := telemetry.NewRegistry().Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			if f.GetName() == "build_info" && f.GetMetric()[0].GetLabel()[0].GetValue() == want {
				return
			}
		}
		t.Fatalf("build_info does not say %q", want)
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-run=^"+t.Name()+"$", "-ldflags=-X "+linked+"0123abc-dirty", ".")
	cmd.Env = append(os.Environ(), "LINKSTREAM_TEST_REVISION=0123abc-dirty")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// Whoever builds programs to be run names the variable that there is.
func TestEveryBuildLinksTheRevision(t *testing.T) {
	for _, file := range []string{"../../../Makefile", "../../../compose/Dockerfile"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "-X "+linked) {
			t.Errorf("%s does not link it", file)
		}
	}
}
