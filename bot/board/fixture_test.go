package board

import (
	"sync"
	"testing"
	"time"

	"labbot/bot/exhibit"
	"labbot/bot/lab"
	"labbot/bot/trace"
	"labbot/internal/golden"
	"labbot/scenarios/engine"
)

// command is when the run was asked for in all fixtures.
var command = time.Date(2026, 3, 4, 10, 0, 0, 400e6, time.UTC)

func sec(n int) time.Time { return command.Truncate(time.Second).Add(time.Duration(n) * time.Second) }

// loaded spares the hostile tests from reading the same files a thousand times.
// Nobody changes what is in it.
var loaded sync.Map

func evidence(t testing.TB, name string) engine.Evidence {
	if ev, ok := loaded.Load(name); ok {
		return ev.(engine.Evidence)
	}
	ev := golden.Load[engine.Evidence](t, "../trace/testdata/"+name+".json")
	loaded.Store(name, ev)
	return ev
}

func describes(t testing.TB) map[string]string {
	if d, ok := loaded.Load("describes"); ok {
		return d.(map[string]string)
	}
	d := golden.Load[map[string]string](t, "../exhibit/testdata/broken.describes.json")
	loaded.Store("describes", d)
	return d
}

func same(s string) lab.Text { return lab.Text{RU: s, EN: s} }

func step(p engine.Phase, id string, a engine.ActionKind, st engine.StepStatus, from, to int, title lab.Text) engine.StepState {
	s := engine.StepState{Phase: p, ID: id, Action: a, Status: st, Started: sec(from), Title: title}
	if to > 0 {
		s.Ended = sec(to)
	}
	return s
}

// base is a run of break-image that has just begun.
func base(lang lab.Lang) View {
	return View{
		Run: "r-7k2mq4xa", Lang: lang, StartedBy: "U0AMIR0001", CommandAt: command, Now: sec(1),
		Context: "k8slab@lab", Server: "https://127.0.0.1:6443", Version: "v1.37.2", Simulated: true,
		Title: lab.Text{RU: "Ошибочный image tag", EN: "Wrong image tag"}, Minutes: 10,
		Phases: []engine.Phase{engine.Prepare, engine.Inject, engine.Observe, engine.Fix, engine.Verify, engine.Cleanup},
		State: engine.State{
			Run: "r-7k2mq4xa", Scenario: "break-image", Namespace: "k8s-m01", NamespaceUID: "77aa", StartedAt: command,
			Phase: engine.Prepare, Buttons: []engine.ButtonState{{ID: "rollback"}, {ID: "hint"}, {ID: "stop", Enabled: true}},
			Steps: []engine.StepState{
				step(engine.Prepare, "ns", engine.ActCreateNamespace, engine.StepDone, 0, 1, same("create namespace k8s-m01")),
				step(engine.Prepare, "create", engine.ActCreateDeployment, engine.StepDone, 1, 1, same("create deployment web --image=nginx:1.29-alpine --replicas=2")),
				step(engine.Prepare, "ready", engine.ActRolloutStatus, engine.StepRunning, 1, 0, same("rollout status deployment/web --timeout=120s")),
			},
		},
	}
}

func hops(t testing.TB, names ...string) []trace.Hop {
	st := engine.State{At: map[string]map[string]any{"baseline": {"deploy": evidence(t, "healthy").Objects["deploy"].Object}}}
	var all []trace.Hop
	for _, n := range names {
		all = trace.Merge(all, trace.Hops(st, evidence(t, n), command))
	}
	return all
}

