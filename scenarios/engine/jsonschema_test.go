package engine_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"labbot/scenarios"
	"labbot/scenarios/engine"
)

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(engine.JSONSchema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("scenario.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("scenario.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// An editor must take what the loader takes, and mark common mistakes.
func TestSchemaTakesWhatTheLoaderTakes(t *testing.T) {
	s := compileSchema(t)
	lib, err := scenarios.Library()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range lib.Names() {
		if err := s.Validate(asJSON(t, shipped(t, name))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	good := shipped(t, "break-image")
	for old, wrong := range map[string]string{
		"kind: Scenario":             "kind: Scenery",
		"mode: exact":                "mode: exactly",
		"setImage: {of":              "setImgae: {of",
		"enableAfter: history":       "enableafter: history",
		", en: \"Wrong image tag\"}": "}",
		"timeout: 20s":               "timeout: soon",
		"to: baseline}":              "too: baseline}",
	} {
		if err := s.Validate(asJSON(t, strings.Replace(good, old, wrong, 1))); err == nil {
			t.Errorf("%q is not marked", wrong)
		}
	}
}

func asJSON(t *testing.T, file string) any {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(file), &v); err != nil {
		t.Fatal(err)
	}
	return v
}
