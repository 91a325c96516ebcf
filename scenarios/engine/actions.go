package engine

import (
	"errors"
	"reflect"
	"strings"
	"time"

	"labbot/bot/lab"
	"labbot/bot/text"
)

// Default timeouts by kind of action.
const (
	callTimeout    = 30 * time.Second
	rolloutTimeout = 120 * time.Second
	assertTimeout  = 60 * time.Second
	deleteTimeout  = 120 * time.Second
	// reportTimeout is long: a run outlives a few minutes without Slack.
	reportTimeout = 5 * time.Minute
)

// actionDef is an action of the format. A new action is one more entry in the
// table below.
type actionDef struct {
	// about says what the action does, in a sentence for authors.
	about   string
	args    reflect.Type
	timeout time.Duration
	// expects lists what a step of this action may expect beside done.
	expects string
	// check refuses wrong arguments at load.
	check func(c *checker, st *step)
	// intent fills the effect that is wanted; nil for a pure action. errNotYet
	// asks for a later reading.
	intent func(w *world, st *step, in *Intent) error
	// seen tells whether the watches show the effect yet. A step ends only then:
	// else the next one would judge by what was before.
	seen func(w *world, st *step) bool
	// decide is a pure action's own progress.
	decide func(w *world, st *step) progress
	// title and kubectl are for people.
	title   func(w *world, st *step) lab.Text
	kubectl func(w *world, st *step) string
	// limit is the timeout among the arguments, if they have one.
	limit func(st *step) time.Duration
}

// errNotYet says that an action needs a reading that is not known yet.
var errNotYet = errors.New("not known yet")

// gone says that an action's object is not there.
type gone struct{ what string }

func (g gone) Error() string { return g.what + " is not there" }

// progress is where a pure action stands. Over without a reason is done.
type progress struct {
	over   bool
	reason string
	note   string
	// unknown says that this reading allows no conclusion.
	unknown bool
}

// notYet are words of the format that this engine does not carry out. What probe
// and access find out must be at hand in verify on every reading, so they will be
// kinds of watch rather than steps.
var notYet = []ActionKind{"readyz", "discovery", "probe", "access", "onFail"}

