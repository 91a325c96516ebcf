// Package golden compares what a test got with a file beside the test.
//
// It is for tests only. `go test ./some/package -update` writes the files anew;
// the difference is then reviewed like code.
package golden

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// Equal fails the test when got differs from the file at path. A string or
// []byte is compared as it is, any other value as indented JSON.
func Equal(t testing.TB, path string, got any) {
	t.Helper()
	text, err := encode(got)
	if err != nil {
		t.Fatalf("golden %s: %v", path, err)
	}
	if *update {
		write(t, path, text)
		return
	}
	want, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("golden %s is missing: run the test with -update and review the file", path)
	}
	if err != nil {
		t.Fatalf("golden: %v", err)
	}
	if diff := cmp.Diff(string(want), string(text)); diff != "" {
		t.Errorf("%s differs (-want +got), -update writes it anew:\n%s", path, diff)
	}
}

// Load reads the JSON file at path into a T. Unknown fields fail the test, so
// that a fixture does not outlive the type it was made for.
func Load[T any](t testing.TB, path string) T {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("golden: %v", err)
	}
	var v T
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("golden: %s: %v", path, err)
	}
	return v
}

func encode(v any) ([]byte, error) {
	switch v := v.(type) {
	case string:
		return []byte(v), nil
	case []byte:
		return v, nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // the file is for people
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	return b.Bytes(), err
}

func write(t testing.TB, path string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatalf("golden: %v", err)
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatalf("golden: %v", err)
	}
}
