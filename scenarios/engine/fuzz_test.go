package engine_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"labbot/scenarios/engine"
	"labbot/scenarios/engine/enginetest"
)

// FuzzLoad holds that no file takes the loader down, and that what loads also
// starts and has its titles.
func FuzzLoad(f *testing.F) {
	f.Add(shipped(f, "break-image"))
	f.Add(shipped(f, "reconcile"))
	f.Add("a: &a [*a]")
	f.Add("apiVersion: labbot/v1\nspec: {phases: {prepare: [{id: x, createNamespace: {}}, 1, []]}}")
	f.Fuzz(func(t *testing.T, file string) {
		p, err := engine.Load("f.yaml", []byte(file))
		if err != nil {
			if err.Error() == "" {
				t.Error("a refusal without a word")
			}
			return
		}
		if _, err := p.Start(engine.StartArgs{Run: "r-fuzz"}); err != nil {
			t.Errorf("loads but does not start: %v", err)
		}
		for _, ph := range p.Phases() {
			for _, st := range ph.Steps {
				if !st.Title.Complete() {
					t.Errorf("step %s has no title", st.ID)
				}
			}
		}
	})
}

// FuzzStep feeds a run with evidence, results and acts that are random to a
// degree: from a cluster with small disturbances to pure nonsense. Step must
// never panic, keep its phases in order, survive JSON, leave its input alone, and
// come to an end.
func FuzzStep(f *testing.F) {
	for seed := range uint64(30) {
		f.Add(seed, uint8(seed%6), seed%2 == 0)
	}
	f.Fuzz(func(t *testing.T, seed uint64, noise uint8, fixable bool) {
		name := "reconcile"
		if fixable {
			name = "break-image"
		}
		newChaos(t, name, seed, noise).live(t)
	})
}

// chaos is a cluster, a Slack and a class that disturb one another.
type chaos struct {
	rng   *rand.Rand
	p     *engine.Program
	w     *enginetest.World
	s     engine.State
	noise int // in 64: how often a disturbance comes
}

func newChaos(t *testing.T, name string, seed uint64, noise uint8) *chaos {
	levels := []int{0, 1, 2, 8, 32, 60}
	return &chaos{
		rng: rand.New(rand.NewPCG(seed, 7)), p: program(t, name), noise: levels[int(noise)%len(levels)],
		w: enginetest.New(time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)),
	}
}

func (c *chaos) disturbed() bool { return c.rng.IntN(64) < c.noise }

var order = []engine.Phase{engine.Prepare, engine.Inject, engine.Observe, engine.Fix, engine.Verify, engine.Cleanup, engine.Ended}

// live goes through a whole run and gives its last State.
func (c *chaos) live(t *testing.T) engine.State {
	s, err := c.p.Start(engine.StartArgs{Run: "r-fuzz", At: c.w.Now})
	if err != nil {
		t.Fatal(err)
	}
	end := s.Deadline.Add(20 * time.Minute)
	for s.Phase != engine.Ended {
		if c.w.Now.After(end) {
			t.Fatalf("not over %s after its limit: phase %s, outcome %s", c.w.Now.Sub(s.Deadline), s.Phase, s.Outcome)
		}
		c.s = s
		ev := c.evidence()
		ev.Inputs = c.inputs()
		before := mustJSON(t, s) + mustJSON(t, ev)
		next, facts := c.p.Step(s, ev, c.w.Now)
		if mustJSON(t, s)+mustJSON(t, ev) != before {
			t.Fatal("Step changed what it was given")
		}
		if again, _ := c.p.Step(s, ev, c.w.Now); !reflect.DeepEqual(again, next) {
			t.Fatal("the same arguments gave another State")
		}
		c.hold(t, s, next, facts)
		var back engine.State
		if err := json.Unmarshal([]byte(mustJSON(t, next)), &back); err != nil || !reflect.DeepEqual(back, next) {
			t.Fatalf("State is not the same after JSON: %v", err)
		}
		s = back
		c.w.Advance([]time.Duration{0, time.Second, 5 * time.Second, 10 * time.Second}[c.rng.IntN(4)])
		if c.disturbed() {
			c.w.Advance(90 * time.Second)
		}
	}
	if s.Outcome == "" || s.Cleaned == "" || !s.Why.Complete() || len(s.Intents) > 0 {
		t.Fatalf("ended without outcome, proof or reason: %+v", s)
	}
	if s.Cleaned == engine.Clean && !c.w.Gone() && c.noise < 8 {
		t.Fatalf("called clean with something left")
	}
	return s
}

// The random runs are worth something only if they come into every phase.
func TestChaosComesEverywhere(t *testing.T) {
	outcomes := map[engine.Outcome]int{}
	for seed := range uint64(60) {
		s := newChaos(t, "break-image", seed, uint8(seed)%4).live(t)
		outcomes[s.Outcome]++
	}
	for _, o := range []engine.Outcome{engine.Passed, engine.Failed, engine.Stopped, engine.Infrastructure} {
		if outcomes[o] == 0 {
			t.Errorf("no run ended as %s: %v", o, outcomes)
		}
	}
	t.Log(outcomes)
}