var actions = map[ActionKind]actionDef{
	ActCreateNamespace: {
		about: "Makes the run's namespace. The first step of every scenario.",
		args:  reflect.TypeFor[CreateNamespaceArgs](), timeout: deleteTimeout,
		intent: func(w *world, st *step, in *Intent) error {
			in.CreateNamespace = &CreateNamespace{Name: w.s.Namespace, Adopt: st.Args.(*CreateNamespaceArgs).Adopt}
			return nil
		},
		title: func(w *world, _ *step) lab.Text {
			return text.Both("scenario.do-create-namespace", "name", w.s.Namespace)
		},
		kubectl: func(w *world, _ *step) string { return "kubectl create namespace " + w.s.Namespace },
	},
	ActCreateDeployment: {
		about: "Makes what kubectl create deployment makes.",
		args:  reflect.TypeFor[CreateDeploymentArgs](), timeout: callTimeout, expects: "error",
		check: checkCreateDeployment, intent: intentCreateDeployment,
		title: titleCreateDeployment, kubectl: kubectlCreateDeployment,
	},
	ActSetImage: {
		about: "Changes a container's image, as kubectl set image does.",
		args:  reflect.TypeFor[SetImageArgs](), timeout: callTimeout, expects: "error",
		check: checkSetImage, intent: intentSetImage, seen: seenSetImage, title: titleSetImage, kubectl: kubectlSetImage,
	},
	ActRolloutStatus: {
		about: "Waits as kubectl rollout status does.",
		args:  reflect.TypeFor[RolloutStatusArgs](), timeout: rolloutTimeout, expects: "timeout,condition",
		check: checkRolloutStatus, decide: decideRollout, title: titleRolloutStatus, kubectl: kubectlRolloutStatus,
		limit: func(st *step) time.Duration { return st.Args.(*RolloutStatusArgs).Timeout },
	},
	ActSnapshot: {
		about: "Keeps watches under at.STEP.",
		args:  reflect.TypeFor[SnapshotArgs](), timeout: callTimeout,
		check:  func(c *checker, st *step) { c.watchNames(st.Args.(*SnapshotArgs).Of, st.path+".snapshot.of") },
		decide: func(*world, *step) progress { return progress{over: true} },
		title:  func(*world, *step) lab.Text { return text.Both("scenario.do-snapshot") },
	},
	ActChoose: {
		about: "Picks one live object of a list, the first by name.",
		args:  reflect.TypeFor[ChooseArgs](), timeout: callTimeout,
		check: checkChoose, decide: decideChoose, title: titleChoose,
		kubectl: func(w *world, st *step) string { return w.kubectlGet([]string{st.Args.(*ChooseArgs).From}, "") },
	},
	ActDeletePod: {
		about: "Deletes a chosen Pod by UID.",
		args:  reflect.TypeFor[DeletePodArgs](), timeout: callTimeout, expects: "error",
		check: checkDeletePod, intent: intentDeletePod, title: titleDeletePod, kubectl: kubectlDeletePod,
	},
	ActUndo: {
		about: "Writes a Pod template back from a snapshot.",
		args:  reflect.TypeFor[UndoArgs](), timeout: callTimeout, expects: "error",
		check:  func(c *checker, st *step) { c.undo(st.Args.(*UndoArgs), st.path+".undo", st.scope) },
		intent: func(w *world, st *step, in *Intent) error { return w.undo(st.Args.(*UndoArgs), in) },
		title: func(w *world, st *step) lab.Text {
			return same("rollout undo " + w.kindName(st.Args.(*UndoArgs).Of))
		},
		kubectl: func(w *world, st *step) string {
			return w.kubectl("rollout undo " + w.kindName(st.Args.(*UndoArgs).Of))
		},
	},
	ActEvidence: {
		about: "Posts spec, status, conditions, owners, Events and logs.",
		args:  reflect.TypeFor[EvidenceArgs](), timeout: reportTimeout,
		check: checkEvidence, intent: intentEvidence, title: titleEvidence,
		kubectl: func(w *world, st *step) string { return w.kubectlGet(st.Args.(*EvidenceArgs).Of, " -o wide") },
	},
	ActDescribe: {
		about: "Posts kubectl's own description.",
		args:  reflect.TypeFor[DescribeArgs](), timeout: reportTimeout,
		check: checkDescribe, intent: intentDescribe,
		title:   func(w *world, st *step) lab.Text { return same("describe " + w.plural(st.Args.(*DescribeArgs).Of)) },
		kubectl: func(w *world, st *step) string { return w.kubectl("describe " + w.plural(st.Args.(*DescribeArgs).Of)) },
	},
	ActEvents: {
		about: "Posts the namespace's Events in order of creation.",
		args:  reflect.TypeFor[EventsArgs](), timeout: reportTimeout,
		intent: func(_ *world, st *step, in *Intent) error {
			in.Report = &Report{Of: []string{}, Reasons: st.Args.(*EventsArgs).Reasons}
			return nil
		},
		title: func(*world, *step) lab.Text { return same("get events --sort-by=.metadata.creationTimestamp") },
		kubectl: func(w *world, _ *step) string {
			return w.kubectl("get events --sort-by=.metadata.creationTimestamp")
		},
	},
	ActRolloutHistory: {
		about: "Posts the revisions of a Deployment.",
		args:  reflect.TypeFor[RolloutHistoryArgs](), timeout: reportTimeout,
		check: func(c *checker, st *step) {
			c.deployment(st.Args.(*RolloutHistoryArgs).Of, st.path+".rolloutHistory.of")
		},
		intent: func(_ *world, st *step, in *Intent) error {
			in.Report = &Report{Of: []string{st.Args.(*RolloutHistoryArgs).Of}}
			return nil
		},
		title: func(w *world, st *step) lab.Text {
			return same("rollout history " + w.kindName(st.Args.(*RolloutHistoryArgs).Of))
		},
		kubectl: func(w *world, st *step) string {
			return w.kubectl("rollout history " + w.kindName(st.Args.(*RolloutHistoryArgs).Of))
		},
	},
	ActDeleteNamespace: {
		about: "Deletes the run's namespace and waits until it is gone.",
		args:  reflect.TypeFor[DeleteNamespaceArgs](), timeout: deleteTimeout,
		intent: func(w *world, _ *step, in *Intent) error {
			in.DeleteNamespace = &DeleteNamespace{Name: w.s.Namespace, UID: w.s.NamespaceUID}
			return nil
		},
		title: func(w *world, _ *step) lab.Text {
			return text.Both("scenario.do-delete-namespace", "name", w.s.Namespace)
		},
		kubectl: func(w *world, _ *step) string {
			return "kubectl delete namespace " + w.s.Namespace + " --wait=true"
		},
		limit: func(st *step) time.Duration { return st.Args.(*DeleteNamespaceArgs).Timeout },
	},
	ActGet: {
		about: "Reads one object; with expect it proves that it is gone.",
		args:  reflect.TypeFor[GetArgs](), timeout: callTimeout, expects: "error",
		check: checkGet, intent: intentGet, title: titleGet, kubectl: kubectlGetOne,
	},
	ActApply: {
		about: "Makes or changes one object of the namespace, as kubectl apply --server-side does.",
		args:  reflect.TypeFor[ApplyArgs](), timeout: callTimeout, expects: "error",
		check: checkApply, intent: intentApply, title: titleApply,
		kubectl: func(w *world, _ *step) string { return w.kubectl("apply --server-side -f -") },
	},
	ActPatch: {
		about: "Patches one object, as kubectl patch does.",
		args:  reflect.TypeFor[PatchArgs](), timeout: callTimeout, expects: "error",
		check: checkPatch, intent: intentPatch, title: titlePatch,
		kubectl: func(w *world, st *step) string { return w.kubectl(titlePatch(w, st).EN + " -p …") },
	},
	ActScale: {
		about: "Changes the number of replicas, as kubectl scale does.",
		args:  reflect.TypeFor[ScaleArgs](), timeout: callTimeout, expects: "error",
		check: checkScale, intent: intentScale, seen: seenScale, title: titleScale,
		kubectl: func(w *world, st *step) string { return w.kubectl(titleScale(w, st).EN) },
	},
	ActEvict: {
		about: "Evicts a chosen Pod through the eviction API.",
		args:  reflect.TypeFor[EvictArgs](), timeout: callTimeout, expects: "error",
		check:  func(c *checker, st *step) { c.chosen(st.Args.(*EvictArgs).Pod, st.path+".evict.pod", st.scope) },
		intent: intentEvict,
		title:  func(w *world, st *step) lab.Text { return same("evict pod " + w.chosenName(st.Args.(*EvictArgs).Pod)) },
	},
	ActCordon: {
		about: "Marks a Node unschedulable. Needs clusterScope and an uncordon with an assert in cleanup.",
		args:  reflect.TypeFor[CordonArgs](), timeout: callTimeout,
		check: checkCordon, intent: intentCordon, title: titleCordon,
		kubectl: func(w *world, st *step) string { return "kubectl " + titleCordon(w, st).EN },
	},
	ActUncordon: {
		about: "Makes a Node schedulable again.",
		args:  reflect.TypeFor[CordonArgs](), timeout: callTimeout,
		check: checkCordon, intent: intentCordon, title: titleCordon,
		kubectl: func(w *world, st *step) string { return "kubectl " + titleCordon(w, st).EN },
	},
	ActLogs: {
		about: "Posts the last log lines of Pods.",
		args:  reflect.TypeFor[LogsArgs](), timeout: reportTimeout,
		check: checkLogs, intent: intentLogs, title: titleLogs,
		kubectl: func(w *world, st *step) string { return w.kubectl(titleLogs(w, st).EN) },
	},
	ActWait: {
		about: "Lets time pass.",
		args:  reflect.TypeFor[WaitArgs](), timeout: maxWait + time.Second,
		check: checkWait, decide: decideWait,
		title: func(_ *world, st *step) lab.Text {
			return text.Both("scenario.do-wait", "time", seconds(st.Args.(*WaitArgs).For))
		},
	},
	ActAssert: {
		about: "A step that only asserts.",
		args:  reflect.TypeFor[struct{}](), timeout: assertTimeout,
		decide: func(*world, *step) progress { return progress{over: true} },
		title:  titleAssert,
	},
}

// same is a text that is kubectl's own words in any language.
func same(s string) lab.Text { return lab.Text{RU: s, EN: s} }

// kindName gives "deployment/web", as kubectl takes it.
func (w *world) kindName(watch string) string {
	x := w.p.watch(watch)
	return strings.ToLower(x.Kind) + "/" + x.Name
}

// plural gives "deployment web" or "pods -l app=web".
func (w *world) plural(watch string) string {
	x := w.p.watch(watch)
	if !x.List {
		return strings.ToLower(x.Kind) + " " + x.Name
	}
	s := strings.ToLower(x.Kind) + "s"
	if x.Selector != "" {
		s += " -l " + x.Selector
	}
	return s
}

func (w *world) kubectl(rest string) string { return "kubectl -n " + w.s.Namespace + " " + rest }

// kubectlGet gives one get for several watches.
func (w *world) kubectlGet(names []string, tail string) string {
	if len(names) == 1 {
		return w.kubectl("get " + w.plural(names[0]) + tail)
	}
	kinds := make([]string, len(names))
	for i, n := range names {
		kinds[i] = strings.ToLower(w.p.watch(n).Kind)
	}
	return w.kubectl("get " + strings.Join(kinds, ",") + tail)
}
