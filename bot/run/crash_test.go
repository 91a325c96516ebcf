package run_test

import (
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"labbot/bot/lab"
	"labbot/bot/run/runtest"
	"labbot/scenarios/engine"
)

// TestCrashAnywhere kills the process at an effect of a run, before it or after
// it, and lets another one go on: at every fifth effect, at a few with -short,
// and at every single one when LABBOT_CRASH is "all".
func TestCrashAnywhere(t *testing.T) {
	step := 5
	if testing.Short() {
		step = 29
	}
	if os.Getenv("LABBOT_CRASH") == "all" {
		step = 1
	}
	for _, after := range []bool{false, true} {
		for n := 1; n < 2000; n += step {
			name := fmt.Sprintf("after=%t/n=%03d", after, n)
			survived := false
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { survived = crashAt(t, n, after) })
			})
			if survived {
				t.Logf("after=%t: tried %d crash points", after, (n-1)/step)
				break
			}
		}
	}
}

// crashAt runs break-image in a process that dies at its n-th effect. It tells
// whether the run was over before that.
func crashAt(t *testing.T, n int, after bool) bool {
	l := newLab(t)
	defer l.end()
	mortal := runtest.NewMortal(n, after)
	p := l.boot("a/1", mortal)
	defer func() { p.close() }()
	died := false
	// revive starts another process after the first has died: another replica, or
	// the same instance again.
	revive := func() {
		select {
		case <-mortal.Dead():
		default:
			return
		}
		if died {
			return
		}
		died = true
		p.close()
		p = l.boot([]string{"a/2", "b/1"}[n%2], nil)
	}
	// A person whose command or click is not answered repeats it.
	var id lab.RunID
	for range 3 {
		s, err := p.Start(t.Context(), request("cmd-1"))
		if err == nil {
			id = s.ID
			break
		}
		revive()
	}
	if id == "" {
		t.Fatal("the command was never accepted")
	}
	pressed := false
	for end := time.Now().Add(10 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		revive()
		if time.Now().After(end) {
			r := l.load(id)
			t.Fatalf("not closed within 10 min: phase %s, outcome %q, owner %s, ver %d", r.State.Phase, r.State.Outcome, r.Owner, r.Ver)
		}
		r := l.load(id)
		if r.Closed {
			break
		}
		if r.State.Phase == engine.Fix && !pressed {
			pressed = p.Input(t.Context(), id, rollback()) == nil
		}
	}
	l.check(id, engine.Passed, engine.Clean)
	if got := l.cluster.Effects(engine.ActSetImage); got != 1 {
		t.Errorf("the fault was injected %d times", got)
	}
	return !died
}
