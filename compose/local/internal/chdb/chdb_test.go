package chdb_test

import (
	"errors"
	"io/fs"
	"os"
	"regexp"
	"testing"

	"github.com/linkstream/linkstream/compose/local/internal/chdb"
)

func TestInstallScriptFetchesThisVersion(t *testing.T) {
	script, err := os.ReadFile("../../install.sh")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^CHDB_VERSION=(.*)$`).FindSubmatch(script)
	if version == nil || string(version[1]) != chdb.Version {
		t.Errorf("install.sh fetches %s, this module wants %s", version, chdb.Version)
	}
}

func TestLibraryIsLookedForWhereItIsInstalled(t *testing.T) {
	check := func(environ map[string]string, want string) {
		t.Helper()
		if got := chdb.Path(func(name string) string { return environ[name] }); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	check(map[string]string{"HOME": "/h"}, "/h/.cache/linkstream/chdb/"+chdb.Version+"/libchdb.so")
	check(map[string]string{"HOME": "/h", "XDG_CACHE_HOME": "/c"}, "/c/linkstream/chdb/"+chdb.Version+"/libchdb.so")
	check(map[string]string{"HOME": "/h", "LINKSTREAM_CHDB_LIB": "/l.so"}, "/l.so")
}

func TestMissingOrForeignLibraryIsAnError(t *testing.T) {
	if _, err := chdb.Load("/nowhere/libchdb.so"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	text := t.TempDir() + "/libchdb.so"
	if err := os.WriteFile(text, []byte("not a library"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := chdb.Load(text); err == nil {
		t.Error("a text file was loaded")
	}
}
