package engine

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"labbot/internal/golden"
)

// The schema for editors is generated from the types: after a change of the
// format run this test with -update.
func TestSchemaFileIsCurrent(t *testing.T) {
	schema := JSONSchema()
	var any map[string]any
	if err := json.Unmarshal(schema, &any); err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, filepath.Join("..", "..", "docs", "reference", "scenario.schema.json"), schema)
}

// The reference of the format names every action, function and field.
func TestReferenceIsWhole(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "scenario-format.md"))
	if err != nil {
		t.Fatal(err)
	}
	doc := string(raw)
	for kind := range actions {
		if kind != ActAssert && !strings.Contains(doc, "`"+string(kind)+"`") {
			t.Errorf("action %s is not described", kind)
		}
	}
	for _, f := range functionNames[:ownFunctions] {
		if !strings.Contains(doc, "`"+f+"(") {
			t.Errorf("function %s is not described", f)
		}
	}
	for _, typ := range []reflect.Type{
		reflect.TypeFor[Metadata](), reflect.TypeFor[Spec](), reflect.TypeFor[Requires](), reflect.TypeFor[Parameter](), reflect.TypeFor[ImageRule](),
		reflect.TypeFor[WatchSpec](), reflect.TypeFor[Assert](), reflect.TypeFor[FixSpec](), reflect.TypeFor[Button](), reflect.TypeFor[Accepted](),
		reflect.TypeFor[OracleItem](), reflect.TypeFor[Hint](), reflect.TypeFor[Move](), reflect.TypeFor[Question](),
	} {
		for _, f := range fieldsOf(typ) {
			if !strings.Contains(doc, "`"+f.name+"`") {
				t.Errorf("field %s.%s is not described", typ.Name(), f.name)
			}
		}
	}
}
