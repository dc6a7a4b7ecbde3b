package conventions_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../../.."

func TestEveryPackageHasADocComment(t *testing.T) {
	documented := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && (name == "node_modules" || (strings.HasPrefix(name, ".") && path != root)) {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, ".pb.go") || strings.HasSuffix(name, ".connect.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		dir := filepath.Dir(path)
		documented[dir] = documented[dir] || file.Doc != nil
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(documented) < 40 {
		t.Fatalf("found %d packages only: %v", len(documented), documented)
	}
	for dir, ok := range documented {
		if !ok {
			t.Errorf("%s has no package comment", dir)
		}
	}
}

var (
	row   = regexp.MustCompile(`(?m)^\| (I\d+) \|.*$`)
	guard = regexp.MustCompile(`\[(Test\w+)\]\(([^)]+)\)`)
)

func TestEveryInvariantHasItsTests(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "services", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := row.FindAllSubmatch(page, -1)
	if len(rows) == 0 {
		t.Fatal("services/README.md lists no invariants")
	}
	for _, r := range rows {
		number, line := string(r[1]), string(r[0])
		guards := guard.FindAllStringSubmatch(line, -1)
		if len(guards) == 0 {
			t.Errorf("%s names no test", number)
		}
		for _, g := range guards {
			text, err := os.ReadFile(filepath.Join(root, "services", g[2]))
			if err != nil {
				t.Errorf("%s: %v", number, err)
				continue
			}
			comment := regexp.MustCompile(`(?m)^// Guards [^\n]*\b` + number + `\b[^\n]*\nfunc ` + g[1] + `\(t `)
			if !comment.Match(text) {
				t.Errorf("%s: %s has no test %s with the comment \"Guards %s\"", number, g[2], g[1], number)
			}
		}
	}
}
