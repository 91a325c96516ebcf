package engine

import (
	"fmt"
	"regexp"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
)

// world is all that one step may look at. It is only read, but for State, which
// is the machine's own copy.
type world struct {
	p  *Program
	s  *State
	ev *Evidence
	at time.Time
	// cut says that the cluster is out of reach: nothing may be concluded.
	cut bool
}

// reading gives the reading of a watch, which is unknown while the cluster is
// out of reach.
func (w *world) reading(name string) Reading {
	r, ok := w.ev.Objects[name]
	switch {
	case w.cut:
		return Reading{Err: "the cluster is out of reach"}
	case !ok:
		return Reading{Err: "not read yet"}
	}
	return r
}

// kept gives a watch's value as it is stored in a snapshot.
func (w *world) kept(name string) (any, bool) {
	r := w.reading(name)
	if !r.Known {
		return nil, false
	}
	if w.p.watch(name).List {
		l := make([]any, len(r.Items))
		for i, o := range r.Items {
			l[i] = trimmed(o)
		}
		return l, true
	}
	if r.Object == nil {
		return nil, true
	}
	return trimmed(r.Object), true
}

// vars resolves the names of an expression.
type vars struct {
	*world
	it    any
	hasIt bool
}

// ResolveName implements cel's Activation.
func (v vars) ResolveName(name string) (any, bool) {
	switch name {
	case "it":
		return v.it, v.hasIt
	case "params":
		return orEmpty(v.s.Params), true
	case "images":
		return orEmpty(v.s.Images), true
	case "run":
		return map[string]any{"id": string(v.s.Run), "namespace": v.s.Namespace}, true
	case "at":
		at := make(map[string]any, len(v.s.At))
		for step, names := range v.s.At {
			at[step] = names
		}
		return at, true
	case hiddenRegistries:
		if v.s.Registries == nil {
			return map[string]string{}, true
		}
		return v.s.Registries, true
	case hiddenEvents:
		return v.events(), true
	case hiddenReplicaSets:
		return v.kind("ReplicaSet"), true
	case hiddenSlices:
		return v.kind("EndpointSlice"), true
	}
	if v.p.isWatch(name) {
		return value(v.reading(name), v.p.watch(name).List), true
	}
	if o, ok := v.s.Chosen[name]; ok {
		return o, true
	}
	return types.NewErr("nothing is known of %s yet", name), true
}

// Parent implements cel's Activation.
func (vars) Parent() cel.Activation { return nil }

func orEmpty(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

// value gives a reading to an expression: null when absent, an error when
// unknown, so that nobody takes one for the other.
func value(r Reading, list bool) any {
	switch {
	case !r.Known:
		return types.NewErr("not known: %s", r.Err)
	case list:
		return anyList(r.Items)
	case r.Object == nil:
		return types.NullValue
	}
	return r.Object
}

func anyList(objects []map[string]any) []any {
	l := make([]any, len(objects))
	for i, o := range objects {
		l[i] = o
	}
	return l
}

// kind gives all objects of a kind over the scenario's list watches.
func (v vars) kind(kind string) any {
	all := []any{}
	for _, watch := range v.p.watches {
		if watch.Kind != kind || !watch.List {
			continue
		}
		r := v.reading(watch.As)
		if !r.Known {
			return types.NewErr("%s not known: %s", watch.As, r.Err)
		}
		all = append(all, anyList(r.Items)...)
	}
	return all
}

func (v vars) events() []any {
	l := make([]any, len(v.ev.Events))
	for i, e := range v.ev.Events {
		l[i] = map[string]any{
			"type": e.Type, "reason": e.Reason, "message": e.Message, "component": e.Component, "count": int64(e.Count),
			"regarding": map[string]any{"kind": e.Regarding.Kind, "name": e.Regarding.Name, "uid": e.Regarding.UID},
		}
	}
	return l
}

// truth evaluates an expression. An error, such as a field that is not there, is
// unknown and comes back with its text.
func (w *world) truth(c *compiled) (Truth, string) { return w.eval(c, vars{world: w}) }

// truthOf evaluates an expression over one object, which it calls "it".
func (w *world) truthOf(c *compiled, it any) (Truth, string) {
	return w.eval(c, vars{world: w, it: it, hasIt: true})
}

func (w *world) eval(c *compiled, v vars) (Truth, string) {
	if w.cut {
		return Unknown, "the cluster is out of reach"
	}
	out, _, err := c.prg.Eval(v)
	if err != nil {
		return Unknown, clip(err.Error())
	}
	switch out {
	case types.True:
		return True, ""
	case types.False:
		return False, ""
	}
	return Unknown, fmt.Sprintf("gives %s, not true or false", out.Type().TypeName())
}

var refForm = regexp.MustCompile(`\$(params|images|run)\.([A-Za-z][A-Za-z0-9_]*)`)

// resolve gives a value with its references filled in. A whole-value reference
// keeps its type.
func (w *world) resolve(v any) any {
	s, ok := v.(string)
	if !ok {
		return v
	}
	if m := refForm.FindStringSubmatch(s); m != nil && m[0] == s {
		return w.lookup(m[1], m[2])
	}
	return refForm.ReplaceAllStringFunc(s, func(ref string) string {
		m := refForm.FindStringSubmatch(ref)
		return fmt.Sprint(w.lookup(m[1], m[2]))
	})
}

func (w *world) lookup(group, name string) any {
	switch group {
	case "params":
		return w.s.Params[name]
	case "images":
		return w.s.Images[name]
	}
	return map[string]any{"id": string(w.s.Run), "namespace": w.s.Namespace}[name]
}

func (w *world) resolveString(v Value) string {
	if r := w.resolve(v.V); r != nil {
		return fmt.Sprint(r)
	}
	return ""
}

func (w *world) resolveInt(v Value) int {
	n, _ := plain(w.resolve(v.V)).(int64)
	return int(n)
}

// ref names the object of a single watch, with its UID where it is known.
func (w *world) ref(name string) Ref {
	x := w.p.watch(name)
	r := Ref{APIVersion: x.APIVersion, Kind: x.Kind, Namespace: w.s.Namespace, Name: x.Name}
	if got := w.reading(name); got.Known {
		r.UID = uidOf(got.Object)
	}
	return r
}
