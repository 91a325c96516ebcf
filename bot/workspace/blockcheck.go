package workspace

import (
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"unicode/utf8"
)

// surface is where blocks are shown; it decides which of them are allowed.
type surface int

const (
	onMessage surface = 1 << iota
	onModal
	onHome
	everywhere = onMessage | onModal | onHome
)

func (s surface) maxBlocks() int {
	if s == onMessage {
		return 50
	}
	return 100
}

type kind int

const (
	isString kind = iota
	isInt
	isBool
	isList   // of items
	isText   // a text object of either type
	isPlain  // a plain_text object
	isObject // one of items
	isAny    // not looked into
)

// rule is what one field of an object must hold. Lengths are in characters.
type rule struct {
	kind     kind
	required bool
	min, max int      // characters, items or value; max 0 is no limit
	enum     []string // the only values a string may have
	items    string   // the family of an object's or list's members
}

// shape is one type of object: its fields, and rules across them.
type shape struct {
	fields   map[string]rule
	surfaces surface // 0: everywhere
	check    func(v *validator, o obj, at string)
}

// family is a set of shapes told apart by their "type"; the one under "" needs
// no type.
type family map[string]*shape

// validator walks blocks by the tables and gathers what is wrong, in order.
type validator struct {
	families map[string]family
	surface  surface
	problems []string
	blockIDs map[string]bool
	focused  bool
	tables   int
	markdown int
}

// enough ends the list of problems: nobody reads more, and hostile input must
// not make the answer grow.
const enough = 20

func (v *validator) fail(at, format string, args ...any) {
	if len(v.problems) < enough {
		v.problems = append(v.problems, fmt.Sprintf(format, args...)+" [json-pointer:"+at+"]")
	}
}

// checkBlocks gives what Slack would find wrong, in Slack's words, with JSON
// pointers below at.
func checkBlocks(blocks []any, on surface, at string) []string {
	v := &validator{families: blockFamilies, surface: on, blockIDs: map[string]bool{}}
	v.length(len(blocks), rule{kind: isList, max: on.maxBlocks()}, at)
	for i, b := range blocks {
		v.member("block", b, at+"/"+strconv.Itoa(i))
	}
	if v.markdown > markdownTextLimit {
		v.fail(at, "markdown blocks must be less than %d characters in total", markdownTextLimit+1)
	}
	return v.problems
}

// member checks one object of a family.
func (v *validator) member(name string, value any, at string) {
	o, ok := value.(obj)
	if !ok {
		v.fail(at, "must provide an object")
		return
	}
	fam := v.families[name]
	if s := fam[""]; s != nil {
		v.object(s, o, at)
		return
	}
	typ, ok := o["type"].(string)
	if !ok {
		v.fail(at, "missing required field: type")
		return
	}
	s := fam[typ]
	if s == nil || (s.surfaces != 0 && s.surfaces&v.surface == 0) {
		v.fail(at+"/type", "unsupported type: %s", typ)
		return
	}
	v.object(s, o, at)
}

func (v *validator) object(s *shape, o obj, at string) {
	names := make([]string, 0, len(s.fields))
	for name := range s.fields {
		names = append(names, name)
	}
	sort.Strings(names) // maps have no order; messages must
	for _, name := range names {
		r := s.fields[name]
		value, there := o[name]
		if !there || value == nil {
			if r.required {
				v.fail(at, "missing required field: %s", name)
			}
			continue
		}
		v.value(r, value, at+"/"+name)
	}
	var extra []string
	for name := range o {
		if _, known := s.fields[name]; !known && name != "type" {
			extra = append(extra, name)
		}
	}
	sort.Strings(extra)
	for _, name := range extra {
		v.fail(at, "invalid additional property: %s", name)
	}
	if s.check != nil {
		s.check(v, o, at)
	}
}

