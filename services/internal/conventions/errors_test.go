package conventions_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Guards I49.
func TestTheTableOfErrorsIsWholeAndTested(t *testing.T) {
	table := readErrorTable(t)
	emitted, tests := map[string]string{}, strings.Builder{}
	err := filepath.WalkDir(filepath.Join(root, "services"), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == "conventions"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go"):
			return nil
		case strings.HasSuffix(path, "_test.go"):
			text, err := os.ReadFile(path)
			tests.Write(text)
			return err
		}
		return errorCodes(path, emitted)
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(emitted) < 30 {
		t.Fatalf("found %d codes only: %v", len(emitted), emitted)
	}
	for code, kind := range emitted {
		if table[code] != kind {
			t.Errorf("the code %s of kind %s is not in schemas/errors.json", code, kind)
		}
	}
	for code, kind := range table {
		if emitted[code] == "" {
			t.Errorf("nothing produces the %s %s of schemas/errors.json", kind, code)
		}
		// As a string of its own, or as a field's "name:code".
		named := regexp.MustCompile(`"(\w* ?[\w.\[\]-]+:)*` + code + `"|[\w\]]:` + code + `["\s` + "`" + `]`)
		if !named.MatchString(tests.String()) {
			t.Errorf("no test expects the %s %s", kind, code)
		}
	}
}

// readErrorTable returns the kind of each code.
func readErrorTable(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "schemas", "errors.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Codes []struct {
			Code, Kind, Meaning string
			Statuses            []int
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	table := map[string]string{}
	for _, c := range file.Codes {
		if table[c.Code] != "" || c.Meaning == "" || (c.Kind == "problem") != (len(c.Statuses) > 0) {
			t.Errorf("the entry of %s is repeated or incomplete", c.Code)
		}
		table[c.Code] = c.Kind
	}
	return table
}

// errorCodes collects the codes that a file names: in NewProblem(status, code, ...),
// in fields named Code, in constants of a type Code, in what codeFor returns, and in
// calls that note a wrong field: add(field, code, detail) and refuse(field, code, detail).
func errorCodes(path string, into map[string]string) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		return err
	}
	note := func(kind string, e ast.Expr) {
		if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if code, err := strconv.Unquote(lit.Value); err == nil {
				into[code] = kind
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Name.Name == "codeFor" {
				ast.Inspect(n, func(n ast.Node) bool {
					if r, ok := n.(*ast.ReturnStmt); ok {
						note("problem", r.Results[0])
					}
					return true
				})
			}
		case *ast.CallExpr:
			switch name := calledName(n); {
			case name == "NewProblem" && len(n.Args) == 3:
				note("problem", n.Args[1])
			case slices.Contains([]string{"add", "refuse"}, name) && len(n.Args) == 3:
				note("field", n.Args[1])
			}
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Code" {
				note("field", n.Value)
			}
		case *ast.AssignStmt:
			if to, ok := n.Lhs[0].(*ast.SelectorExpr); ok && to.Sel.Name == "Code" {
				note("field", n.Rhs[0])
			}
		case *ast.ValueSpec:
			if kind, ok := n.Type.(*ast.Ident); ok && kind.Name == "Code" {
				note("field", n.Values[0])
			}
		}
		return true
	})
	return nil
}

func calledName(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}
