package engine

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"labbot/bot/lab"
	"labbot/bot/text"
)

// ApplyArgs are the arguments of apply.
type ApplyArgs struct {
	Object Object `yaml:"object,required" doc:"The manifest; its namespace is the run's. String values may be references."`
}

// PatchArgs are the arguments of patch.
type PatchArgs struct {
	Of        string `yaml:"of,required" doc:"Watch of one object."`
	Strategic Object `yaml:"strategic" doc:"Strategic merge patch."`
	Merge     Object `yaml:"merge" doc:"JSON merge patch."`
}

// ScaleArgs are the arguments of scale.
type ScaleArgs struct {
	Of       string `yaml:"of,required" doc:"Watch of a Deployment."`
	Replicas Value  `yaml:"replicas,required" doc:"Number of replicas."`
}

// EvictArgs are the arguments of evict.
type EvictArgs struct {
	Pod    string `yaml:"pod,required" doc:"Name given by choose."`
	DryRun bool   `yaml:"dryRun" doc:"Only asks whether the eviction would be allowed."`
}

// CordonArgs are the arguments of cordon and uncordon.
type CordonArgs struct {
	Of string `yaml:"of,required" doc:"Watch of a Node."`
}

// LogsArgs are the arguments of logs.
type LogsArgs struct {
	Of       string `yaml:"of,required" doc:"Watch of Pods."`
	Where    Expr   `yaml:"where" doc:"CEL over it: whose logs; none for all."`
	Previous bool   `yaml:"previous" doc:"Logs of the instance before."`
	Lines    int    `yaml:"lines" doc:"Last lines of each, 20 unless given, at most 200."`
}

// WaitArgs are the arguments of wait.
type WaitArgs struct {
	For time.Duration `yaml:"for,required" doc:"How long, at most 5m."`
}

// checkApply holds that a scenario stays in its namespace.
func checkApply(c *checker, st *step) {
	o, path := st.Args.(*ApplyArgs).Object, st.path+".apply.object"
	kind, version := digString(o.plain(), "kind"), digString(o.plain(), "apiVersion")
	known, ok := knownKinds[kind]
	namespaced := slices.DeleteFunc(slices.Sorted(maps.Keys(knownKinds)), func(k string) bool { return knownKinds[k].cluster })
	switch {
	case !ok || known.cluster:
		c.unknown(path+".kind", kind, namespaced)
	case version != known.apiVersion:
		c.unknown(path+".apiVersion", version, []string{known.apiVersion})
	}
	if dig(o.plain(), "metadata", "namespace") != nil {
		c.problem(path+".metadata.namespace", text.Both("scenario.no-namespace"), "")
	}
	if name := nameOf(o.plain()); !dnsForm.MatchString(name) {
		c.problem(path+".metadata.name", text.Both("scenario.dns-form", "name", clip(name)), "")
	}
	c.references(o.plain(), path)
}

func (o Object) plain() map[string]any { return o }

// references checks every reference in the string leaves of an object.
func (c *checker) references(v any, path string) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			c.references(e, join(path, k))
		}
	case []any:
		for i, e := range v {
			c.references(e, path+"["+strconv.Itoa(i)+"]")
		}
	case string:
		for _, m := range refForm.FindAllStringSubmatch(v, -1) {
			c.refType(m[1], m[2], path)
		}
	}
}

// filled gives a copy of an object with its references resolved.
func (w *world) filled(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, e := range v {
			m[k] = w.filled(e)
		}
		return m
	case []any:
		l := make([]any, len(v))
		for i, e := range v {
			l[i] = w.filled(e)
		}
		return l
	}
	return plain(w.resolve(v))
}

func (w *world) filledObject(o Object) map[string]any {
	m, _ := w.filled(o.plain()).(map[string]any)
	return m
}

func intentApply(w *world, st *step, in *Intent) error {
	o := w.filledObject(st.Args.(*ApplyArgs).Object)
	meta, _ := o["metadata"].(map[string]any)
	meta["namespace"] = w.s.Namespace
	in.Apply = &Apply{Object: o}
	return nil
}

func titleApply(_ *world, st *step) lab.Text {
	o := st.Args.(*ApplyArgs).Object.plain()
	return same("apply " + strings.ToLower(digString(o, "kind")) + "/" + nameOf(o))
}

func checkPatch(c *checker, st *step) {
	a, path := st.Args.(*PatchArgs), st.path+".patch"
	c.singleWatch(a.Of, path+".of")
	if (a.Strategic == nil) == (a.Merge == nil) {
		c.problem(path, text.Both("scenario.patch-one"), "")
	}
	c.references(a.Strategic.plain(), path+".strategic")
	c.references(a.Merge.plain(), path+".merge")
}

func intentPatch(w *world, st *step, in *Intent) error {
	a := st.Args.(*PatchArgs)
	target, err := w.present(a.Of)
	if err != nil {
		return err
	}
	in.Patch = &Patch{Target: target, Type: "strategic", Patch: w.filledObject(a.Strategic)}
	if a.Merge != nil {
		in.Patch.Type, in.Patch.Patch = "merge", w.filledObject(a.Merge)
	}
	return nil
}

// present names the object of a single watch once it is known to be there.
func (w *world) present(of string) (Ref, error) {
	r := w.reading(of)
	switch {
	case !r.Known:
		return Ref{}, errNotYet
	case r.Object == nil:
		return Ref{}, gone{w.kindName(of)}
	}
	return w.ref(of), nil
}

func titlePatch(w *world, st *step) lab.Text {
	return same("patch " + w.kindName(st.Args.(*PatchArgs).Of))
}

