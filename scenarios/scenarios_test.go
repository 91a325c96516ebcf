package scenarios

import (
	"strings"
	"testing"
	"testing/fstest"
)

func TestLibraryLoads(t *testing.T) {
	r, err := Library()
	if err != nil {
		t.Fatalf("the shipped library:\n%v", err)
	}
	if got := strings.Join(r.Names(), " "); got != "break-image reconcile" {
		t.Errorf("names: %s", got)
	}
	if got := r.List()[0].Name(); got != "reconcile" {
		t.Errorf("the easiest comes first, not %s", got)
	}
	if got := r.Nearest("brake-image"); got != "break-image" {
		t.Errorf("Nearest = %q", got)
	}
	if _, ok := r.Find("no-such"); ok {
		t.Error("found a scenario that is not there")
	}
}

func TestOneBadFileDoesNotTakeTheOthersAway(t *testing.T) {
	bad := fstest.MapFS{
		"oops/scenario.yaml":        {Data: []byte("kind: Nothing\n")},
		"wrong-place/scenario.yaml": mustRead(t, "reconcile/scenario.yaml"),
	}
	r, err := Load(Files(), bad)
	if err == nil {
		t.Fatal("two bad files were taken")
	}
	for _, want := range []string{"oops/scenario.yaml:1:", `"wrong-place"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not name %s:\n%v", want, err)
		}
	}
	if len(r.Names()) != 2 {
		t.Errorf("left are %v", r.Names())
	}
}

func mustRead(t *testing.T, name string) *fstest.MapFile {
	t.Helper()
	raw, err := files.ReadFile("library/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return &fstest.MapFile{Data: raw}
}
