// Package run is the durable run: it takes a scenario from the command to the
// proof of cleanup, and survives a crash at any point.
//
// The record in the Log is the truth. Every change goes through a
// compare-and-set on its version, intents are recorded before anybody acts on
// them, and every effect looks before it acts. The Queue only delivers: losing
// or repeating a delivery changes nothing.
package run

import (
	"context"
	"errors"
	"time"

	"labbot/bot/board"
	"labbot/bot/exhibit"
	"labbot/bot/lab"
	"labbot/bot/trace"
	"labbot/scenarios/engine"
)

// ErrLost says that the record has moved on: another step, perhaps in another
// process, has changed it. The caller stops without any further effect.
var ErrLost = errors.New("the run's record has moved on")

// ErrNotFound says that no such run is recorded.
var ErrNotFound = errors.New("no such run")

// Record is the stored form of a run.
type Record struct {
	ID        lab.RunID     `json:"id"`
	Cohort    lab.CohortID  `json:"cohort"`
	Channel   lab.ChannelID `json:"channel"`
	Lang      lab.Lang      `json:"lang"`
	StartedBy lab.UserID    `json:"startedBy"`
	CommandAt time.Time     `json:"commandAt"` // when the command reached the bot
	Cluster   string        `json:"cluster"`
	// Params are the values of the command, as typed.
	Params map[string]string `json:"params,omitempty"`

	// Ver is the fence: every change raises it by one.
	Ver        int64     `json:"ver"`
	Owner      string    `json:"owner,omitempty"`
	ClaimUntil time.Time `json:"claimUntil,omitzero"`
	// Position is the place in the namespace's queue; 0 means it is this run's turn.
	Position int `json:"position,omitempty"`

	State    engine.State               `json:"state"`
	Hops     []trace.Hop                `json:"hops,omitempty"`
	Exhibits map[string]exhibit.Exhibit `json:"exhibits,omitempty"` // by step id
	// Inputs are acts of people that no step has taken yet.
	Inputs []engine.Input `json:"inputs,omitempty"`
	// Closed says that the run is over and its thread is final.
	Closed bool `json:"closed,omitempty"`
}

// Meta is what a cluster needs to know of the run it works for.
type Meta struct {
	Run       lab.RunID
	Cohort    lab.CohortID
	Scenario  string
	Namespace string
	Expires   time.Time
}

// Identity says which cluster this is, for the first line of every run.
type Identity struct {
	Context string // kubeconfig context, or "in-cluster"
	Cluster string // kubeconfig cluster name
	Server  string // API address
	Version string // server's gitVersion
	UID     string // UID of the namespace kube-system
	// Simulated says that the Node's containers are simulated, by its own label.
	Simulated bool
}

// Lens is a live view of one run's namespace. Evidence never blocks and may be
// called at any time; Close ends the watches.
type Lens interface {
	Evidence() engine.Evidence
	Close()
}

// Cluster is all that a run needs of Kubernetes.
type Cluster interface {
	Identity(ctx context.Context) (Identity, error)
	// Watch opens a Lens and calls notify, never concurrently with itself and
	// never blocking long, on every change. It returns once the watches are set
	// up; a Reading stays unknown until its first list is in.
	Watch(ctx context.Context, m Meta, watches []engine.Watch, notify func()) (Lens, error)
	// Do makes one attempt at an intent, within 15 s.
	Do(ctx context.Context, m Meta, in engine.Intent) engine.Result
	// Describe gives kubectl's own description of an object.
	Describe(ctx context.Context, ref engine.Ref) (string, error)
	// Logs gives the last lines of the failing (or first) container of a Pod.
	Logs(ctx context.Context, pod engine.Ref, lines int) (string, error)
}

// Thread is the whole of what should stand in Slack for a run, root first.
type Thread struct {
	Run     lab.RunID
	Channel lab.ChannelID
	Slots   []board.Slot
	// Final says that no newer Thread will follow.
	Final bool
}

// Publisher keeps Slack in step with the newest Thread of each run. Publish
// never waits for Slack. Posted tells whether a slot stands in Slack in any
// version.
type Publisher interface {
	Publish(t Thread)
	Posted(ctx context.Context, id lab.RunID, slot string) (bool, error)
}

// Owned is a namespace that carries labbot's labels.
type Owned struct {
	Name string
	UID  string
	Run  lab.RunID // label labbot.dev/run
	// Expires is the annotation labbot.dev/expires; zero when absent or unreadable.
	Expires time.Time
}

// NamespaceLister is a Cluster that can list what labbot has made on it, so that
// the janitor finds what a lost run left behind.
type NamespaceLister interface {
	Owned(ctx context.Context) ([]Owned, error)
}

// Settler is a Publisher that knows whether the newest Thread of a run stands
// in Slack as it is, so that a run is not closed before its last word is out.
type Settler interface {
	Settled(ctx context.Context, id lab.RunID) (bool, error)
}
