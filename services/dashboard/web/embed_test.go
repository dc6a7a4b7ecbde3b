package web

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
)

const licences = "third-party-licences.txt"

func TestTheBuildCarriesTheLicencesOfWhatItContains(t *testing.T) {
	files, err := Dist()
	if err != nil {
		t.Fatal(err)
	}
	switch _, err := fs.Stat(files, "index.html"); {
	case errors.Is(err, fs.ErrNotExist) && os.Getenv("CI") == "":
		t.Skip("the web app is not built: run make web")
	case err != nil:
		t.Fatal(err)
	}
	text := read(t, files, licences)
	for _, want := range []string{
		"\n@fontsource-variable/inter ", "\nLicence: OFL-1.1\n", "The Inter Project Authors", "SIL OPEN FONT LICENSE",
		"\necharts ", "\nLicence: Apache-2.0\n", "--- NOTICE ---\n\nApache ECharts\n", "Copyright 2010-2016 Mike Bostock",
		"\nzrender ", "\nLicence: BSD-3-Clause\n",
		"\nreact ", "\nreact-dom ", "\ntailwindcss ", "\nvite ", "\nLicence: MIT\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s does not hold %q", licences, want)
		}
	}

	scripts, err := fs.Glob(files, "assets/*.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range scripts {
		if strings.Contains(read(t, files, script), "/"+licences) {
			return
		}
	}
	t.Errorf("no script links /%s", licences)
}

func read(t *testing.T, files fs.FS, name string) string {
	t.Helper()
	content, err := fs.ReadFile(files, name)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