func checkScale(c *checker, st *step) {
	a := st.Args.(*ScaleArgs)
	c.deployment(a.Of, st.path+".scale.of")
	c.value(a.Replicas, st.path+".scale.replicas", "int")
}

func intentScale(w *world, st *step, in *Intent) error {
	a := st.Args.(*ScaleArgs)
	target, err := w.present(a.Of)
	if err != nil {
		return err
	}
	in.Scale = &Scale{Target: target, Replicas: w.resolveInt(a.Replicas)}
	return nil
}

// seenScale tells whether the watch shows the new number.
func seenScale(w *world, st *step) bool {
	a := st.Args.(*ScaleArgs)
	r := w.reading(a.Of)
	n, _ := digInt(r.Object, "spec", "replicas")
	return r.Known && (r.Object == nil || n == int64(w.resolveInt(a.Replicas)))
}

func titleScale(w *world, st *step) lab.Text {
	a := st.Args.(*ScaleArgs)
	return same(fmt.Sprintf("scale %s --replicas=%d", w.kindName(a.Of), w.resolveInt(a.Replicas)))
}

func intentEvict(w *world, st *step, in *Intent) error {
	a := st.Args.(*EvictArgs)
	o := w.s.Chosen[a.Pod]
	if uidOf(o) == "" {
		return gone{"Pod " + a.Pod}
	}
	in.Evict = &Evict{DryRun: a.DryRun, Target: Ref{APIVersion: "v1", Kind: "Pod", Namespace: w.s.Namespace, Name: nameOf(o), UID: uidOf(o)}}
	return nil
}

// checkCordon holds that a change outside of the namespace was declared, and is
// taken back.
func checkCordon(c *checker, st *step) {
	path := st.path + "." + string(st.Action)
	of := st.Args.(*CordonArgs).Of
	c.singleWatch(of, path+".of")
	if c.p.isWatch(of) && c.p.watch(of).Kind != "Node" {
		c.unknown(path+".of", of, c.watchesOf("Node"))
	}
	if !c.sc.Spec.ClusterScope {
		c.problem(path, text.Both("scenario.cluster-scope"), "")
	}
	undone := slices.ContainsFunc(c.sc.Spec.Phases.Cleanup, func(s Step) bool {
		a, ok := s.Args.(*CordonArgs)
		return ok && s.Action == ActUncordon && a.Of == of && len(s.Assert) > 0
	})
	if st.Action == ActCordon && !undone {
		c.problem(path, text.Both("scenario.cordon-undo"), "")
	}
}

func (c *checker) watchesOf(kind string) []string {
	names := []string{}
	for _, w := range c.p.watches {
		if w.Kind == kind {
			names = append(names, w.As)
		}
	}
	return names
}

func intentCordon(w *world, st *step, in *Intent) error {
	target, err := w.present(st.Args.(*CordonArgs).Of)
	if err != nil {
		return err
	}
	target.Namespace = ""
	in.Cordon = &Cordon{Target: target, Unschedulable: st.Action == ActCordon}
	return nil
}

func titleCordon(w *world, st *step) lab.Text {
	return same(string(st.Action) + " " + w.p.watch(st.Args.(*CordonArgs).Of).Name)
}

const (
	logLines    = 20
	maxLogLines = 200
	maxWait     = 5 * time.Minute
)

func checkLogs(c *checker, st *step) {
	a, path := st.Args.(*LogsArgs), st.path+".logs"
	if c.watchNames([]string{a.Of}, path+".of"); c.p.isWatch(a.Of) && c.p.watch(a.Of).Kind != "Pod" {
		c.unknown(path+".of", a.Of, c.watchesOf("Pod"))
	}
	if a.Lines > maxLogLines {
		c.between(path+".lines", a.Lines, 1, maxLogLines)
	}
	st.where = c.exprOver(a.Where, path+".where", st.scope)
}

func intentLogs(w *world, st *step, in *Intent) error {
	a := st.Args.(*LogsArgs)
	r := w.reading(a.Of)
	if !r.Known {
		return errNotYet
	}
	in.Report = &Report{Of: []string{a.Of}, Previous: a.Previous, Lines: a.Lines}
	if a.Lines == 0 {
		in.Report.Lines = logLines
	}
	for _, o := range r.Items {
		if st.where != nil {
			if yes, _ := w.truthOf(st.where, o); yes != True {
				continue
			}
		}
		in.Report.Full = append(in.Report.Full, uidOf(o))
	}
	return nil
}

func titleLogs(w *world, st *step) lab.Text {
	a := st.Args.(*LogsArgs)
	previous := ""
	if a.Previous {
		previous = " --previous"
	}
	lines := a.Lines
	if lines == 0 {
		lines = logLines
	}
	selector := w.p.watch(a.Of).Selector
	if selector == "" {
		return same(fmt.Sprintf("logs %s --tail=%d%s", w.p.watch(a.Of).Name, lines, previous))
	}
	return same(fmt.Sprintf("logs -l %s --tail=%d%s", selector, lines, previous))
}

func checkWait(c *checker, st *step) {
	if d := st.Args.(*WaitArgs).For; d > maxWait {
		c.problem(st.path+".wait.for", text.Both("scenario.wait-long", "max", maxWait.String()), "")
	}
}

func decideWait(w *world, st *step) progress {
	last := len(w.s.Steps) - 1
	ss := w.s.Steps[last]
	return progress{over: !w.at.Before(ss.Started.Add(st.Args.(*WaitArgs).For + ss.Paused))}
}

// singleWatch checks the name of a watch of one object.
func (c *checker) singleWatch(name, path string) {
	if !c.p.isWatch(name) {
		c.unknown(path, name, c.p.watchNames())
	} else if c.p.watch(name).List {
		c.problem(path, text.Both("scenario.want-single", "name", name), "")
	}
}
