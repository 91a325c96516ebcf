package engine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"labbot/scenarios"
	"labbot/scenarios/engine"
	"labbot/scenarios/engine/enginetest"
)

const (
	student    = "U0STUDENT1"
	instructor = "U0TEACHER1"
)

func program(t testing.TB, name string) *engine.Program {
	t.Helper()
	r, err := scenarios.Library()
	if err != nil {
		t.Fatal(err)
	}
	p, ok := r.Find(name)
	if !ok {
		t.Fatalf("no scenario %s", name)
	}
	return p
}

func start(t *testing.T, name string) *enginetest.Run {
	t.Helper()
	r := enginetest.Start(t, program(t, name), nil)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log("\n" + r.Log())
		}
	})
	return r
}

// ends runs to the end and holds outcome and cleanup.
func ends(t *testing.T, r *enginetest.Run, o engine.Outcome, c engine.CleanResult) {
	t.Helper()
	r.UntilPhase(engine.Ended, 70*time.Minute)
	if r.S.Outcome != o || r.S.Cleaned != c {
		t.Errorf("outcome %q, cleaned %q (%s; %s), want %q, %q", r.S.Outcome, r.S.Cleaned, r.S.Why.EN, r.S.Remains, o, c)
	}
	if c == engine.Clean && !r.W.Gone() {
		t.Error("called clean, but something is left in the cluster")
	}
	if !r.S.Why.Complete() {
		t.Errorf("the reason lacks a half: %+v", r.S.Why)
	}
}

func moves(s engine.State) string {
	var names []string
	for _, m := range s.Moves {
		names = append(names, m.Name)
	}
	return strings.Join(names, " ")
}

func factAt(r *enginetest.Run, kind engine.FactKind) time.Time {
	for _, f := range r.Facts {
		if f.Kind == kind {
			return f.At
		}
	}
	return time.Time{}
}

func failing(pod map[string]any) bool { return enginetest.Waits(pod) != "" }

func TestBreakImageWithRollback(t *testing.T) {
	r := start(t, "break-image")
	r.UntilPhase(engine.Fix, 2*time.Minute)
	r.Input(engine.InputButton, "rollback", student)
	ends(t, r, engine.Passed, engine.Clean)
	want := []engine.Phase{engine.Prepare, engine.Inject, engine.Observe, engine.Fix, engine.Verify, engine.Cleanup, engine.Ended}
	if !slices.Equal(r.Phases, want) {
		t.Errorf("phases %v", r.Phases)
	}
	if got := *r.S.Repair; got.Button != "rollback" || got.By != student || got.Accepted != "undo" {
		t.Errorf("repair %+v", got)
	}
	proved := factAt(r, engine.FactOutcome).Sub(factAt(r, engine.FactRepair))
	if proved < 10*time.Second || proved > 20*time.Second {
		t.Errorf("the proof took %s: it holds for 10 s", proved)
	}
	if len(r.S.Moves) > 0 {
		t.Errorf("a plain rollback was called wrong: %s", moves(r.S))
	}
	for kind, n := range r.W.Done {
		if n != 1 {
			t.Errorf("%s took place %d times", kind, n)
		}
	}
}

func TestTheSameWithWatchesBehind(t *testing.T) {
	for _, name := range []string{"break-image", "reconcile"} {
		t.Run(name, func(t *testing.T) {
			r := start(t, name)
			r.W.Lag = true
			if name == "break-image" {
				r.UntilPhase(engine.Fix, 2*time.Minute)
				r.Input(engine.InputButton, "rollback", student)
			}
			ends(t, r, engine.Passed, engine.Clean)
			if len(r.S.Moves) > 0 {
				t.Errorf("accused of %s", moves(r.S))
			}
		})
	}
}

