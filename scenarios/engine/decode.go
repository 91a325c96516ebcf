package engine

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"labbot/bot/lab"
	"labbot/bot/text"
)

// Bounds of single values.
const (
	maxText     = 600  // letters of a text for people
	maxString   = 1024 // bytes of a word
	maxExpr     = 4096 // bytes of an expression
	maxDuration = 24 * time.Hour
)

// decoder turns YAML nodes into the Go types of the format. It goes on after a
// problem, so that an author sees all of them at once.
type decoder struct {
	problems []Problem
	pos      map[string]Pos
	nodes    int
}

func (d *decoder) fail(n *yaml.Node, path string, msg lab.Text, suggestion string) {
	d.problems = append(d.problems, Problem{Line: n.Line, Column: n.Column, Field: path, Message: msg, Suggestion: suggestion})
}

// leaf types have a form of their own in YAML.
var (
	typeText     = reflect.TypeFor[lab.Text]()
	typeExpr     = reflect.TypeFor[Expr]()
	typeValue    = reflect.TypeFor[Value]()
	typeDuration = reflect.TypeFor[time.Duration]()
	typeStep     = reflect.TypeFor[Step]()
	typeExpect   = reflect.TypeFor[Expect]()
	typeRight    = reflect.TypeFor[Right]()
	typeObject   = reflect.TypeFor[Object]()
)

// value decodes n into v. enum is the comma-separated list of words allowed, or
// empty for any.
func (d *decoder) value(v reflect.Value, n *yaml.Node, path, enum string) {
	d.pos[path] = Pos{n.Line, n.Column}
	switch v.Type() {
	case typeText:
		v.Set(reflect.ValueOf(d.text(n, path)))
	case typeExpr:
		v.Set(reflect.ValueOf(Expr{Source: d.scalar(n, path, maxExpr), Pos: exprPos(n)}))
	case typeValue:
		v.Set(reflect.ValueOf(Value{V: d.any(n, path), Pos: Pos{n.Line, n.Column}}))
	case typeDuration:
		v.SetInt(int64(d.duration(n, path)))
	case typeStep:
		v.Set(reflect.ValueOf(d.step(n, path)))
	case typeExpect:
		v.Set(reflect.ValueOf(d.expect(n, path)))
	case typeRight:
		v.Set(reflect.ValueOf(d.right(n, path)))
	case typeObject:
		v.Set(reflect.ValueOf(d.object(n, path)))
	default:
		d.plain(v, n, path, enum)
	}
}

func (d *decoder) plain(v reflect.Value, n *yaml.Node, path, enum string) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.value(v.Elem(), n, path, enum)
	case reflect.Struct:
		d.fields(v, n, path)
	case reflect.Map:
		d.table(v, n, path)
	case reflect.Slice:
		d.list(v, n, path, enum)
	case reflect.String:
		s := d.scalar(n, path, maxString)
		d.word(n, path, s, enum)
		v.SetString(s)
	case reflect.Int:
		v.SetInt(d.number(n, path))
	case reflect.Bool:
		v.SetBool(d.boolean(n, path))
	default:
		panic("scenario format: no reader for " + v.Type().String())
	}
}

// field is one known field of a struct type.
type field struct {
	name, enum, doc string
	required        bool
	index           int
}

func fieldsOf(t reflect.Type) []field {
	var fs []field
	for i := range t.NumField() {
		f := t.Field(i)
		name, opts, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if name == "" {
			continue
		}
		fs = append(fs, field{name, f.Tag.Get("enum"), f.Tag.Get("doc"), opts == "required", i})
	}
	return fs
}

func (d *decoder) fields(v reflect.Value, n *yaml.Node, path string) {
	known := fieldsOf(v.Type())
	seen := map[string]bool{}
	d.pairs(n, path, func(key, val *yaml.Node) {
		i := slices.IndexFunc(known, func(f field) bool { return f.name == key.Value })
		if i < 0 {
			d.unknownField(key, path, namesOf(known))
			return
		}
		seen[key.Value] = true
		d.value(v.Field(known[i].index), val, join(path, key.Value), known[i].enum)
	})
	for _, f := range known {
		if f.required && !seen[f.name] && n.Kind == yaml.MappingNode {
			d.fail(n, join(path, f.name), text.Both("scenario.missing", "field", f.name, "about", f.doc), "")
		}
	}
}

func namesOf(fs []field) []string {
	names := make([]string, len(fs))
	for i, f := range fs {
		names[i] = f.name
	}
	return names
}

func (d *decoder) unknownField(key *yaml.Node, path string, known []string) {
	near := Nearest(key.Value, known)
	msg := text.Both("scenario.unknown-field", "field", clip(key.Value), "known", strings.Join(known, ", "))
	if near != "" {
		msg = text.Both("scenario.unknown-field-near", "field", clip(key.Value), "near", near)
	}
	d.fail(key, join(path, clip(key.Value)), msg, near)
}

// pairs calls each for every key of a mapping, and refuses anything else and
// repeated keys.
func (d *decoder) pairs(n *yaml.Node, path string, each func(key, val *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		d.fail(n, path, text.Both("scenario.want-mapping"), "")
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch {
		case key.Kind != yaml.ScalarNode:
			d.fail(key, path, text.Both("scenario.want-word"), "")
		case seen[key.Value]:
			d.fail(key, join(path, clip(key.Value)), text.Both("scenario.twice", "field", clip(key.Value)), "")
		default:
			seen[key.Value] = true
			each(key, n.Content[i+1])
		}
	}
}

