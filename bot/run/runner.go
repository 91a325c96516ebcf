package run

import (
	"sync"
	"time"

	"go.uber.org/zap"

	"labbot/bot/lab"
	"labbot/scenarios/engine"
)

// Program is one version of a scenario, ready to run.
type Program interface {
	// Begin gives a run's first state. An error says what is wrong with params.
	Begin(id lab.RunID, params map[string]any, at time.Time) (engine.State, error)
	// Step decides what is true now and what is wanted next. It is pure.
	Step(st engine.State, ev engine.Evidence, at time.Time) (engine.State, []engine.Fact)
	// Watches are the views of the cluster that Step needs.
	Watches(st engine.State) []engine.Watch
	Title() lab.Text
	Minutes() int
}

// Library finds scenarios. Version 0 is the newest.
type Library interface {
	Program(name string, version int) (Program, error)
}

// Deps is what a Runner works with. All fields are required but those that say
// otherwise.
type Deps struct {
	Log       Log
	Queue     Queue
	Clusters  map[string]Cluster
	Publisher Publisher
	Library   Library
	Logger    *zap.Logger
	// Owner is "instance/boot": the instance is stable over restarts and unique
	// among live processes, the boot is new for each start.
	Owner string
	// Now is the clock, time.Now when nil.
	Now func() time.Time
	// LostAfter is how long the log may stay away before a run is stopped and
	// cleaned up without it; 0 is 60 s.
	LostAfter time.Duration
	// Refused, when set, is told of acts that the run did not accept, so that
	// the person behind one can be answered. It must not block.
	Refused func(r Record, f engine.Fact)
}

// worker drives one run that this process holds.
type worker struct{}

// Runner takes runs from the command to the proof of cleanup.
type Runner struct {
	deps Deps
	log  *zap.Logger

	mu      sync.Mutex
	workers map[lab.RunID]*worker
}

// New returns a Runner. It starts nothing; call Run.
func New(d Deps) *Runner {
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.LostAfter == 0 {
		d.LostAfter = 60 * time.Second
	}
	return &Runner{deps: d, log: d.Logger.Named("run"), workers: map[lab.RunID]*worker{}}
}

// StartRequest asks for a run of a scenario.
type StartRequest struct {
	// Key is unique per command, so that one delivered twice starts one run.
	Key       string
	Scenario  string
	Params    map[string]any
	Cluster   string
	Cohort    lab.CohortID
	Channel   lab.ChannelID
	Lang      lab.Lang
	StartedBy lab.UserID
	CommandAt time.Time
}

// Started tells which run a command gave.
type Started struct {
	ID lab.RunID
	// Position is the place in the namespace's queue; 0 means that it starts now.
	Position int
}