func TestBreakImageFixedByTheLearner(t *testing.T) {
	r := start(t, "break-image")
	r.UntilPhase(engine.Fix, 2*time.Minute)
	r.Stay(5 * time.Second)
	r.W.Undo("kubectl-rollout")
	ends(t, r, engine.Passed, engine.Clean)
	if got := *r.S.Repair; got.Button != "" || got.Manager != "kubectl-rollout" || got.Accepted != "undo" {
		t.Errorf("repair %+v", got)
	}
}

func TestBreakImageFixedBeforeTheLearnersPart(t *testing.T) {
	r := start(t, "break-image")
	r.W.SlackDown = true // keeps the run in observe
	r.UntilPhase(engine.Observe, 2*time.Minute)
	r.Stay(3 * time.Second)
	r.W.Undo("kubectl-rollout")
	r.Stay(5 * time.Second)
	r.W.SlackDown = false
	ends(t, r, engine.Passed, engine.Clean)
}

func TestBreakImageWithAnotherTag(t *testing.T) {
	r := start(t, "break-image")
	r.UntilPhase(engine.Fix, 2*time.Minute)
	r.Stay(2 * time.Second)
	r.W.SetImage("nginx:1.28-alpine", "kubectl-set")
	ends(t, r, engine.PassedWithNote, engine.Clean)
	if r.S.Repair.Accepted != "other-tag" || r.S.Repair.Manager != "kubectl-set" {
		t.Errorf("repair %+v", *r.S.Repair)
	}
}

// Another tag that does not exist either looks like a repair at first. The proof
// fails, the learners get another try, and Rollback still works.
func TestBreakImageWithAnotherBrokenTag(t *testing.T) {
	r := start(t, "break-image")
	r.UntilPhase(engine.Fix, 2*time.Minute)
	r.W.SetImage("nginx:also-missing", "kubectl-set")
	r.UntilPhase(engine.Verify, 10*time.Second)
	r.UntilPhase(engine.Fix, 3*time.Minute)
	r.Stay(30 * time.Second)
	if r.S.Phase != engine.Fix {
		t.Fatalf("the same wrong repair was taken twice: phase %s", r.S.Phase)
	}
	r.Input(engine.InputButton, "rollback", student)
	ends(t, r, engine.Passed, engine.Clean)
}

func TestFailedPodDeleted(t *testing.T) {
	r := start(t, "break-image")
	r.UntilPhase(engine.Fix, 2*time.Minute)
	for range 3 { // the same wrong move again costs nothing more
		r.W.DeletePods(failing)
		r.Stay(5 * time.Second)
	}
	if got := moves(r.S); got != "deleted-failed-pod" || r.S.Moves[0].Cost != 1 {
		t.Fatalf("moves %q %+v", got, r.S.Moves)
	}
	if n := r.Count(engine.FactMove, ""); n != 1 {
		t.Errorf("told %d times", n)
	}
	if r.S.Phase != engine.Fix {
		t.Errorf("a deleted Pod was taken for a repair: %s", r.S.Phase)
	}
	r.Input(engine.InputButton, "rollback", student)
	ends(t, r, engine.Passed, engine.Clean)
}

func TestScaledToZero(t *testing.T) {
	r := start(t, "break-image")
	r.UntilPhase(engine.Fix, 2*time.Minute)
	r.W.Scale(0)
	r.Stay(10 * time.Second)
	if got := moves(r.S); got != "scaled-to-zero" {
		t.Errorf("moves %q", got)
	}
	ends(t, r, engine.TimedOut, engine.Clean)
}

// What is seen for a moment only, as when two watches are apart, is no move.
func TestAMomentIsNoMove(t *testing.T) {
	r := start(t, "break-image")
	r.UntilPhase(engine.Fix, 2*time.Minute)
	r.Stay(time.Second)
	r.W.Scale(0)
	r.Step()
	r.W.Advance(500 * time.Millisecond)
	r.Step()
	r.W.Scale(2)
	r.Stay(5 * time.Second)
	if got := moves(r.S); strings.Contains(got, "scaled-to-zero") {
		t.Errorf("accused of %s", got)
	}
}

