package engine

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"labbot/bot/text"
)

// Object is a manifest or a part of one, as written in a scenario. String
// leaves may be references.
type Object map[string]any

// stepRest are the fields that a step may have with any action.
var stepRest = []string{"id", "expect", "assert", "say", "timeout"}

func (d *decoder) step(n *yaml.Node, path string) Step {
	st := Step{Pos: Pos{n.Line, n.Column}}
	d.pairs(n, path, func(key, val *yaml.Node) {
		at := join(path, key.Value)
		switch key.Value {
		case "id":
			d.value(reflect.ValueOf(&st.ID).Elem(), val, at, "")
		case "expect":
			d.value(reflect.ValueOf(&st.Expect).Elem(), val, at, "")
		case "assert":
			d.value(reflect.ValueOf(&st.Assert).Elem(), val, at, "")
		case "say":
			d.value(reflect.ValueOf(&st.Say).Elem(), val, at, "")
		case "timeout":
			d.value(reflect.ValueOf(&st.Timeout).Elem(), val, at, "")
		default:
			d.action(&st, key, val, path)
		}
	})
	if n.Kind == yaml.MappingNode {
		if st.ID == "" {
			d.fail(n, join(path, "id"), text.Both("scenario.missing", "field", "id", "about", "Unique in the scenario."), "")
		}
		if st.Action == "" {
			st.Action = ActAssert
			if len(st.Assert) == 0 && len(d.problems) == 0 {
				d.fail(n, path, text.Both("scenario.step-empty"), "")
			}
		}
	}
	return st
}

func (d *decoder) action(st *Step, key, val *yaml.Node, path string) {
	kind := ActionKind(key.Value)
	def, ok := actions[kind]
	switch {
	case !ok && slices.Contains(notYet, kind):
		d.fail(key, join(path, key.Value), text.Both("scenario.not-yet", "action", key.Value), "")
		st.Action = kind
		return
	case !ok:
		d.unknownField(key, path, append(slices.Clone(stepRest), actionNames()...))
		st.Action = kind
		return
	case st.Action != "":
		d.fail(key, join(path, key.Value), text.Both("scenario.two-actions", "first", string(st.Action), "second", key.Value), "")
		return
	}
	args := reflect.New(def.args)
	d.value(args.Elem(), val, join(path, key.Value), "")
	st.Action, st.Args = kind, args.Interface()
}

func actionNames() []string {
	names := make([]string, 0, len(actions))
	for k := range actions {
		names = append(names, string(k))
	}
	slices.Sort(names)
	return names
}

func (d *decoder) expect(n *yaml.Node, path string) Expect {
	if n.Kind == yaml.ScalarNode {
		s := d.scalar(n, path, maxString)
		d.word(n, path, s, "done,timeout")
		return Expect{Timeout: s == "timeout"}
	}
	var e struct {
		Error     string `yaml:"error"`
		Condition string `yaml:"condition"`
	}
	d.fields(reflect.ValueOf(&e).Elem(), n, path)
	if (e.Error == "") == (e.Condition == "") {
		d.fail(n, path, text.Both("scenario.expect-one"), "")
	}
	return Expect{Error: e.Error, Condition: e.Condition}
}

func (d *decoder) right(n *yaml.Node, path string) Right {
	switch n.Kind {
	case yaml.SequenceNode:
		var ids []string
		d.list(reflect.ValueOf(&ids).Elem(), n, path, "")
		return Right{IDs: ids}
	case yaml.MappingNode:
		var e struct {
			Expr Expr `yaml:"expr,required" doc:"CEL over the run's snapshots."`
		}
		d.fields(reflect.ValueOf(&e).Elem(), n, path)
		return Right{Expr: e.Expr}
	}
	return Right{Value: d.any(n, path)}
}

func (d *decoder) object(n *yaml.Node, path string) Object {
	if n.Kind != yaml.MappingNode {
		d.fail(n, path, text.Both("scenario.want-mapping"), "")
		return nil
	}
	m, _ := d.tree(n, path).(map[string]any)
	return m
}

// tree decodes free YAML to JSON's types, with whole numbers as int64.
func (d *decoder) tree(n *yaml.Node, path string) any {
	switch n.Kind {
	case yaml.MappingNode:
		m := map[string]any{}
		d.pairs(n, path, func(key, val *yaml.Node) {
			m[key.Value] = d.tree(val, join(path, key.Value))
		})
		return m
	case yaml.SequenceNode:
		l := make([]any, len(n.Content))
		for i, c := range n.Content {
			l[i] = d.tree(c, path+"["+strconv.Itoa(i)+"]")
		}
		return l
	}
	d.pos[path] = Pos{n.Line, n.Column}
	switch n.Tag {
	case "!!null":
		return nil
	case "!!bool":
		return strings.EqualFold(n.Value, "true")
	case "!!int":
		if v, err := strconv.ParseInt(n.Value, 0, 64); err == nil {
			return v
		}
	case "!!float":
		if v, err := strconv.ParseFloat(n.Value, 64); err == nil {
			return v
		}
	}
	return n.Value
}