// observing is break-image in the middle of its evidence.
func observing(t testing.TB, lang lab.Lang) View {
	v := base(lang)
	v.Now, v.State.Phase = sec(50), engine.Observe
	v.Hops = hops(t, "healthy", "broken")
	st := &v.State
	st.Steps[2].Status, st.Steps[2].Ended = engine.StepDone, sec(3)
	st.Steps = append(st.Steps,
		step(engine.Prepare, "baseline", engine.ActSnapshot, engine.StepDone, 3, 3, lab.Text{RU: "запомнить исправное состояние", EN: "remember the healthy state"}),
		step(engine.Inject, "set-image", engine.ActSetImage, engine.StepDone, 4, 4, same("set image deployment/web nginx=nginx:does-not-exist")),
		step(engine.Inject, "status", engine.ActRolloutStatus, engine.StepExpected, 4, 24, same("rollout status deployment/web --timeout=20s")),
		step(engine.Observe, "symptom", engine.ActAssert, engine.StepDone, 24, 24, lab.Text{RU: "наблюдать: pull-fails", EN: "observe: pull-fails"}),
		step(engine.Observe, "objects", engine.ActEvidence, engine.StepRunning, 24, 0, same("evidence: Deployment, ReplicaSet, Pod")),
	)
	v.Exhibits = map[string]exhibit.Exhibit{"objects": build(t, "objects", engine.ActEvidence, engine.Report{Of: []string{"deploy", "rs", "pods"}, Show: []string{"spec", "status", "conditions", "ownerReferences"}}, "broken")}
	return v
}

func build(t testing.TB, id string, kind engine.ActionKind, r engine.Report, name string) exhibit.Exhibit {
	before := evidence(t, "healthy")
	at := map[string]map[string]any{"tree": {"rs": before.Objects["rs"].Items, "pods": before.Objects["pods"].Items}}
	return exhibit.Build(id, kind, r, evidence(t, name), engine.State{Namespace: "k8s-m01", At: at}, describes(t), sec(25))
}

// fixing is break-image with all evidence in the thread.
func fixing(t testing.TB, lang lab.Lang) View {
	v := observing(t, lang)
	v.Now, v.State.Phase = sec(70), engine.Fix
	st := &v.State
	st.Steps[7].Status, st.Steps[7].Ended = engine.StepDone, sec(26)
	st.FixDeadline = sec(930)
	st.Buttons = []engine.ButtonState{{ID: "rollback", Enabled: true}, {ID: "hint"}, {ID: "stop", Enabled: true}}
	st.Hints = []engine.HintState{
		{Index: 0, Due: sec(150), Text: lab.Text{RU: "Какой ReplicaSet не готов и чем его template отличается?", EN: "Which ReplicaSet is not ready and how does its template differ?"}},
		{Index: 1, Due: sec(270), Cost: 1, Text: lab.Text{RU: "Прочитайте Event Failed у ожидающего Pod.", EN: "Read the Failed Event of the waiting Pod."}},
	}
	for i, s := range []struct {
		id    string
		kind  engine.ActionKind
		r     engine.Report
		title lab.Text
	}{
		{"describe-deployment", engine.ActDescribe, engine.Report{Of: []string{"deploy"}}, same("describe deployment web")},
		{"describe-pods", engine.ActDescribe, engine.Report{Of: []string{"pods"}, Full: []string{"5fc28ba7-b06d-4e5f-8caa-7e60d1839f06"}}, same("describe pods -l app=web")},
		{"events", engine.ActEvents, engine.Report{Reasons: []string{"ScalingReplicaSet", "SuccessfulCreate", "Scheduled", "Pulling", "Failed", "BackOff"}}, same("get events --sort-by=.metadata.creationTimestamp")},
		{"history", engine.ActRolloutHistory, engine.Report{Of: []string{"deploy"}}, same("rollout history deployment/web")},
	} {
		st.Steps = append(st.Steps, step(engine.Observe, s.id, s.kind, engine.StepDone, 26+i, 27+i, s.title))
		v.Exhibits[s.id] = build(t, s.id, s.kind, s.r, "broken")
	}
	return v
}

// stuck is break-image after a wrong move and with hints.
func stuck(t testing.TB, lang lab.Lang) View {
	v := fixing(t, lang)
	v.Now = sec(300)
	st := &v.State
	st.Hints[0].Shown, st.Hints[0].By = sec(160), "U0LENA0001"
	st.Moves = []engine.MoveState{{Name: "deleted-failed-pod", At: sec(120), Cost: 1, Say: lab.Text{
		RU: "Pod удалён, но template прежний: контроллер создал такой же. Исправьте Deployment.",
		EN: "The Pod is gone but the template is the same, so the controller made another. Repair the Deployment.",
	}}}
	return v
}