// hold checks what must be true of every Step.
func (c *chaos) hold(t *testing.T, a, b engine.State, facts []engine.Fact) {
	from, to := slices.Index(order, a.Phase), slices.Index(order, b.Phase)
	if back := a.Phase == engine.Verify && b.Phase == engine.Fix; to < from && !back {
		t.Fatalf("phase went from %s to %s", a.Phase, b.Phase)
	}
	if a.Outcome != "" && b.Outcome != a.Outcome {
		t.Fatalf("outcome went from %s to %s", a.Outcome, b.Outcome)
	}
	if len(facts) > 200 || len(b.Inputs) > 200 || len(b.Intents) > 5 {
		t.Fatalf("without bound: %d facts, %d inputs, %d intents", len(facts), len(b.Inputs), len(b.Intents))
	}
	if b.Phase != engine.Ended && !b.WakeAt.After(c.w.Now) {
		t.Fatalf("would sleep in the past: %s at %s", b.WakeAt, c.w.Now)
	}
	ids := map[string]bool{}
	for _, in := range b.Intents {
		if ids[in.ID] {
			t.Fatalf("intent %s twice", in.ID)
		}
		ids[in.ID] = true
	}
}

func (c *chaos) one(words ...string) string { return words[c.rng.IntN(len(words))] }

func (c *chaos) evidence() engine.Evidence {
	c.class()
	c.w.Lag = c.rng.IntN(2) == 0
	if c.disturbed() {
		c.w.Unreachable = !c.w.Unreachable
	} else if c.rng.IntN(8) == 0 {
		c.w.Unreachable = false
	}
	ev := c.w.Evidence(c.p.Watches())
	for _, w := range c.p.Watches() {
		if c.disturbed() {
			ev.Objects[w.As] = engine.Reading{List: w.List, Err: "unread"}
		} else if c.noise > 2 && c.disturbed() {
			ev.Objects[w.As] = c.nonsense(w)
		}
	}
	for _, in := range c.s.Intents {
		if in.NotBefore.After(c.w.Now) {
			continue
		}
		r := c.w.Do(in)
		switch {
		case c.disturbed(): // lost: the same intent comes again
			continue
		case c.noise > 1 && c.disturbed():
			r.Status, r.Reason = engine.ResultStatus(c.one("pending", "failed", "unreachable", "nonsense", "")), c.one("", "NotFound", "Forbidden", engine.ReasonNotOurs)
		case c.disturbed(): //nolint:gocritic // each call is a new throw of the dice
			ev.Results = append(ev.Results, r) // twice
		}
		ev.Results = append(ev.Results, r)
	}
	return ev
}

func (c *chaos) nonsense(w engine.Watch) engine.Reading {
	r := engine.Reading{Known: true, List: w.List}
	if !w.List {
		r.Object = c.object()
		return r
	}
	for range c.rng.IntN(4) {
		r.Items = append(r.Items, c.object())
	}
	return r
}

// class lets people act, more or less sensibly.
func (c *chaos) class() {
	if c.s.Phase != engine.Fix && !c.disturbed() || c.rng.IntN(6) > 0 {
		return
	}
	switch c.rng.IntN(7) {
	case 0:
		c.w.SetImage(c.one("nginx:1.28-alpine", "nginx:nope", "nginx:does-not-exist"), "kubectl-set")
	case 1:
		c.w.Undo("kubectl-rollout")
	case 2:
		c.w.Scale(c.rng.IntN(4))
	case 3:
		c.w.DeletePods(func(map[string]any) bool { return c.rng.IntN(2) == 0 })
	case 4:
		if c.disturbed() {
			c.w.DeleteDeployment()
		}
	}
}

func (c *chaos) inputs() []engine.Input {
	var l []engine.Input
	if c.rng.IntN(10) == 0 {
		l = append(l, engine.Input{
			ID: fmt.Sprint(c.rng.IntN(300)), By: "U0", Button: c.one("rollback", "hint", "x", ""),
			Kind: engine.InputKind(c.one("button", "button", "hint", "x")),
		})
	}
	if c.rng.IntN(300) == 0 {
		l = append(l, engine.Input{ID: "stop", Kind: engine.InputStop})
	}
	return l
}

// object is something like an object of the API, sometimes a sensible one.
func (c *chaos) object() map[string]any {
	image := c.one("nginx:1.29-alpine", "nginx:does-not-exist", "nginx:1", "")
	n := func() any { return []any{int64(2), int64(2), int64(0), 2.5, "two", nil}[c.rng.IntN(6)] }
	o := map[string]any{
		"kind":     c.one("Deployment", "Pod", ""),
		"metadata": map[string]any{"name": c.one("web", "a", "b"), "uid": c.one("u1", "u2", "u3", ""), "generation": n(), "managedFields": []any{map[string]any{"manager": "kubectl", "time": c.one("2026-03-02T09:00:00Z", "x")}}},
		"spec":     map[string]any{"replicas": n(), "template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "nginx", "image": image}}}}},
		"status": map[string]any{
			"phase": c.one("Running", "Failed", ""), "observedGeneration": n(), "replicas": n(), "updatedReplicas": n(), "availableReplicas": n(),
			"conditions":        []any{map[string]any{"type": c.one("Ready", "Progressing"), "status": "True", "reason": c.one("X", "ProgressDeadlineExceeded")}},
			"containerStatuses": []any{map[string]any{"state": map[string]any{"waiting": map[string]any{"reason": c.one("ErrImagePull", "RegistryUnavailable", "")}}}},
		},
	}
	if c.rng.IntN(3) == 0 {
		o["spec"] = map[string]any{"containers": []any{map[string]any{"image": image}}}
	}
	if c.rng.IntN(10) == 0 {
		o[c.one("metadata", "spec", "status")] = c.one("broken", "")
	}
	return o
}

func mustJSON(t *testing.T, v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
