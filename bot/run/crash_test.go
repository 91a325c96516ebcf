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
	dead := func() bool {
		select {
		case <-mortal.Dead():
			return true
		default:
			return false
		}
	}
	// A person whose command or click is not answered repeats it.
	revive := func() {
		if dead() && p.Runner != nil && mortal != nil {
			p.close()
			owner := "b/1"
			if n%2 == 0 {
				owner = "a/2"
			}
			p = l.boot(owner, nil)
			mortal = runtest.NewMortal(1<<30, false)
		}
	}
	died := false
	tick := func() { died = died || dead(); revive() }
	var id lab.RunID
	for id == "" {
		s, err := p.Start(t.Context(), request("cmd-1"))
		if err == nil {
			id = s.ID
		}
		tick()
	}
	pressed := false
	for end := time.Now().Add(10 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		tick()
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
	if got := l.cluster.Effects(engine.ActSetImage); got != 1 && !(after && got <= 2) {
		t.Errorf("the fault was injected %d times", got)
	}
	return !died
}