func TestDeploymentDeleted(t *testing.T) {
	r := start(t, "break-image")
	r.UntilPhase(engine.Fix, 2*time.Minute)
	r.W.DeleteDeployment()
	r.Stay(5 * time.Second)
	if got := moves(r.S); got != "deleted-deployment" {
		t.Errorf("moves %q", got)
	}
	r.Input(engine.InputButton, "rollback", student)
	r.Stay(2 * time.Second)
	if r.Count(engine.FactRefused, "rollback") != 1 || r.S.Phase != engine.Fix {
		t.Errorf("a Rollback without a Deployment was not refused; phase %s", r.S.Phase)
	}
	r.Input(engine.InputStop, "", instructor)
	ends(t, r, engine.Stopped, engine.Clean)
}

func TestNobodyRepairs(t *testing.T) {
	r := start(t, "break-image")
	r.UntilPhase(engine.Fix, 2*time.Minute)
	r.Every = 2 * time.Second
	ends(t, r, engine.TimedOut, engine.Clean)
	fix := r.S.FixDeadline.Sub(r.S.StartedAt)
	if fix < 15*time.Minute || fix > 17*time.Minute {
		t.Errorf("time to repair ended after %s", fix)
	}
}

func TestReconcile(t *testing.T) {
	r := start(t, "reconcile")
	ends(t, r, engine.Passed, engine.Clean)
	if slices.Contains(r.Phases, engine.Fix) {
		t.Error("reconcile has no part for learners")
	}
	if r.W.Done[engine.ActDeletePod] != 1 {
		t.Errorf("deleted %d Pods", r.W.Done[engine.ActDeletePod])
	}
	if took := r.S.EndedAt.Sub(r.S.StartedAt); took > time.Minute {
		t.Errorf("took %s: an always-check must not wait out its time", took)
	}
}

func TestReconcileDisturbed(t *testing.T) {
	r := start(t, "reconcile")
	r.UntilPhase(engine.Observe, time.Minute)
	r.W.Scale(1)
	ends(t, r, engine.Failed, engine.Clean)
}

func TestFaultDidNotTake(t *testing.T) {
	r := start(t, "break-image")
	r.W.Images = append(r.W.Images, "nginx:does-not-exist")
	ends(t, r, engine.Failed, engine.Clean)
	if !strings.Contains(r.S.Why.EN, "did not take") {
		t.Errorf("why: %s", r.S.Why.EN)
	}
}

func TestRegistryUnavailable(t *testing.T) {
	r := start(t, "break-image")
	r.UntilPhase(engine.Inject, time.Minute)
	r.W.RegistryDown = true
	ends(t, r, engine.Infrastructure, engine.Clean)
}

func TestPrepareTooSlow(t *testing.T) {
	r := start(t, "break-image")
	r.W.ReadyAfter = 10 * time.Minute
	ends(t, r, engine.Infrastructure, engine.Clean)
}

func TestForbidden(t *testing.T) {
	for _, kind := range []engine.ActionKind{engine.ActCreateDeployment, engine.ActSetImage} {
		t.Run(string(kind), func(t *testing.T) {
			r := start(t, "break-image")
			r.W.Denied = []engine.ActionKind{kind}
			ends(t, r, engine.Infrastructure, engine.Clean)
			if !strings.Contains(r.S.Why.EN, "Forbidden") {
				t.Errorf("why: %s", r.S.Why.EN)
			}
		})
	}
}

func TestNamespaceNotOurs(t *testing.T) {
	r := start(t, "break-image")
	r.W.Foreign = true
	ends(t, r, engine.Infrastructure, engine.CleanNotNeeded)
	if len(r.W.Done) > 0 {
		t.Errorf("something was touched: %v", r.W.Done)
	}
	if !strings.Contains(r.S.Why.EN, "k8s-m01") || !strings.Contains(r.S.Why.RU, "k8s-m01") {
		t.Errorf("why: %+v", r.S.Why)
	}
}

