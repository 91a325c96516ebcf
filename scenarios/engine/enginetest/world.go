// Package enginetest is a small simulated cluster for tests of scenarios: one
// namespace, Deployments, their ReplicaSets and Pods, moved by an own clock.
//
// It stands for what an executor and the watches give to the engine, and is
// deterministic. It knows only what scenarios use, and is no measure for
// Kubernetes itself.
package enginetest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"labbot/scenarios/engine"
)

// World is the simulated cluster. Its fields may be set at any time.
type World struct {
	Now time.Time
	// Images are those that the registry has.
	Images []string
	// Unreachable cuts the API off: no request gets there.
	Unreachable bool
	// Swallows makes an API that is cut off take requests and lose the answers.
	Swallows bool
	// StaleSince, when set, is how old the watches say their news is.
	StaleSince time.Time
	// RegistryDown makes every pull fail for want of a registry.
	RegistryDown bool
	// Foreign is a namespace of the run's name that somebody else made.
	Foreign bool
	// Stuck keeps a deleted namespace Terminating.
	Stuck bool
	// SlackDown keeps reports from being posted.
	SlackDown bool
	// Denied answers these actions with Forbidden.
	Denied []engine.ActionKind
	// ReadyAfter is how long a Pod with a good image needs.
	ReadyAfter time.Duration
	// Lag keeps what the watches show behind by one tick.
	Lag bool

	cutSince  time.Time
	ns        *object
	nsEnding  bool
	deploys   []*object
	sets      []*object
	pods      []*object
	events    []engine.Event
	serial    int
	shownSets []map[string]any
	shownPods []map[string]any
	shownDeps []map[string]any
	// Done counts the effects that really took place, by kind.
	Done map[engine.ActionKind]int
}

// object is one API object with what the simulation needs beside it.
type object struct {
	data    map[string]any
	created time.Time
	ending  time.Time
	pulls   int
}

// New returns an empty cluster.
func New(now time.Time) *World {
	return &World{
		Now: now, ReadyAfter: time.Second, Done: map[engine.ActionKind]int{},
		Images: []string{"nginx:1.29-alpine", "nginx:1.28-alpine", "registry.lab:5000/library/nginx:1.29-alpine"},
	}
}

func (w *World) id(kind string) string {
	w.serial++
	return fmt.Sprintf("uid-%s-%03d", kind, w.serial)
}

func (w *World) meta(kind, name string) map[string]any {
	return map[string]any{
		"name": name, "namespace": "k8s-m01", "uid": w.id(strings.ToLower(kind)),
		"creationTimestamp": w.Now.Format(time.RFC3339), "generation": int64(1),
	}
}

// Evidence is what the watches of a program show now.
func (w *World) Evidence(watches []engine.Watch) engine.Evidence {
	ev := engine.Evidence{Objects: map[string]engine.Reading{}, Events: slices.Clone(w.events)}
	if w.Unreachable {
		if w.cutSince.IsZero() {
			w.cutSince = w.Now
		}
		ev.Stale = w.cutSince
	} else {
		w.cutSince = time.Time{}
		ev.Stale = w.StaleSince
	}
	for _, x := range watches {
		r := engine.Reading{Known: true, List: x.List}
		switch x.Kind {
		case "Deployment":
			for _, d := range w.shownDeps {
				if str(d, "metadata", "name") == x.Name {
					r.Object = d
				}
			}
		case "ReplicaSet":
			r.Items = w.shownSets
		case "Pod":
			r.Items = w.shownPods
		default:
			r.Known, r.Err = false, "this world has no "+x.Kind
		}
		ev.Objects[x.As] = r
	}
	return ev
}

func (w *World) find(l []*object, name string) *object {
	for _, o := range l {
		if get(o.data, "metadata", "name") == name {
			return o
		}
	}
	return nil
}

