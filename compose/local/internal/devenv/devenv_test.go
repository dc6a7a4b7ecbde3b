package devenv_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/linkstream/linkstream/compose/local/internal/devenv"
)

func TestShellAndReaderSeeTheSameValues(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dev.env")
	check := func(value, line string) {
		t.Helper()
		if err := devenv.Write(path, []devenv.Pair{{Name: "A", Value: value}, {Name: "B", Value: "b"}}); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil || string(text) != line+"\nB=b\n" {
			t.Errorf("%q is written as %q, %v", value, text, err)
		}
		values, err := devenv.Read(path)
		if err != nil || values["A"] != value || values["B"] != "b" || len(values) != 2 {
			t.Errorf("%q is read as %v, %v", value, values, err)
		}
		shell, err := exec.CommandContext(t.Context(), "sh", "-c", `. "$0"; printf %s "$A"`, path).Output()
		if err != nil || string(shell) != value {
			t.Errorf("%q is %q to a shell, %v", value, shell, err)
		}
	}
	check("", "A=")
	check("plain", "A=plain")
	check("postgres://u@127.0.0.1:5432/db?sslmode=disable", "A=postgres://u@127.0.0.1:5432/db?sslmode=disable")
	check("fra=redis://x,ash=redis://y", "A=fra=redis://x,ash=redis://y")
	check("two words", "A='two words'")
	check("$HOME `x` \\ \"", "A='$HOME `x` \\ \"'")
	check("it's", `A='it'\''s'`)
}

func TestOnlyTheOwnerReadsIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dev.env")
	if err := devenv.Write(path, nil); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestLineEndIsRefused(t *testing.T) {
	if err := devenv.Write(filepath.Join(t.TempDir(), "dev.env"), []devenv.Pair{{Name: "A", Value: "x\nB=y"}}); err == nil {
		t.Error("it was written")
	}
}

func TestMissingFileHasNoValues(t *testing.T) {
	values, err := devenv.Read(filepath.Join(t.TempDir(), "dev.env"))
	if err != nil || len(values) != 0 {
		t.Errorf("got %v, %v", values, err)
	}
}
