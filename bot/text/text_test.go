package text

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"labbot/bot/lab"
)

func TestCatalogueIsWhole(t *testing.T) {
	if _, err := load(files); err != nil {
		t.Fatal(err)
	}
}

func TestLoadRefuses(t *testing.T) {
	for name, c := range map[string]struct{ yaml, want string }{
		"half missing":     {`a.b: {ru: "да"}`, `the half "en" is missing`},
		"places differ":    {`a.b: {ru: "{x}", en: "{y}"}`, "places differ"},
		"plural missing":   {`a.b: {ru: {one: "1", few: "2"}, en: {one: "1", other: "2"}}`, `plural form "many"`},
		"key without dot":  {`a: {ru: "x", en: "x"}`, "topic.name"},
		"unknown language": {`a.b: {ru: "x", en: "x", de: "x"}`, "de"},
		"empty":            {`a.b: {ru: " ", en: "x"}`, "is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load(fstest.MapFS{"catalogue/x.yaml": {Data: []byte(c.yaml)}})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("load(%s) = %v, want an error with %q", c.yaml, err, c.want)
			}
		})
	}
}

func TestPlural(t *testing.T) {
	for n, want := range map[int]string{1: "one", 2: "few", 5: "many", 11: "many", 21: "one", 22: "few"} {
		if got := category(lab.RU, n); got != want {
			t.Errorf("category(ru, %d) = %q, want %q", n, got, want)
		}
	}
	for n, want := range map[int]string{0: "other", 1: "one", 2: "other"} {
		if got := category(lab.EN, n); got != want {
			t.Errorf("category(en, %d) = %q, want %q", n, got, want)
		}
	}
}

// TestEveryKeyInTheCodeExists reads the project's sources for calls such as
// text.T(lang, "topic.name") and looks each literal key up.
func TestEveryKeyInTheCodeExists(t *testing.T) {
	root := filepath.Join("..", "..")
	found := 0
	for _, dir := range []string{"bot", "cmd", "k8s", "scenarios"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && (d.Name() == "labcluster" || d.Name() == "testdata") {
				return filepath.SkipDir
			}
			if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return nil
			}
			for pos, key := range keysIn(t, path) {
				found++
				if !Has(key) {
					t.Errorf("%s: the catalogue has no %q", pos, key)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d keys in the code", found)
}

func keysIn(t *testing.T, path string) map[string]string {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]string{}
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		pkg, ok := sel.X.(*ast.Ident)
		at, known := map[string]int{"T": 1, "N": 1, "Both": 0}[sel.Sel.Name]
		if !ok || !known || pkg.Name != "text" || len(call.Args) <= at {
			return true
		}
		if lit, ok := call.Args[at].(*ast.BasicLit); ok && lit.Kind == token.STRING {
			key, _ := strconv.Unquote(lit.Value)
			keys[fset.Position(lit.Pos()).String()] = key
		}
		return true
	})
	return keys
}
