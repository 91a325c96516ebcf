package engine

import (
	"time"

	"labbot/bot/lab"
)

// Program is a scenario that was checked whole: every reference is known and
// every expression compiled. It is immutable and safe for concurrent use.
type Program struct {
	sc *Scenario
}

// StartArgs is what a run needs beside the scenario.
type StartArgs struct {
	Run lab.RunID
	// Params are the values of the command, as typed: name → value.
	Params map[string]string
	// Registries maps a course registry or repository prefix to the lab's own,
	// such as "docker.io" → "registry.lab:5000". Tags are kept.
	Registries map[string]string
	At         time.Time
}

// Load reads and compiles a scenario file. The error is a *LoadError.
func Load(name string, raw []byte) (*Program, error) {
	sc, err := Parse(name, raw)
	if err != nil {
		return nil, err
	}
	return Compile(sc)
}

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