func TestStopInEachPhase(t *testing.T) {
	for _, ph := range []engine.Phase{engine.Inject, engine.Observe, engine.Fix, engine.Verify} {
		t.Run(string(ph), func(t *testing.T) {
			r := start(t, "break-image")
			if ph == engine.Verify {
				r.UntilPhase(engine.Fix, 2*time.Minute)
				r.Input(engine.InputButton, "rollback", student)
			}
			r.W.SlackDown = ph == engine.Observe
			r.UntilPhase(ph, 2*time.Minute)
			r.Input(engine.InputStop, "", instructor)
			ends(t, r, engine.Stopped, engine.Clean)
			if r.S.StoppedBy != instructor {
				t.Errorf("stopped by %q", r.S.StoppedBy)
			}
		})
	}
}

// A stop at every single step of prepare leaves nothing behind, wherever the
// creation of the namespace stands.
func TestStopInPrepare(t *testing.T) {
	for after := range 6 {
		r := start(t, "break-image")
		for range after {
			r.Step()
		}
		r.Input(engine.InputStop, "", instructor)
		r.UntilPhase(engine.Ended, 5*time.Minute)
		if r.S.Outcome != engine.Stopped || !r.W.Gone() {
			t.Errorf("after %d steps: outcome %s, gone %t\n%s", after, r.S.Outcome, r.W.Gone(), r.Log())
		}
	}
}

func TestStopDuringCleanupIsNoNews(t *testing.T) {
	r := start(t, "break-image")
	r.UntilPhase(engine.Fix, 2*time.Minute)
	r.Input(engine.InputStop, "", instructor)
	r.UntilPhase(engine.Cleanup, 10*time.Second)
	r.Input(engine.InputStop, "", student)
	ends(t, r, engine.Stopped, engine.Clean)
	if r.S.StoppedBy != instructor || r.Count(engine.FactRefused, "stop") != 1 {
		t.Errorf("stopped by %s", r.S.StoppedBy)
	}
}

func TestNamespaceStuck(t *testing.T) {
	r := start(t, "break-image")
	r.W.Stuck = true
	r.UntilPhase(engine.Fix, 2*time.Minute)
	r.Input(engine.InputStop, "", instructor)
	ends(t, r, engine.Stopped, engine.Dirty)
	if !strings.Contains(r.S.Remains, "SomeFinalizersRemain") {
		t.Errorf("remains %q", r.S.Remains)
	}
}

func TestUnreachableFromTheStart(t *testing.T) {
	r := start(t, "break-image")
	r.W.Unreachable = true
	r.UntilPhase(engine.Ended, 10*time.Second)
	if r.S.Outcome != engine.Infrastructure || r.S.Cleaned != engine.CleanNotNeeded {
		t.Errorf("outcome %s, cleaned %s", r.S.Outcome, r.S.Cleaned)
	}
}

// An outage that was over, or that began, before the run started says nothing
// about the run: its own 8 s have not passed.
func TestAnOldOutageIsNotThisRuns(t *testing.T) {
	r := start(t, "break-image")
	r.W.StaleSince = r.W.Now.Add(-time.Minute)
	r.Stay(2 * time.Second)
	if r.S.Outcome != "" {
		t.Fatalf("outcome %s after 2 s", r.S.Outcome)
	}
	r.W.StaleSince = time.Time{}
	r.UntilPhase(engine.Fix, 2*time.Minute)
}

// Whether a request that got no answer has made the namespace is not known until
// somebody asks, so nobody may say that there is nothing to clean.
func TestAnAnswerThatNeverCameIsNotACleanSlate(t *testing.T) {
	r := start(t, "break-image")
	r.W.Unreachable, r.W.Swallows = true, true
	r.UntilPhase(engine.Cleanup, 20*time.Second)
	if r.S.Outcome != engine.Infrastructure {
		t.Fatalf("outcome %s", r.S.Outcome)
	}
	r.Stay(2 * time.Minute)
	if r.S.Phase == engine.Ended {
		t.Fatalf("ended %s while the API is silent", r.S.Cleaned)
	}
	r.W.Unreachable = false
	ends(t, r, engine.Infrastructure, engine.Clean)
}