func (d *decoder) table(v reflect.Value, n *yaml.Node, path string) {
	v.Set(reflect.MakeMap(v.Type()))
	d.pairs(n, path, func(key, val *yaml.Node) {
		at := join(path, key.Value)
		if !isName(key.Value) {
			d.fail(key, at, text.Both("scenario.bad-name", "name", clip(key.Value)), "")
			return
		}
		item := reflect.New(v.Type().Elem()).Elem()
		d.value(item, val, at, "")
		v.SetMapIndex(reflect.ValueOf(key.Value), item)
	})
}

func (d *decoder) list(v reflect.Value, n *yaml.Node, path, enum string) {
	if n.Kind != yaml.SequenceNode {
		d.fail(n, path, text.Both("scenario.want-list"), "")
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	for i, c := range n.Content {
		d.value(v.Index(i), c, fmt.Sprintf("%s[%d]", path, i), enum)
	}
}

func (d *decoder) word(n *yaml.Node, path, s, enum string) {
	if enum == "" || s == "" {
		return
	}
	known := strings.Split(enum, ",")
	if slices.Contains(known, s) {
		return
	}
	near := Nearest(s, known)
	msg := text.Both("scenario.unknown-word", "word", clip(s), "known", strings.Join(known, ", "))
	if near != "" {
		msg = text.Both("scenario.unknown-word-near", "word", clip(s), "near", near)
	}
	d.fail(n, path, msg, near)
}

func (d *decoder) scalar(n *yaml.Node, path string, limit int) string {
	switch {
	case n.Kind != yaml.ScalarNode || n.Tag == "!!null" || strings.TrimSpace(n.Value) == "":
		d.fail(n, path, text.Both("scenario.want-word"), "")
		return ""
	case len(n.Value) > limit:
		d.fail(n, path, text.Both("scenario.too-long", "max", limit), "")
		return ""
	}
	return n.Value
}

func (d *decoder) text(n *yaml.Node, path string) lab.Text {
	var t lab.Text
	halves := map[string]*string{"ru": &t.RU, "en": &t.EN}
	d.pairs(n, path, func(key, val *yaml.Node) {
		half, ok := halves[key.Value]
		if !ok {
			d.unknownField(key, path, []string{"ru", "en"})
			return
		}
		*half = d.sentence(val, join(path, key.Value))
		delete(halves, key.Value)
	})
	if n.Kind == yaml.MappingNode {
		for _, lang := range []string{"ru", "en"} {
			if halves[lang] != nil {
				d.fail(n, path, text.Both("scenario.missing-half", "half", lang), "")
			}
		}
	}
	return t
}

func (d *decoder) sentence(n *yaml.Node, path string) string {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" || strings.TrimSpace(n.Value) == "" {
		d.fail(n, path, text.Both("scenario.want-text"), "")
		return ""
	}
	if c := utf8.RuneCountInString(n.Value); c > maxText {
		d.fail(n, path, text.Both("scenario.text-too-long", "n", c, "max", maxText), "")
	}
	for _, r := range n.Value {
		if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
			d.fail(n, path, text.Both("scenario.text-control", "code", fmt.Sprintf("U+%04X", r)), "")
			break
		}
	}
	return strings.TrimSpace(n.Value)
}

func (d *decoder) duration(n *yaml.Node, path string) time.Duration {
	if n.Kind == yaml.ScalarNode {
		if v, err := time.ParseDuration(n.Value); err == nil && v > 0 && v <= maxDuration {
			return v
		}
	}
	d.fail(n, path, text.Both("scenario.want-duration", "value", clip(n.Value)), "")
	return 0
}

func (d *decoder) number(n *yaml.Node, path string) int64 {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!int" {
		if v, err := strconv.ParseInt(n.Value, 10, 32); err == nil && v >= 0 {
			return v
		}
	}
	d.fail(n, path, text.Both("scenario.want-number", "value", clip(n.Value)), "")
	return 0
}

func (d *decoder) boolean(n *yaml.Node, path string) bool {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!bool" {
		return n.Value == "true" || n.Value == "True" || n.Value == "TRUE"
	}
	d.fail(n, path, text.Both("scenario.want-bool", "value", clip(n.Value)), "")
	return false
}

// any decodes a scalar to string, int64 or bool.
func (d *decoder) any(n *yaml.Node, path string) any {
	if n.Kind == yaml.ScalarNode {
		switch n.Tag {
		case "!!int":
			if v, err := strconv.ParseInt(n.Value, 10, 64); err == nil {
				return v
			}
		case "!!bool":
			return d.boolean(n, path)
		}
	}
	return d.scalar(n, path, maxString)
}

func isName(s string) bool {
	for i, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || (r < '0' || r > '9') && r != '_') {
			return false
		}
	}
	return s != "" && len(s) <= 40
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// clip keeps a stranger's word short in a message.
func clip(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return s
}

// exprPos is where the text of an expression begins: after the quote, or on the
// line after a block's sign.
func exprPos(n *yaml.Node) Pos {
	switch {
	case n.Style&(yaml.FoldedStyle|yaml.LiteralStyle) != 0:
		return Pos{n.Line + 1, 0}
	case n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0:
		return Pos{n.Line, n.Column + 1}
	}
	return Pos{n.Line, n.Column}
}
