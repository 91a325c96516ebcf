package run_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"labbot/bot/lab"
	"labbot/bot/run"
	"labbot/bot/run/runtest"
	"labbot/scenarios/engine"
	"labbot/scenarios/engine/enginetest"
)

// forever is a process that does not die by itself.
func forever() *runtest.Mortal { return runtest.NewMortal(1<<30, false) }

// troubled tells whether the board shows a trouble that it did not show before.
func (l *lab1) boardChanged(id lab.RunID, before string) bool { return l.slack.Board(id) != before }

func TestLogAwayForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		p := l.boot("a/1", nil)
		id := l.start(p, "cmd-1")
		l.untilPhase(id, engine.Fix)
		calm := l.slack.Board(id)
		l.log.SetDown(true)
		l.until("the board says so", 5*time.Second, func() bool { return l.boardChanged(id, calm) })
		if got := p.View(l.load(id)); got.Trouble != "redis" || got.TroubleSince.IsZero() {
			t.Errorf("trouble = %q since %s, want redis", got.Trouble, got.TroubleSince)
		}
		time.Sleep(30 * time.Second)
		if err := p.Input(t.Context(), id, rollback()); err == nil {
			t.Error("an act was accepted that nobody recorded")
		}
		if l.cluster.Effects(engine.ActUndo) != 0 {
			t.Error("something was done to the cluster without a record")
		}
		l.log.SetDown(false)
		l.until("the board is calm again", 5*time.Second, func() bool { return p.View(l.load(id)).Trouble == "" })
		if err := p.Input(t.Context(), id, rollback()); err != nil {
			t.Fatal(err)
		}
		l.untilClosed(id)
		l.check(id, engine.Passed, engine.Clean)
		p.close()
		l.end()
	})
}

// TestLogStaysAway takes the log away in every phase: the run is cleaned up
// without it, and closed in it when it is back.
func TestLogStaysAway(t *testing.T) {
	for _, ph := range []engine.Phase{engine.Prepare, engine.Inject, engine.Fix, engine.Verify, engine.Cleanup} {
		t.Run(string(ph), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t)
				p := l.boot("a/1", nil)
				id := l.start(p, "cmd-1")
				if ph == engine.Verify || ph == engine.Cleanup {
					l.untilPhase(id, engine.Fix)
					if err := p.Input(t.Context(), id, rollback()); err != nil {
						t.Fatal(err)
					}
				}
				l.until("a board in phase "+string(ph), time.Minute, func() bool {
					r, ok := l.log.Peek(id)
					return ok && r.State.Phase == ph && l.slack.Board(id) != "" && (ph != engine.Prepare || r.State.NamespaceUID != "")
				})
				outcome := l.load(id).State.Outcome
				l.log.SetDown(true)
				l.until("cleaned up without the log", 2*time.Minute, l.cluster.Empty)
				l.until("final board", 90*time.Second, func() bool {
					v := p.View(l.load(id))
					return v.State.Phase == engine.Ended && v.State.Cleaned == engine.Clean
				})
				if l.load(id).Closed {
					t.Error("closed in a log that is away")
				}
				time.Sleep(5 * time.Minute)
				l.log.SetDown(false)
				l.untilClosed(id)
				if outcome == "" {
					outcome = engine.Infrastructure
				}
				l.check(id, outcome, engine.Clean)
				p.close()
				l.end()
			})
		})
	}
}

// TestLogCutOffWhileNamespaceIsMade takes the log away at the moment at which
// the answer of the creation comes.
func TestLogCutOffWhileNamespaceIsMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		m := forever()
		p := l.boot("a/1", m)
		id := l.start(p, "cmd-1")
		l.until("namespace made", 5*time.Second, func() bool {
			if l.cluster.Made(id) == 1 {
				m.Cut(true)
				return true
			}
			return false
		})
		l.until("cleaned up without the log", 2*time.Minute, l.cluster.Empty)
		m.Cut(false)
		l.untilClosed(id)
		l.check(id, engine.Infrastructure, engine.Clean)
		p.close()
		l.end()
	})
}

// TestPartedOwnerDoesNothingMore cuts one of two processes off from the log: the
// other goes on, and the first, once it sees the log again, lets go.
func TestPartedOwnerDoesNothingMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		m := forever()
		a := l.boot("a/1", m)
		id := l.start(a, "cmd-1")
		l.untilPhase(id, engine.Fix)
		b := l.boot("b/1", nil)
		begin := time.Now()
		m.Cut(true)
		l.until("taken over", 16*time.Second, func() bool { return strings.HasPrefix(l.load(id).Owner, "b/") })
		t.Logf("taken over %s after the cut", time.Since(begin))
		m.Cut(false)
		if err := b.Input(t.Context(), id, rollback()); err != nil {
			t.Fatal(err)
		}
		r := l.untilClosed(id)
		l.check(id, engine.Passed, engine.Clean)
		if n := l.cluster.Effects(engine.ActUndo); n != 1 {
			t.Errorf("rolled back %d times, want 1", n)
		}
		if r.State.Repair == nil || r.State.Repair.By != "U0STUDENT1" {
			t.Errorf("repair = %+v", r.State.Repair)
		}
		a.close()
		b.close()
		l.end()
	})
}

func TestLogLosesTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		p := l.boot("a/1", nil)
		id := l.start(p, "cmd-1")
		l.untilPhase(id, engine.Fix)
		l.log.Forget()
		l.until("cleaned up", time.Minute, l.cluster.Empty)
		l.until("let go", time.Minute, func() bool { return p.View(run.Record{ID: id}).State.Phase == "" })
		if !strings.Contains(l.slack.Board(id), "Redis") && l.slack.Board(id) == "" {
			t.Error("no final board")
		}
		p.close()
		l.end()
	})
}

func TestClusterUnreachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		l.cluster.With(func(w *enginetest.World) { w.Unreachable = true })
		p := l.boot("a/1", nil)
		begin := time.Now()
		id := l.start(p, "cmd-1")
		if took := time.Since(begin); took > time.Second {
			t.Errorf("Start took %s", took)
		}
		l.until("told within 10 s", 10*time.Second, func() bool { return p.View(l.load(id)).Trouble == "cluster" })
		l.untilClosed(id)
		l.check(id, engine.Infrastructure, engine.CleanNotNeeded)
		p.close()
		l.end()
	})
}

func TestClusterUnreachableInMidRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		p := l.boot("a/1", nil)
		id := l.start(p, "cmd-1")
		l.untilPhase(id, engine.Fix)
		l.cluster.With(func(w *enginetest.World) { w.Unreachable = true })
		l.until("told within 10 s", 10*time.Second, func() bool { return p.View(l.load(id)).Trouble == "cluster" })
		time.Sleep(time.Minute)
		l.cluster.With(func(w *enginetest.World) { w.Unreachable = false })
		l.until("calm again", 10*time.Second, func() bool { return p.View(l.load(id)).Trouble == "" })
		if err := p.Input(t.Context(), id, rollback()); err != nil {
			t.Fatal(err)
		}
		l.untilClosed(id)
		l.check(id, engine.Passed, engine.Clean)
		p.close()
		l.end()
	})
}

func TestStopWhileTheNamespaceIsBeingMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		l.cluster.With(func(w *enginetest.World) { w.Unreachable = true })
		p := l.boot("a/1", nil)
		id := l.start(p, "cmd-1")
		time.Sleep(time.Second)
		if err := p.Input(t.Context(), id, stopIt()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		l.cluster.With(func(w *enginetest.World) { w.Unreachable = false })
		r := l.untilClosed(id)
		l.check(id, engine.Stopped, r.State.Cleaned)
		p.close()
		l.end()
	})
}

func TestForeignNamespaceIsNotTouched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		l.cluster.With(func(w *enginetest.World) { w.Foreign = true })
		p := l.boot("a/1", nil)
		id := l.start(p, "cmd-1")
		r := l.untilClosed(id)
		if r.State.Outcome != engine.Infrastructure || r.State.Cleaned != engine.CleanNotNeeded || r.State.Why.IsZero() {
			t.Errorf("outcome %q, cleaned %q, why %q", r.State.Outcome, r.State.Cleaned, r.State.Why.EN)
		}
		for _, kind := range []engine.ActionKind{engine.ActCreateDeployment, engine.ActSetImage, engine.ActDeleteNamespace} {
			if n := l.cluster.Effects(kind); n != 0 {
				t.Errorf("%s took place %d times in a namespace that is not ours", kind, n)
			}
		}
		p.close()
		l.end()
	})
}

// TestDirtyNamespaceIsKeptFromOthers holds a namespace in Terminating past every
// limit: the next run waits, and goes on when it is gone at last.
func TestDirtyNamespaceIsKeptFromOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		p := l.boot("a/1", nil)
		first := l.start(p, "cmd-1")
		l.untilPhase(first, engine.Fix)
		l.cluster.With(func(w *enginetest.World) { w.Stuck = true })
		if err := p.Input(t.Context(), first, stopIt()); err != nil {
			t.Fatal(err)
		}
		second := l.start(p, "cmd-2")
		l.until("dirty", 90*time.Minute, func() bool { return l.load(first).State.Cleaned == engine.Dirty })
		time.Sleep(10 * time.Minute)
		if r := l.load(first); r.Closed {
			t.Error("closed while its namespace is there")
		}
		if r := l.load(second); r.Position != 1 || l.cluster.Made(second) != 0 {
			t.Errorf("the second is at position %d and made %d namespaces", r.Position, l.cluster.Made(second))
		}
		l.cluster.With(func(w *enginetest.World) { w.Stuck = false })
		l.untilClosed(first)
		if r := l.load(first); r.State.Cleaned != engine.Clean {
			t.Errorf("first: cleaned %q, want clean at last", r.State.Cleaned)
		}
		l.until("second begins", time.Minute, func() bool { return l.cluster.Made(second) == 1 })
		if err := p.Input(t.Context(), second, engine.Input{ID: "s2", Kind: engine.InputStop, At: time.Now()}); err != nil {
			t.Fatal(err)
		}
		l.untilClosed(second)
		l.check(second, engine.Stopped, engine.Clean)
		p.close()
		l.end()
	})
}