// The cluster is silent for a moment just when a step's time is over. That is no
// outage, and the step is judged by the next news.
func TestAMomentOfSilenceAtTheEndOfAStep(t *testing.T) {
	r := start(t, "break-image")
	r.UntilPhase(engine.Inject, time.Minute)
	r.Stay(18 * time.Second)
	r.W.Unreachable = true
	r.Stay(4 * time.Second)
	r.W.Unreachable = false
	r.UntilPhase(engine.Fix, 2*time.Minute)
	if r.S.Outcome != "" {
		t.Errorf("outcome %s", r.S.Outcome)
	}
}

// A short outage changes nothing but the time that a run takes.
func TestShortOutage(t *testing.T) {
	for _, ph := range []engine.Phase{engine.Inject, engine.Fix, engine.Verify, engine.Cleanup} {
		t.Run(string(ph), func(t *testing.T) {
			r := start(t, "break-image")
			cut := func(at engine.Phase) {
				if at != ph {
					return
				}
				r.W.Unreachable = true
				r.Stay(12 * time.Second)
				r.W.Unreachable = false
			}
			r.UntilPhase(engine.Inject, time.Minute)
			cut(engine.Inject)
			r.UntilPhase(engine.Fix, 2*time.Minute)
			cut(engine.Fix)
			r.Input(engine.InputButton, "rollback", student)
			r.UntilPhase(engine.Verify, time.Minute)
			cut(engine.Verify)
			r.UntilPhase(engine.Cleanup, time.Minute)
			cut(engine.Cleanup)
			ends(t, r, engine.Passed, engine.Clean)
			if r.Count(engine.FactUnreached, "") == 0 || r.Count(engine.FactReachAgain, "") == 0 {
				t.Error("the outage was not told")
			}
		})
	}
}

func TestLongOutage(t *testing.T) {
	r := start(t, "break-image")
	r.UntilPhase(engine.Observe, 2*time.Minute)
	r.UntilPhase(engine.Fix, 2*time.Minute)
	r.W.Unreachable = true
	r.UntilPhase(engine.Cleanup, 20*time.Minute)
	if r.S.Outcome != engine.Infrastructure {
		t.Errorf("outcome %s", r.S.Outcome)
	}
	r.W.Unreachable = false
	ends(t, r, engine.Infrastructure, engine.Clean)
}

func TestOutageWithoutEnd(t *testing.T) {
	r := start(t, "break-image")
	r.UntilPhase(engine.Fix, 2*time.Minute)
	r.W.Unreachable = true
	r.Every = 5 * time.Second
	ends(t, r, engine.Infrastructure, engine.Dirty)
	if took := r.S.EndedAt.Sub(r.S.StartedAt); took < 60*time.Minute || took > 66*time.Minute {
		t.Errorf("gave up after %s", took)
	}
}

func TestHints(t *testing.T) {
	r := start(t, "break-image")
	r.Input(engine.InputHint, "", student)
	r.UntilPhase(engine.Fix, 2*time.Minute)
	begin := r.S.PhaseStarted
	r.Input(engine.InputHint, "", student)
	r.Stay(time.Second)
	if r.Count(engine.FactRefused, "hint") != 2 {
		t.Fatalf("a hint before its time was given\n%s", r.Log())
	}
	last := r.Facts[len(r.Facts)-1].Detail
	if due, err := time.Parse(time.RFC3339, last); err != nil || !due.Equal(begin.Add(2*time.Minute).Truncate(time.Second)) {
		t.Errorf("the refusal names %q as the time of the first hint", last)
	}
	r.Stay(4 * time.Minute)
	for range 3 { // two are due by now
		r.Input(engine.InputHint, "", student)
	}
	r.Stay(time.Second)
	if got := r.Count(engine.FactHint, ""); got != 2 {
		t.Errorf("%d hints were given", got)
	}
	if h := r.S.Hints; h[0].By != student || h[0].Shown.IsZero() || !h[2].Shown.IsZero() || h[1].Cost != 1 {
		t.Errorf("hints %+v", h)
	}
}

