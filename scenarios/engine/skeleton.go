package engine

import (
	"errors"
	"time"

	"labbot/bot/lab"
)

// Parse reads a scenario file strictly. The error is a *LoadError.
func Parse(name string, raw []byte) (*Scenario, error) { return nil, errors.New("not built yet") }

// Compile checks a scenario whole. The error is a *LoadError.
func Compile(sc *Scenario) (*Program, error) { return nil, errors.New("not built yet") }

// Lint gives every problem of a scenario file, in the order of the file.
func Lint(name string, raw []byte) []Problem { return nil }

// Start gives the first state of a run. The error is a *ParamError.
func (p *Program) Start(a StartArgs) (State, error) { return State{}, nil }

// Step takes a run on by what the evidence shows at the instant at.
func (p *Program) Step(s State, ev Evidence, at time.Time) (State, []Fact) { return s, nil }

// Watches are the views of the cluster that the scenario's expressions use.
func (p *Program) Watches() []Watch { return nil }

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
func (p *Program) Parameters() map[string]Parameter { return p.sc.Spec.Parameters }

// Phases are the phases with their steps, with default parameter values.
func (p *Program) Phases() []PhaseInfo { return nil }

// StepTitle is a step's title with default parameter values; a run's own values
// are in StepState.Title.
func (p *Program) StepTitle(id string) lab.Text { return lab.Text{} }

// KubectlLine is the line that a learner would type for a step, or empty.
func (p *Program) KubectlLine(id string) string { return "" }

// Oracle evaluates the proof of repair on one reading, without any hold.
func (p *Program) Oracle(s State, ev Evidence) []CheckState { return nil }
