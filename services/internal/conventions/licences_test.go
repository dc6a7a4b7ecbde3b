package conventions_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// list is whose code our programs hold. Each program's own copy of the texts is in
// its modules; the web app's are bundled by its build.
const list = root + "/services/third-party.md"

var update = flag.Bool("update", false, "write services/third-party.md anew")

// licences that a program under Apache-2.0 may hold, by sentences that only they
// have. The first that fits counts, so the longer ones come first.
var licences = []struct {
	id       string
	sentence []string
}{
	{"Apache-2.0", []string{"Apache License", "Version 2.0"}},
	{"MPL-2.0", []string{"Mozilla Public License Version 2.0"}},
	{"BSD-3-Clause", []string{"Redistribution and use in source and binary forms", "Neither the name"}},
	{"BSD-3-Clause", []string{"Redistribution and use in source and binary forms", "names of its contributors may"}},
	{"BSD-2-Clause", []string{"Redistribution and use in source and binary forms"}},
	{"ISC", []string{"Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee"}},
	{"ISC", []string{"Permission to use, copy, modify, and distribute this software for any purpose with or without fee"}},
	{"MIT", []string{"Permission is hereby granted, free of charge"}},
	{"Unlicense", []string{"This is free and unencumbered software released into the public domain"}},
	{"CC0-1.0", []string{"CC0 1.0 Universal"}},
}

func TestWhoseCodeWeShipIsListed(t *testing.T) {
	programs := map[string][]string{} // by module and version
	folders := map[string]string{}
	for _, pattern := range []string{"events/cmd/*", "migrations/cmd/*", "services/*/cmd/*"} {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			for module, folder := range modulesOf(t, path) {
				programs[module] = append(programs[module], filepath.Base(path))
				folders[module] = folder
			}
		}
	}
	if len(programs) < 40 {
		t.Fatalf("found %d modules only", len(programs))
	}
	var modules []string
	for module := range programs {
		modules = append(modules, module)
	}
	slices.Sort(modules)
	var text strings.Builder
	text.WriteString("# Whose code is in the programs\n\nWritten by `go test ./services/internal/conventions -run Ship -update`. The web app's are in its own\n" +
		"`/third-party-licences.txt`. Files in Go's module cache hold the texts.\n\n| module | licence | in |\n|---|---|---|\n")
	for _, module := range modules {
		in := programs[module]
		slices.Sort(in)
		fmt.Fprintf(&text, "| %s | %s | %s |\n", module, licenceOf(t, module, folders[module]), strings.Join(slices.Compact(in), ", "))
	}
	if *update {
		if err := os.WriteFile(list, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(list); err != nil || string(got) != text.String() {
		t.Errorf("services/third-party.md is not what the programs hold (%v): run `go test ./services/internal/conventions -run Ship -update`", err)
	}
}

// modulesOf are the modules of others that a program is built from, "path version",
// and where they are.
func modulesOf(t *testing.T, program string) map[string]string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{if .Version}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}{{end}}", ".")
	cmd.Dir = program
	// For one system, so that the list does not depend on who writes it.
	cmd.Env = append(cmd.Environ(), "GOWORK=off", "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("listing what %s depends on: %v", program, err)
	}
	modules := map[string]string{}
	for line := range strings.Lines(string(out)) {
		module, folder, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if ok && !strings.HasPrefix(module, "github.com/linkstream/linkstream/") {
			modules[module] = folder
		}
	}
	return modules
}

func licenceOf(t *testing.T, module, folder string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "[LlCU][iIoON][cCpPL]*")) // LICENSE, LICENCE, Copying, UNLICENSE
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // a folder of that name
		}
		words := strings.Join(strings.Fields(string(text)), " ")
		for _, l := range licences {
			if !slices.ContainsFunc(l.sentence, func(s string) bool { return !strings.Contains(words, s) }) {
				return l.id
			}
		}
	}
	t.Errorf("%s: no licence that we know in %v: read it, and add it here if our programs may hold it", module, files)
	return "?"
}