// TestJanitor leaves a namespace behind whose run the log does not know.
func TestJanitor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		expires := time.Now().Add(10 * time.Minute)
		l.cluster.Do(t.Context(), run.Meta{Run: "r-lost", Namespace: "k8s-m01", Expires: expires},
			engine.Intent{ID: "x", Kind: engine.ActCreateNamespace, CreateNamespace: &engine.CreateNamespace{Name: "k8s-m01"}})
		p := l.boot("a/1", nil)
		time.Sleep(9 * time.Minute)
		if l.cluster.Empty() {
			t.Error("deleted before its own expiry")
		}
		l.until("deleted", 4*time.Minute, l.cluster.Empty)
		p.close()
		l.end()
	})
}

func TestShow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		a := l.boot("a/1", nil)
		id := l.start(a, "cmd-1")
		if _, err := a.Show(t.Context(), id, engine.ActDescribe); !refused(err) {
			t.Errorf("Show before there is anything: %v, want a refusal", err)
		}
		l.untilPhase(id, engine.Fix)
		b := l.boot("b/1", nil)
		for name, p := range map[string]*process{"owner": a, "other replica": b} {
			x, err := p.Show(t.Context(), id, engine.ActDescribe)
			if err != nil || x.Kind != string(engine.ActDescribe) || len(x.Parts) == 0 && x.Full == "" {
				t.Errorf("%s: Show = %+v, %v", name, x, err)
			}
		}
		if err := a.Input(t.Context(), id, stopIt()); err != nil {
			t.Fatal(err)
		}
		l.untilClosed(id)
		if x, err := b.Show(t.Context(), id, engine.ActEvents); err != nil || x.Step != "events" {
			t.Errorf("after the run: %+v, %v, want the exhibit of the thread", x, err)
		}
		recs, err := b.Status(t.Context(), "C0COHORT01")
		if err != nil || len(recs) != 1 || recs[0].ID != id {
			t.Errorf("Status = %d records, %v", len(recs), err)
		}
		ts := l.slack.Of(id)[0].TS
		if r, err := b.ByThread(t.Context(), "C0COHORT01", ts); err != nil || r.ID != id {
			t.Errorf("ByThread = %s, %v, want %s", r.ID, err, id)
		}
		a.close()
		b.close()
		l.end()
	})
}

func TestRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		p := l.boot("a/1", nil)
		for name, change := range map[string]func(*run.StartRequest){
			"unknown scenario":  func(q *run.StartRequest) { q.Scenario = "break-imgae" },
			"unknown cluster":   func(q *run.StartRequest) { q.Cluster = "prod" },
			"unknown parameter": func(q *run.StartRequest) { q.Params = map[string]string{"colour": "red"} },
			"bad value":         func(q *run.StartRequest) { q.Params = map[string]string{"replicas": "99"} },
		} {
			q := request(name)
			change(&q)
			_, err := p.Start(t.Context(), q)
			r, ok := errors.AsType[*run.Refusal](err)
			if !ok || r.Reply(lab.RU) == "" || r.Reply(lab.EN) == "" || strings.HasPrefix(r.Reply(lab.EN), "run.") {
				t.Errorf("%s: %v, want a refusal in both languages", name, err)
			}
		}
		l.log.SetDown(true)
		if _, err := p.Start(t.Context(), request("down")); err == nil || !strings.Contains(err.Error(), "break-image") {
			t.Errorf("log away: %v, want an error that names the scenario", err)
		}
		p.close()
		l.end()
	})
}

// TestClusterAwayUntilTheEnd takes the cluster away while the namespace is being
// made and for longer than any limit: it is found and deleted in the end.
func TestClusterAwayUntilTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		p := l.boot("a/1", nil)
		id := l.start(p, "cmd-1")
		l.until("namespace made", 5*time.Second, func() bool { return l.cluster.Made(id) == 1 })
		l.cluster.With(func(w *enginetest.World) { w.Unreachable = true })
		if err := p.Input(t.Context(), id, stopIt()); err != nil {
			t.Fatal(err)
		}
		l.until("given up for now", 90*time.Minute, func() bool { return l.load(id).State.Cleaned == engine.Dirty })
		l.cluster.With(func(w *enginetest.World) { w.Unreachable = false })
		l.untilClosed(id)
		l.check(id, engine.Stopped, engine.Clean)
		p.close()
		l.end()
	})
}

// refused tells whether err is a refusal that can be told in Russian.
func refused(err error) bool {
	r, ok := errors.AsType[*run.Refusal](err)
	return ok && r.Reply(lab.RU) != ""
}
