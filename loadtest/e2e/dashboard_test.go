package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestTheDashboardInABrowser has Chromium do what a marketing team does, on a stack of
// its own: every page in both themes, wide and narrow, with axe-core; then a link's life
// from its creation to its export. The facts are in services/dashboard/web/browser.
//
// Guards I81, I82, I83.
func TestTheDashboardInABrowser(t *testing.T) {
	web, err := filepath.Abs("../../services/dashboard/web")
	if err != nil {
		t.Fatal(err)
	}
	missing := ""
	if _, err := exec.LookPath("chromium"); err != nil {
		missing = "chromium is not there: apt-get install chromium"
	} else if _, err := os.Stat(filepath.Join(web, "node_modules", "playwright-core")); err != nil {
		missing = "the web app's packages are not there: run `make web`"
	}
	if missing != "" {
		if os.Getenv("CI") != "" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	s := newStack(t)
	cmd := exec.CommandContext(t.Context(), "npm", "run", "--silent", "browser")
	cmd.Dir = web
	cmd.Env = os.Environ()
	for name, value := range s.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	output, err := cmd.CombinedOutput()
	t.Logf("%s", output)
	if err != nil {
		t.Fatalf("in the browser: %v", err)
	}
}
