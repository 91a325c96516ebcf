package engine

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// JSONSchema gives the JSON Schema (2020-12) of the scenario format, made from
// the same Go types that the loader reads, for completion in editors. What only
// the loader can know, such as names of watches, it does not hold.
func JSONSchema() []byte {
	g := &schemaMaker{defs: map[string]any{}}
	root := g.object(reflect.TypeFor[Scenario]())
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "labbot scenario"
	root["properties"].(map[string]any)["apiVersion"].(map[string]any)["const"] = APIVersion
	root["properties"].(map[string]any)["kind"].(map[string]any)["const"] = "Scenario"
	root["$defs"] = g.defs
	raw, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		panic(err) // a broken constant: only maps, lists and words
	}
	return append(raw, '\n')
}

type schemaMaker struct{ defs map[string]any }

const durationPattern = `^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`

// of gives the schema of a Go type of the format.
func (g *schemaMaker) of(t reflect.Type, enum string) map[string]any {
	switch t {
	case typeText:
		half := map[string]any{"type": "string", "minLength": 1, "maxLength": maxText}
		return g.def("text", map[string]any{
			"type": "object", "required": []string{"ru", "en"}, "additionalProperties": false,
			"properties": map[string]any{"ru": half, "en": half},
		})
	case typeExpr:
		return map[string]any{"type": "string", "minLength": 1, "maxLength": maxExpr}
	case typeValue:
		return map[string]any{"type": []string{"string", "integer", "boolean"}}
	case typeDuration:
		return map[string]any{"type": "string", "pattern": durationPattern}
	case typeStep:
		return g.step()
	case typeExpect:
		return g.expect()
	case typeRight:
		expr := map[string]any{"type": "object", "required": []string{"expr"}, "properties": map[string]any{"expr": map[string]any{"type": "string"}}}
		return map[string]any{"anyOf": []any{
			map[string]any{"type": "array", "items": map[string]any{"type": "string"}},
			map[string]any{"type": []string{"string", "integer", "boolean"}}, expr,
		}}
	case typeObject:
		return map[string]any{"type": "object"}
	}
	return g.plain(t, enum)
}

func (g *schemaMaker) plain(t reflect.Type, enum string) map[string]any {
	switch t.Kind() {
	case reflect.Pointer:
		return g.of(t.Elem(), enum)
	case reflect.Slice:
		return map[string]any{"type": "array", "items": g.of(t.Elem(), enum)}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": g.of(t.Elem(), "")}
	case reflect.Int:
		return map[string]any{"type": "integer", "minimum": 0}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.String:
		s := map[string]any{"type": "string"}
		if enum != "" {
			s["enum"] = strings.Split(enum, ",")
		}
		return s
	}
	return g.def(strings.ToLower(t.Name()[:1])+t.Name()[1:], g.object(t))
}

// def keeps a schema under $defs and refers to it.
func (g *schemaMaker) def(name string, s map[string]any) map[string]any {
	g.defs[name] = s
	return map[string]any{"$ref": "#/$defs/" + name}
}

func (g *schemaMaker) object(t reflect.Type) map[string]any {
	props, required := map[string]any{}, []string{}
	for _, f := range fieldsOf(t) {
		s := g.of(t.Field(f.index).Type, f.enum)
		if f.doc != "" {
			s["description"] = f.doc
		}
		props[f.name] = s
		if f.required {
			required = append(required, f.name)
		}
	}
	o := map[string]any{"type": "object", "properties": props, "additionalProperties": false}
	if len(required) > 0 {
		o["required"] = required
	}
	return o
}

func (g *schemaMaker) step() map[string]any {
	if _, done := g.defs["step"]; done {
		return map[string]any{"$ref": "#/$defs/step"}
	}
	props := map[string]any{
		"id":      map[string]any{"type": "string", "pattern": idForm.String(), "description": "Unique in the scenario."},
		"expect":  g.expect(),
		"assert":  map[string]any{"type": "array", "items": g.of(reflect.TypeFor[Assert](), ""), "description": "What must hold."},
		"say":     g.of(typeText, ""),
		"timeout": map[string]any{"type": "string", "pattern": durationPattern, "description": "How long the action may take."},
	}
	either := []any{}
	for _, kind := range slices.Sorted(maps.Keys(actions)) {
		if kind == ActAssert {
			continue
		}
		s := g.of(actions[kind].args, "")
		s["description"] = actions[kind].about
		props[string(kind)] = s
		either = append(either, map[string]any{"required": []string{string(kind)}})
	}
	return g.def("step", map[string]any{
		"type": "object", "required": []string{"id"}, "properties": props, "additionalProperties": false,
		"anyOf": append(either, map[string]any{"required": []string{"assert"}}),
	})
}

func (g *schemaMaker) expect() map[string]any {
	reason := func(doc string) map[string]any {
		return map[string]any{"type": "string", "description": doc}
	}
	return map[string]any{"description": "The outcome that the step must have; done unless given.", "anyOf": []any{
		map[string]any{"enum": []string{"done", "timeout"}},
		map[string]any{"type": "object", "additionalProperties": false, "minProperties": 1, "maxProperties": 1, "properties": map[string]any{
			"error": reason("A reason of the API, such as NotFound."), "condition": reason("A condition's reason."),
		}},
	}}
}
