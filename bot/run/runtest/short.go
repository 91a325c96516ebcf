package runtest

import (
	"fmt"
	"slices"
	"time"

	"labbot/bot/lab"
	"labbot/bot/run"
	"labbot/scenarios/engine"
)

// Short is a program of a few steps, for tests in real time: it makes the
// namespace, waits for anybody's button or stop, and takes the namespace away.
// Each new generation of the watched Deployment is noted as a fact.
type Short struct {
	// Parallel gives each run a namespace of its own.
	Parallel bool
}

var (
	_ run.Program = Short{}
	_ run.Library = Short{}
)

// Program gives itself for every name.
func (s Short) Program(string, int) (run.Program, error) { return s, nil }

// Start begins in prepare.
func (s Short) Start(a engine.StartArgs) (engine.State, error) {
	namespace := "k8s-m01"
	if s.Parallel {
		namespace += "-" + string(a.Run)
	}
	return engine.State{
		Run: a.Run, Scenario: "short", Version: 1, Namespace: namespace, StartedAt: a.At, Deadline: a.At.Add(time.Hour),
		Phase: engine.Prepare, PhaseStarted: a.At, Params: map[string]any{}, WakeAt: a.At,
	}, nil
}

// Step is the whole scenario.
func (s Short) Step(st engine.State, ev engine.Evidence, at time.Time) (engine.State, []engine.Fact) {
	st.Intents = slices.Clone(st.Intents)
	st.WakeAt = at.Add(time.Second)
	facts := s.results(&st, ev, at)
	switch st.Phase {
	case engine.Prepare:
		if len(st.Intents) == 0 && st.NamespaceUID == "" {
			st.Intents = append(st.Intents, engine.Intent{
				ID: "prepare/ns", Kind: engine.ActCreateNamespace, IssuedAt: at, Deadline: at.Add(time.Minute),
				CreateNamespace: &engine.CreateNamespace{Name: st.Namespace},
			})
		}
	case engine.Fix:
		facts = append(facts, s.watch(&st, ev, at)...)
		if len(ev.Inputs) > 0 { // the first one decides
			in := ev.Inputs[0]
			st.Outcome, st.StoppedBy = engine.Stopped, in.By
			if in.Kind == engine.InputButton {
				st.Outcome = engine.Passed
			}
			st.Phase, st.PhaseStarted = engine.Cleanup, at
			st.Intents = append(st.Intents, engine.Intent{
				ID: "cleanup/wipe", Kind: engine.ActDeleteNamespace, IssuedAt: at, Deadline: at.Add(time.Minute),
				DeleteNamespace: &engine.DeleteNamespace{Name: st.Namespace, UID: st.NamespaceUID},
			})
		}
	}
	return st, facts
}

func (Short) results(st *engine.State, ev engine.Evidence, at time.Time) (facts []engine.Fact) {
	for _, r := range ev.Results {
		i := slices.IndexFunc(st.Intents, func(in engine.Intent) bool { return in.ID == r.Intent })
		if i < 0 {
			continue
		}
		if r.Status != engine.ResultDone {
			st.Intents[i].NotBefore = at.Add(200 * time.Millisecond)
			continue
		}
		facts = append(facts, engine.Fact{At: at, Kind: engine.FactIntent, Name: r.Intent})
		st.Intents = slices.Delete(st.Intents, i, i+1)
		if len(st.Intents) == 0 {
			st.Intents = nil
		}
		st.PhaseStarted = at
		if r.Intent == "prepare/ns" {
			st.NamespaceUID, st.Phase = r.UID, engine.Fix
		} else {
			st.Phase, st.Cleaned, st.EndedAt, st.WakeAt = engine.Ended, engine.Clean, at, time.Time{}
		}
	}
	return facts
}

func (Short) watch(st *engine.State, ev engine.Evidence, at time.Time) []engine.Fact {
	meta, _ := ev.Objects["deploy"].Object["metadata"].(map[string]any)
	generation := fmt.Sprint(meta["generation"])
	if meta == nil || st.Params["generation"] == generation {
		return nil
	}
	st.Params = map[string]any{"generation": generation}
	return []engine.Fact{{At: at, Kind: engine.FactCheck, Name: "generation", Detail: generation}}
}

// Watches is one Deployment.
func (Short) Watches() []engine.Watch {
	return []engine.Watch{{As: "deploy", APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}}
}

// Title names the program.
func (Short) Title() lab.Text { return lab.Text{RU: "Короткий", EN: "Short"} }

// Minutes is one.
func (Short) Minutes() int { return 1 }

// Phases are those with an effect.
func (Short) Phases() []engine.PhaseInfo {
	return []engine.PhaseInfo{{Phase: engine.Prepare}, {Phase: engine.Fix}, {Phase: engine.Cleanup}}
}