func TestInputsCountOnce(t *testing.T) {
	r := start(t, "break-image")
	r.UntilPhase(engine.Fix, 2*time.Minute)
	r.Stay(3 * time.Minute)
	in := r.Input(engine.InputHint, "", student)
	r.Again(in)
	r.Step()
	r.Again(in)
	r.Step()
	if got := r.Count(engine.FactInput, ""); got != 1 {
		t.Errorf("the same act was taken %d times", got)
	}
}

func TestButtonsWaitForEvidence(t *testing.T) {
	r := start(t, "break-image")
	r.W.SlackDown = true
	r.UntilPhase(engine.Observe, 2*time.Minute)
	r.Input(engine.InputButton, "rollback", student)
	r.Stay(2 * time.Second)
	if r.Count(engine.FactRefused, "rollback") != 1 || r.W.Done[engine.ActUndo] != 0 {
		t.Error("Rollback was allowed before the evidence stood")
	}
	r.W.SlackDown = false
	r.UntilPhase(engine.Fix, time.Minute)
	r.Step()
	for _, b := range r.S.Buttons {
		if b.Enabled != (b.ID != "hint") {
			t.Errorf("button %+v", b)
		}
	}
	r.Input(engine.InputButton, "rolback", student)
	r.Step()
	if r.Count(engine.FactRefused, "rolback") != 1 {
		t.Error("an unknown button was taken")
	}
}

// The proof of repair must be false while the fault is there, else every run
// passes by itself, and true before it, else nobody can pass.
func TestOracleTellsBrokenFromHealthy(t *testing.T) {
	all := func(r *enginetest.Run) engine.Truth {
		t.Helper()
		v := engine.True
		for _, c := range r.P.Oracle(r.S, r.W.Evidence(r.P.Watches())) {
			if c.Value != engine.True {
				v = c.Value
			}
		}
		return v
	}
	r := start(t, "break-image")
	r.UntilPhase(engine.Inject, time.Minute)
	if got := all(r); got != engine.True {
		t.Errorf("break-image: oracle after prepare is %s", got)
	}
	r.UntilPhase(engine.Observe, time.Minute)
	if got := all(r); got != engine.False {
		t.Errorf("break-image: oracle after inject is %s", got)
	}
	r = start(t, "reconcile")
	r.UntilPhase(engine.Observe, time.Minute)
	if got := all(r); got == engine.True {
		t.Error("reconcile: oracle after inject is true")
	}
}

func TestRunsWithLabRegistry(t *testing.T) {
	p := program(t, "break-image")
	r := enginetest.Start(t, p, nil)
	s, err := p.Start(engine.StartArgs{Run: "r-test0001", At: r.W.Now, Registries: map[string]string{"docker.io": "registry.lab:5000"}})
	if err != nil {
		t.Fatal(err)
	}
	r.S = s
	r.UntilPhase(engine.Fix, 2*time.Minute)
	if got := r.S.Images["broken"]; got != "registry.lab:5000/library/nginx:does-not-exist" {
		t.Errorf("broken image %v", got)
	}
	for _, ss := range r.S.Steps {
		if ss.ID == "set-image" && (ss.Title.EN != "set image deployment/web nginx=nginx:does-not-exist" ||
			ss.Kubectl != "kubectl -n k8s-m01 set image deployment/web nginx=registry.lab:5000/library/nginx:does-not-exist") {
			t.Errorf("title %q, kubectl %q", ss.Title.EN, ss.Kubectl)
		}
	}
	r.Input(engine.InputButton, "rollback", student)
	ends(t, r, engine.Passed, engine.Clean)
}