func (v *validator) value(r rule, value any, at string) {
	switch r.kind {
	case isString:
		v.text(r, value, at)
	case isInt:
		n, ok := integer(value)
		switch {
		case !ok:
			v.fail(at, "must provide an integer")
		case n < r.min:
			v.fail(at, "must be greater than or equal to %d", r.min)
		case r.max > 0 && n > r.max:
			v.fail(at, "must be less than or equal to %d", r.max)
		}
	case isBool:
		if _, ok := value.(bool); !ok {
			v.fail(at, "must provide a boolean")
		}
	case isText, isPlain:
		v.textObject(r, value, at)
	case isObject:
		v.member(r.items, value, at)
	case isList:
		v.list(r, value, at)
	}
}

func (v *validator) text(r rule, value any, at string) {
	s, ok := value.(string)
	if !ok {
		v.fail(at, "must provide a string")
		return
	}
	n := utf8.RuneCountInString(s)
	switch {
	case n < r.min:
		v.fail(at, "must be more than %d characters", r.min-1)
	case r.max > 0 && n > r.max:
		v.fail(at, "must be less than %d characters", r.max+1)
	case r.enum != nil && !slices.Contains(r.enum, s):
		v.fail(at, "must be a valid enum value")
	}
}

func (v *validator) textObject(r rule, value any, at string) {
	o, ok := value.(obj)
	if !ok {
		v.fail(at, "must provide an object")
		return
	}
	fields := map[string]rule{"text": {kind: isString, required: true, min: max(1, r.min), max: r.max}}
	switch typ, _ := o["type"].(string); {
	case typ == "plain_text":
		fields["emoji"] = rule{kind: isBool}
	case typ == "mrkdwn" && r.kind == isText:
		fields["verbatim"] = rule{kind: isBool}
	case typ == "":
		v.fail(at, "missing required field: type")
		return
	default:
		v.fail(at+"/type", "unsupported type: %s", typ)
		return
	}
	v.object(&shape{fields: fields}, o, at)
}

func (v *validator) list(r rule, value any, at string) {
	l, ok := value.([]any)
	if !ok {
		v.fail(at, "must provide an array")
		return
	}
	v.length(len(l), r, at)
	for i, item := range l {
		p := at + "/" + strconv.Itoa(i)
		switch {
		case r.items == "*text":
			v.textObject(rule{kind: isText, max: 2000}, item, p)
		case r.items == "*string":
			v.text(rule{kind: isString}, item, p)
		case r.items != "":
			v.member(r.items, item, p)
		}
	}
}

func (v *validator) length(n int, r rule, at string) {
	if n < r.min {
		v.fail(at, "no fewer than %d items allowed", r.min)
	}
	if r.max > 0 && n > r.max {
		v.fail(at, "no more than %d items allowed", r.max)
	}
}

func integer(value any) (int, bool) {
	switch n := value.(type) {
	case json.Number:
		i, err := n.Int64()
		return int(i), err == nil
	case float64:
		return int(n), n == float64(int(n))
	case int:
		return n, true
	}
	return 0, false
}

// withIDs copies blocks with the fields that Slack fills in: block_id and
// action_id, verbatim and emoji of text objects.
func withIDs(blocks []any) []any {
	out := make([]any, len(blocks))
	for i, b := range blocks {
		o := filled(b).(obj)
		if id, _ := o["block_id"].(string); id == "" {
			o["block_id"] = randomWord(5)
		}
		out[i] = o
	}
	return out
}

func filled(value any) any {
	switch v := value.(type) {
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = filled(item)
		}
		return out
	case obj:
		out := make(obj, len(v)+1)
		for k, item := range v {
			out[k] = item
			if k != "event_payload" {
				out[k] = filled(item)
			}
		}
		typ, _ := v["type"].(string)
		if _, has := v["emoji"]; typ == "plain_text" && !has {
			out["emoji"] = true
		}
		if _, has := v["verbatim"]; typ == "mrkdwn" && !has {
			out["verbatim"] = false
		}
		if id, _ := v["action_id"].(string); interactive(typ) && id == "" {
			out["action_id"] = randomWord(5)
		}
		return out
	}
	return value
}
