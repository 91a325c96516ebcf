package golden

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// recorder stands for a test under test: it keeps what was reported.
type recorder struct {
	testing.TB
	failed string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) { r.failed = format }

func (r *recorder) Fatalf(format string, args ...any) {
	r.failed = format
	runtime.Goexit()
}

func run(f func(t testing.TB)) (failed string) {
	r := &recorder{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(r)
	}()
	<-done
	return r.failed
}

func TestEqual(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.golden")
	if got := run(func(tb testing.TB) { Equal(tb, path, "a") }); !strings.Contains(got, "missing") {
		t.Errorf("Equal without a file reported %q, want that it is missing", got)
	}
	if err := os.WriteFile(path, []byte("{\n  \"a\": \"<b>\"\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := run(func(tb testing.TB) { Equal(tb, path, map[string]string{"a": "<b>"}) }); got != "" {
		t.Errorf("Equal of the same value reported %q", got)
	}
	if got := run(func(tb testing.TB) { Equal(tb, path, map[string]string{"a": "c"}) }); !strings.Contains(got, "differs") {
		t.Errorf("Equal of another value reported %q, want a difference", got)
	}
}

func TestLoadRefusesUnknownFields(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.json")
	if err := os.WriteFile(path, []byte(`{"A": 1, "B": 2}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := run(func(tb testing.TB) { Load[struct{ A int }](tb, path) }); got == "" {
		t.Error("Load took a field that the type does not have")
	}
	if got := Load[struct{ A, B int }](t, path); got.A != 1 || got.B != 2 {
		t.Errorf("Load = %+v", got)
	}
}