// verifying is break-image with a repair under proof.
func verifying(t testing.TB, lang lab.Lang) View {
	v := stuck(t, lang)
	v.Now = sec(98)
	v.Hops = hops(t, "healthy", "broken", "restored")
	st := &v.State
	st.Phase = engine.Verify
	st.Buttons[0].Enabled = false
	st.Repair = &engine.Repair{Accepted: "undo", At: sec(95), Button: "rollback", By: "U0LENA0001", Say: lab.Text{RU: "Восстановлен прежний Pod template.", EN: "The previous Pod template is back."}}
	st.Oracle = []engine.CheckState{
		{Name: "rollout", Mode: "eventually", Value: engine.True, Since: sec(96), Hold: 10 * time.Second},
		{Name: "pods", Mode: "eventually", Value: engine.False, Detail: "Pod/web-7c5ddbdf54-tq8dv", Hold: 10 * time.Second},
	}
	return v
}

// passed is break-image at its end, repaired by a learner's own kubectl.
func passed(t testing.TB, lang lab.Lang) View {
	v := verifying(t, lang)
	v.Now = sec(120)
	st := &v.State
	st.Phase, st.Outcome, st.Cleaned, st.Buttons = engine.Ended, engine.Passed, engine.Clean, nil
	st.Repair.Button, st.Repair.By, st.Repair.Manager = "", "", "kubectl-rollout"
	for i := range st.Oracle {
		st.Oracle[i].Value, st.Oracle[i].Final, st.Oracle[i].Detail = engine.True, true, ""
	}
	st.Steps = append(st.Steps,
		step(engine.Cleanup, "wipe", engine.ActDeleteNamespace, engine.StepDone, 107, 118, same("delete namespace k8s-m01 --wait=true")),
		step(engine.Cleanup, "proof", engine.ActGet, engine.StepExpected, 118, 118, lab.Text{RU: "get namespace k8s-m01: ожидается NotFound", EN: "get namespace k8s-m01: NotFound is expected"}),
	)
	st.Steps[len(st.Steps)-1].Note = `namespaces "k8s-m01" not found`
	st.EndedAt = sec(118)
	return v
}

// ended is a run that came to nothing.
func ended(lang lab.Lang, o engine.Outcome, c engine.CleanResult, why lab.Text) View {
	v := base(lang)
	v.Now = sec(30)
	st := &v.State
	st.Phase, st.Outcome, st.Cleaned, st.Why, st.Buttons, st.EndedAt = engine.Ended, o, c, why, nil, sec(20)
	return v
}

// reconciling is the other scenario, before and after its end.
func reconciling(t testing.TB, lang lab.Lang, over bool) View {
	v := base(lang)
	v.Title = lab.Text{RU: "Reconciliation: удалённый Pod возвращается", EN: "Reconciliation: a deleted Pod comes back"}
	v.Phases = []engine.Phase{engine.Prepare, engine.Inject, engine.Observe, engine.Verify, engine.Cleanup}
	v.Now, v.Hops = sec(12), hops(t, "healthy", "replacing", "replaced")
	st := &v.State
	st.Scenario, st.Phase = "reconcile", engine.Observe
	st.Buttons = []engine.ButtonState{{ID: "hint"}, {ID: "stop", Enabled: true}}
	st.Hints = []engine.HintState{{Index: 0, Due: sec(61), Text: lab.Text{RU: "Кто владеет Pod? Смотрите ownerReferences.", EN: "Who owns the Pod? Look at ownerReferences."}}}
	st.Steps[1].Say = lab.Text{RU: "API принял объект. Это ещё не готовность.", EN: "The API accepted the object. It is not ready yet."}
	st.Steps[2].Status, st.Steps[2].Ended = engine.StepDone, sec(3)
	st.Steps = append(st.Steps,
		step(engine.Prepare, "tree", engine.ActEvidence, engine.StepDone, 4, 6, same("evidence: Deployment, ReplicaSet, Pod")),
		step(engine.Inject, "victim", engine.ActChoose, engine.StepDone, 6, 6, lab.Text{RU: "выбрать Pod", EN: "choose a Pod"}),
		step(engine.Inject, "delete", engine.ActDeletePod, engine.StepDone, 7, 8, same("delete pod web-6d4cf56db6-9fs4c --wait=false")),
		step(engine.Observe, "replaced", engine.ActAssert, engine.StepRunning, 8, 0, lab.Text{RU: "наблюдать: new-pod, count-restored, template-untouched", EN: "observe: new-pod, count-restored, template-untouched"}),
	)
	st.Steps[6].Checks = []engine.CheckState{
		{Name: "new-pod", Mode: "eventually", Value: engine.True, Final: true},
		{Name: "count-restored", Mode: "eventually", Value: engine.True, Hold: 5 * time.Second},
		{Name: "template-untouched", Mode: "always", Value: engine.True},
	}
	v.Exhibits = map[string]exhibit.Exhibit{"tree": build(t, "tree", engine.ActEvidence, engine.Report{Of: []string{"deploy", "rs", "pods"}, Show: []string{"spec", "status", "conditions", "ownerReferences"}}, "healthy")}
	if !over {
		return v
	}
	st.Phase, st.Outcome, st.Cleaned, st.Buttons, st.EndedAt = engine.Ended, engine.Passed, engine.Clean, nil, sec(36)
	st.Steps[6].Status, st.Steps[6].Ended = engine.StepDone, sec(15)
	st.Steps = append(st.Steps, step(engine.Observe, "compare", engine.ActEvidence, engine.StepDone, 15, 16, lab.Text{RU: "сравнить до и после: ReplicaSet, Pod", EN: "compare before and after: ReplicaSet, Pod"}))
	st.Oracle = []engine.CheckState{{Name: "reconciled", Mode: "eventually", Value: engine.True, Final: true, Hold: 10 * time.Second}}
	v.Exhibits["compare"] = build(t, "compare", engine.ActEvidence, engine.Report{Of: []string{"rs", "pods"}, Show: []string{"status", "ownerReferences", "events"}, Compare: "tree", Reasons: []string{"SuccessfulCreate", "Killing", "Scheduled"}}, "replaced")
	return v
}

