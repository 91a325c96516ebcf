package engine

import (
	"maps"
	"slices"

	"labbot/bot/lab"
)

// Program is a scenario that was checked whole: every reference is known and
// every expression compiled. It is immutable and safe for concurrent use.
type Program struct {
	sc       *Scenario
	watches  []Watch
	phases   map[Phase][]*step
	oracle   []oracleItem
	accepted []acceptedFix
	hints    []hint
	moves    []move
	// scope is what the learners' part may refer to: all before it.
	scope scope
	// keep gives, for each step, the watches to keep in a snapshot at its end.
	keep map[string][]string
	// preset is a state with default parameters, for titles outside of a run.
	preset State
}

// Load reads and compiles a scenario file. The error is a *LoadError.
func Load(name string, raw []byte) (*Program, error) {
	sc, err := Parse(name, raw)
	if err != nil {
		return nil, err
	}
	return Compile(sc)
}

// Watches are the views of the cluster that the scenario's expressions use.
func (p *Program) Watches() []Watch { return slices.Clone(p.watches) }

func (p *Program) watch(name string) Watch {
	for _, w := range p.watches {
		if w.As == name {
			return w
		}
	}
	return Watch{}
}

func (p *Program) isWatch(name string) bool { return p.watch(name).As != "" }

func (p *Program) watchNames() []string {
	names := make([]string, len(p.watches))
	for i, w := range p.watches {
		names[i] = w.As
	}
	return names
}

func (p *Program) stepIDs(phases ...Phase) []string {
	ids := []string{}
	for _, ph := range phases {
		for _, st := range p.phases[ph] {
			ids = append(ids, st.ID)
		}
	}
	return ids
}

func (p *Program) stepByID(id string) *step {
	for _, ph := range phaseOrder {
		for _, st := range p.phases[ph] {
			if st.ID == id {
				return st
			}
		}
	}
	return nil
}

// phaseOrder lists the phases in the order of a run.
var phaseOrder = []Phase{Prepare, Inject, Observe, Fix, Verify, Cleanup, Ended}

// Name is the command word.
func (p *Program) Name() string { return p.sc.Metadata.Name }

// Module is the course module.
func (p *Program) Module() string { return p.sc.Metadata.Module }

// Version is the scenario's version.
func (p *Program) Version() int { return p.sc.Metadata.Version }

// Difficulty is from 1 to 5.
func (p *Program) Difficulty() int { return p.sc.Metadata.Difficulty }

// Minutes is how long a learner needs.
func (p *Program) Minutes() int { return p.sc.Metadata.Minutes }

// Title is the scenario's title.
func (p *Program) Title() lab.Text { return p.sc.Spec.Title }

// Summary is what the learner will see and do; it may be zero.
func (p *Program) Summary() lab.Text { return p.sc.Spec.Summary }

// Requires is what the cluster must be able to do.
func (p *Program) Requires() Requires { return p.sc.Spec.Requires }

// Namespace is the namespace rule; mode "exact" means one run at a time.
func (p *Program) Namespace() Namespace { return p.sc.Spec.Namespace }

// Parameters are the values that the command may set.
func (p *Program) Parameters() map[string]Parameter { return maps.Clone(p.sc.Spec.Parameters) }

// ImageRules are the rules for images, by logical name.
func (p *Program) ImageRules() map[string]ImageRule { return maps.Clone(p.sc.Spec.ImageRules) }

// Questions are the quiz questions on the scenario.
func (p *Program) Questions() []Question { return slices.Clone(p.sc.Spec.Questions) }

// HasFix tells whether the learners have a part, rather than only to look on.
func (p *Program) HasFix() bool { return p.sc.Spec.Phases.Fix != nil }

// StepInfo is one step of a scenario as a reader sees it.
type StepInfo struct {
	Phase  Phase
	ID     string
	Action ActionKind
	// Title says what the step does, in kubectl's terms.
	Title lab.Text
	// Kubectl is the line that a learner would type for it; empty where kubectl
	// has no equal.
	Kubectl string
	Say     lab.Text
}

// PhaseInfo is one phase with its steps, in order.
type PhaseInfo struct {
	Phase Phase
	Steps []StepInfo
}

// Phases are the phases that the scenario has, with their steps, shown with
// default parameter values. Fix has no steps.
func (p *Program) Phases() []PhaseInfo {
	var all []PhaseInfo
	for _, ph := range phaseOrder[:len(phaseOrder)-1] {
		if len(p.phases[ph]) == 0 && ph != Verify && (ph != Fix || !p.HasFix()) {
			continue
		}
		info := PhaseInfo{Phase: ph}
		for _, st := range p.phases[ph] {
			info.Steps = append(info.Steps, StepInfo{ph, st.ID, st.Action, p.StepTitle(st.ID), p.KubectlLine(st.ID), st.Say})
		}
		all = append(all, info)
	}
	return all
}

// StepTitle is a step's title with default parameter values; a run's own values
// are in StepState.Title. An unknown step has a zero title.
func (p *Program) StepTitle(id string) lab.Text {
	st := p.stepByID(id)
	if st == nil {
		return lab.Text{}
	}
	return p.outside().title(st)
}

// KubectlLine is the line that a learner would type for a step, with default
// parameter values, or empty where kubectl has no equal.
func (p *Program) KubectlLine(id string) string {
	st := p.stepByID(id)
	if st == nil {
		return ""
	}
	return p.outside().line(st)
}

// outside is a world without a cluster.
func (p *Program) outside() *world { return &world{p: p, s: &p.preset, ev: &Evidence{}} }

func (w *world) title(st *step) lab.Text { return st.def.title(w, st) }

func (w *world) line(st *step) string {
	if st.def.kubectl == nil {
		return ""
	}
	return st.def.kubectl(w, st)
}

// Oracle evaluates the proof of repair on one reading, without any hold.
func (p *Program) Oracle(s State, ev Evidence) []CheckState {
	w := &world{p: p, s: &s, ev: &ev, cut: !ev.Stale.IsZero()}
	checks := make([]CheckState, len(p.oracle))
	for i, o := range p.oracle {
		v, detail := w.truth(o.expr)
		checks[i] = CheckState{Name: o.Name, Mode: "eventually", Value: v, Detail: detail, Hold: o.Hold}
	}
	return checks
}
