package enginetest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"labbot/bot/lab"
	"labbot/scenarios/engine"
)

// Run drives a Program against a World, as the flow of a run does: evidence in,
// intents out, results back. After every Step it holds that the State survives
// JSON without loss and that Step changed nothing of what it was given.
type Run struct {
	P     *engine.Program
	S     engine.State
	W     *World
	Facts []engine.Fact
	// Phases are those entered, in order.
	Phases []engine.Phase
	// Every is the time between two looks; half a second unless set.
	Every time.Duration

	t       testing.TB
	results []engine.Result
	inputs  []engine.Input
	serial  int
}

// Start begins a run of p in a new World.
func Start(t testing.TB, p *engine.Program, params map[string]string) *Run {
	t.Helper()
	w := New(time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC))
	s, err := p.Start(engine.StartArgs{Run: "r-test0001", Params: params, At: w.Now})
	if err != nil {
		t.Fatalf("start %s: %v", p.Name(), err)
	}
	return &Run{P: p, S: s, W: w, t: t, Every: tick, Phases: []engine.Phase{s.Phase}}
}

// Input hands in an act of a person with the next Step.
func (r *Run) Input(kind engine.InputKind, button string, by lab.UserID) engine.Input {
	r.serial++
	in := engine.Input{ID: fmt.Sprintf("i%d", r.serial), Kind: kind, Button: button, By: by, At: r.W.Now}
	r.inputs = append(r.inputs, in)
	return in
}

// Again hands in an act once more, as a repeated delivery does.
func (r *Run) Again(in engine.Input) { r.inputs = append(r.inputs, in) }

// Step makes one Step and carries its intents out.
func (r *Run) Step() {
	r.t.Helper()
	if !r.W.Lag {
		r.W.show()
	}
	ev := r.W.Evidence(r.P.Watches())
	ev.Results, ev.Inputs = r.results, r.inputs
	r.results, r.inputs = nil, nil
	before, evBefore := r.json(r.S), r.json(ev)
	next, facts := r.P.Step(r.S, ev, r.W.Now)
	if after := r.json(r.S); after != before {
		r.t.Fatalf("Step changed the State it was given:\n%s", cmp.Diff(before, after))
	}
	if after := r.json(ev); after != evBefore {
		r.t.Fatalf("Step changed the Evidence it was given")
	}
	r.S = r.stored(next)
	for _, f := range facts {
		if f.Kind == engine.FactPhase {
			r.Phases = append(r.Phases, engine.Phase(f.Name))
		}
	}
	r.Facts = append(r.Facts, facts...)
	for _, in := range r.S.Intents {
		if !in.NotBefore.After(r.W.Now) {
			r.results = append(r.results, r.W.Do(in))
		}
	}
}

// stored gives the State as it comes back from storage.
func (r *Run) stored(s engine.State) engine.State {
	r.t.Helper()
	var back engine.State
	raw := r.json(s)
	if err := json.Unmarshal([]byte(raw), &back); err != nil {
		r.t.Fatalf("State does not come back from JSON: %v", err)
	}
	if !reflect.DeepEqual(s, back) {
		r.t.Fatalf("State is not the same after JSON (-before +after):\n%s", cmp.Diff(s, back))
	}
	return back
}

func (r *Run) json(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		r.t.Fatalf("marshal: %v", err)
	}
	return string(raw)
}

// Until steps again and again until done, and fails the test after limit.
func (r *Run) Until(what string, limit time.Duration, done func(engine.State) bool) {
	r.t.Helper()
	for end := r.W.Now.Add(limit); ; {
		// Results come back at once: a step is made as long as there are any.
		for range 50 {
			r.Step()
			if done(r.S) {
				return
			}
			if len(r.results) == 0 {
				break
			}
		}
		if !r.W.Now.Before(end) {
			r.t.Fatalf("%s: not within %s; phase %s, outcome %q (%s)\n%s", what, limit, r.S.Phase, r.S.Outcome, r.S.Why.EN, r.Log())
		}
		r.W.Advance(r.Every)
	}
}

// UntilPhase steps until a phase is entered.
func (r *Run) UntilPhase(ph engine.Phase, limit time.Duration) {
	r.t.Helper()
	r.Until("phase "+string(ph), limit, func(s engine.State) bool { return s.Phase == ph })
}

// Stay steps for d.
func (r *Run) Stay(d time.Duration) {
	r.t.Helper()
	for end := r.W.Now.Add(d); r.W.Now.Before(end); {
		r.Step()
		r.W.Advance(r.Every)
	}
}

// Log gives the facts as lines, for messages of failed tests.
func (r *Run) Log() string {
	var b strings.Builder
	for _, f := range r.Facts {
		fmt.Fprintf(&b, "%7.1fs %-11s %-18s %s %s %s\n", f.At.Sub(r.S.StartedAt).Seconds(), f.Kind, f.Step, f.Name, f.By, f.Detail)
	}
	return b.String()
}

// Count counts the facts of a kind and, unless empty, a name.
func (r *Run) Count(kind engine.FactKind, name string) int {
	n := 0
	for _, f := range r.Facts {
		if f.Kind == kind && (name == "" || f.Name == name) {
			n++
		}
	}
	return n
}