// Do makes one attempt at an intent, as an executor would.
func (w *World) Do(in engine.Intent) engine.Result {
	r := engine.Result{Intent: in.ID, Status: engine.ResultDone, At: w.Now}
	fail := func(reason, message string) engine.Result {
		r.Status, r.Reason, r.Message = engine.ResultFailed, reason, message
		return r
	}
	if in.Report != nil {
		if w.SlackDown {
			r.Status = engine.ResultPending
		}
		return r
	}
	switch {
	case w.Unreachable && w.Swallows:
		if in.Kind == engine.ActCreateNamespace && w.ns == nil {
			w.Unreachable = false
			w.Do(in)
			w.Unreachable = true
		}
		r.Status = engine.ResultUnreachable
		return r
	case w.Unreachable:
		r.Status, r.Reason = engine.ResultUnreachable, engine.ReasonNotSent
		return r
	case slices.Contains(w.Denied, in.Kind):
		return fail("Forbidden", "denied by the test")
	}
	switch in.Kind {
	case engine.ActCreateNamespace:
		if w.Foreign {
			return fail(engine.ReasonNotOurs, "the namespace has no label of this run")
		}
		if w.ns == nil {
			w.ns = &object{data: map[string]any{"metadata": w.meta("Namespace", in.CreateNamespace.Name)}, created: w.Now}
			w.Done[in.Kind]++
		}
		r.UID = str(w.ns.data, "metadata", "uid")
	case engine.ActCreateDeployment:
		d := w.find(w.deploys, in.CreateDeployment.Name)
		if d == nil {
			d = w.create(in.CreateDeployment)
			w.Done[in.Kind]++
		}
		r.UID = str(d.data, "metadata", "uid")
	case engine.ActSetImage:
		if w.find(w.deploys, in.SetImage.Target.Name) == nil {
			return fail("NotFound", "no such deployment")
		}
		w.SetImage(in.SetImage.Image, "labbot")
		w.Done[in.Kind]++
	case engine.ActUndo:
		d := w.find(w.deploys, in.Undo.Target.Name)
		if d == nil {
			return fail("NotFound", `deployments.apps "web" not found`)
		}
		w.setTemplate(d, in.Undo.Template, "labbot")
		w.Done[in.Kind]++
	case engine.ActDeletePod:
		for _, p := range w.pods {
			if str(p.data, "metadata", "uid") == in.DeletePod.Target.UID {
				w.end(p)
				w.Done[in.Kind]++
			}
		}
	case engine.ActDeleteNamespace:
		return w.deleteNamespace(in, r)
	case engine.ActGet:
		if w.ns == nil && !w.Foreign {
			return fail("NotFound", fmt.Sprintf("namespaces %q not found", in.Get.Target.Name))
		}
	default:
		return fail("Unknown", "this world cannot "+string(in.Kind))
	}
	return r
}

func (w *World) deleteNamespace(in engine.Intent, r engine.Result) engine.Result {
	if w.ns == nil || str(w.ns.data, "metadata", "uid") != in.DeleteNamespace.UID {
		return r
	}
	w.nsEnding = true
	r.Status, r.Message = engine.ResultPending, "namespace is Terminating: SomeFinalizersRemain"
	return r
}

// Gone tells whether nothing of the run is left.
func (w *World) Gone() bool { return w.ns == nil && len(w.deploys)+len(w.pods) == 0 }

func (w *World) create(c *engine.CreateDeployment) *object {
	name, _, _ := strings.Cut(c.Image[strings.LastIndex(c.Image, "/")+1:], ":")
	d := &object{created: w.Now, data: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": w.meta("Deployment", c.Name),
		"spec": map[string]any{
			"replicas": int64(c.Replicas),
			"template": map[string]any{
				"metadata": map[string]any{"labels": map[string]any{"app": c.Name}},
				"spec":     map[string]any{"containers": []any{map[string]any{"name": name, "image": c.Image}}},
			},
		},
		"status": map[string]any{},
	}}
	w.wrote(d, "labbot")
	w.deploys = append(w.deploys, d)
	return d
}

// What learners do.

// SetImage is `kubectl set image` on the only Deployment.
func (w *World) SetImage(image, manager string) {
	for _, d := range w.deploys {
		t := copied(get(d.data, "spec", "template").(map[string]any))
		get(t, "spec").(map[string]any)["containers"].([]any)[0].(map[string]any)["image"] = image
		w.setTemplate(d, t, manager)
	}
}

// Undo is `kubectl rollout undo`: back to the template of the revision before.
func (w *World) Undo(manager string) {
	if len(w.sets) < 2 || len(w.deploys) == 0 {
		return
	}
	byRevision := slices.SortedFunc(slices.Values(w.sets), func(a, b *object) int { return cmp.Compare(revision(a), revision(b)) })
	t := copied(get(byRevision[len(byRevision)-2].data, "spec", "template").(map[string]any))
	delete(get(t, "metadata", "labels").(map[string]any), "pod-template-hash")
	w.setTemplate(w.deploys[0], t, manager)
}

// Scale is `kubectl scale`.
func (w *World) Scale(n int) {
	for _, d := range w.deploys {
		d.data["spec"].(map[string]any)["replicas"] = int64(n)
		w.bump(d)
		w.wrote(d, "kubectl")
	}
}

// DeletePods deletes the Pods that match.
func (w *World) DeletePods(match func(pod map[string]any) bool) {
	for _, p := range w.pods {
		if match(p.data) {
			w.end(p)
		}
	}
}

// DeleteDeployment deletes the Deployments with all that they own.
func (w *World) DeleteDeployment() {
	w.deploys, w.sets = nil, nil
	for _, p := range w.pods {
		w.end(p)
	}
}

func (w *World) setTemplate(d *object, t map[string]any, manager string) {
	d.data["spec"].(map[string]any)["template"] = copied(t)
	w.bump(d)
	w.wrote(d, manager)
}

func (w *World) bump(o *object) {
	m := o.data["metadata"].(map[string]any)
	m["generation"] = m["generation"].(int64) + 1
}

func (w *World) wrote(o *object, manager string) {
	m := o.data["metadata"].(map[string]any)
	fields, _ := m["managedFields"].([]any)
	m["managedFields"] = append(slices.Clone(fields), map[string]any{"manager": manager, "operation": "Update", "time": w.Now.Format(time.RFC3339)})
}

func (w *World) end(p *object) {
	if p.ending.IsZero() {
		p.ending = w.Now.Add(time.Second)
		p.data["metadata"].(map[string]any)["deletionTimestamp"] = w.Now.Format(time.RFC3339)
	}
}