// views are the states that the golden files show.
func views(t testing.TB, lang lab.Lang) map[string]View {
	queued := base(lang)
	queued.Position, queued.Holder, queued.HolderBy, queued.HolderTitle = 3, "r-9zz8yy7x", "U0LENA0001", lab.Text{RU: "Reconciliation", EN: "Reconciliation"}
	queued.State.Steps, queued.State.NamespaceUID = nil, ""
	redis := fixing(t, lang)
	redis.Trouble, redis.TroubleSince = "redis", sec(60)
	unreachable := ended(lang, engine.Infrastructure, engine.CleanNotNeeded, lab.Text{RU: "API server не ответил за 8 секунд: connection refused.", EN: "The API server did not answer within 8 seconds: connection refused."})
	unreachable.State.UnreachableSince = sec(1)
	unreachable.State.Steps, unreachable.State.NamespaceUID = unreachable.State.Steps[:1], ""
	unreachable.State.Steps[0].Status, unreachable.State.Steps[0].Note = engine.StepFailed, "dial tcp 127.0.0.1:6443: connect: connection refused"
	taken := ended(lang, engine.Infrastructure, engine.CleanNotNeeded, lab.Text{RU: "Namespace k8s-m01 уже есть и создан не этим запуском. Он не тронут.", EN: "The namespace k8s-m01 is there already and was not made by this run. It was not touched."})
	taken.State.Steps, taken.State.NamespaceUID = taken.State.Steps[:1], ""
	taken.State.Steps[0].Reason = engine.ReasonNotOurs
	taken.State.Steps[0].Status, taken.State.Steps[0].Note = engine.StepFailed, `namespaces "k8s-m01" exists without the labels of this run`
	dirty := ended(lang, engine.TimedOut, engine.Dirty, lab.Text{RU: "За 15 минут Deployment не починили.", EN: "The Deployment was not repaired within 15 minutes."})
	dirty.State.Remains = "NamespaceFinalizersRemaining: Some content in the namespace has finalizers remaining: lab.dev/hold in 1 resource instances"
	stopped := ended(lang, engine.Stopped, engine.CleanUnknown, lab.Text{})
	stopped.State.Phase, stopped.State.StoppedBy = engine.Cleanup, "U0IRINA001"
	return map[string]View{
		"queued": queued, "prepare": base(lang), "observe": observing(t, lang), "fix": fixing(t, lang), "stuck": stuck(t, lang),
		"verify": verifying(t, lang), "passed": passed(t, lang), "redis": redis, "unreachable": unreachable, "taken": taken,
		"dirty": dirty, "stopped": stopped, "reconcile": reconciling(t, lang, false), "reconciled": reconciling(t, lang, true),
	}
}
