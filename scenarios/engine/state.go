package engine

import (
	"bytes"
	"encoding/json"
	"time"

	"labbot/bot/lab"
)

// Phase is a part of a run. Phases follow one another in the order below;
// Cleanup runs after every outcome.
type Phase string

// The phases of a run, in order.
const (
	Prepare Phase = "prepare"
	Inject  Phase = "inject"
	Observe Phase = "observe"
	Fix     Phase = "fix"
	Verify  Phase = "verify"
	Cleanup Phase = "cleanup"
	Ended   Phase = "ended"
)

// Outcome is how a run ended. It is empty while nothing is decided.
type Outcome string

// The outcomes of a run. Infrastructure is trouble outside the lesson; it never
// counts against a learner.
const (
	Passed         Outcome = "passed"
	PassedWithNote Outcome = "passed-with-note"
	Failed         Outcome = "failed"
	TimedOut       Outcome = "timed-out"
	Stopped        Outcome = "stopped"
	Infrastructure Outcome = "infrastructure"
)

// CleanResult is what the proof of cleanup showed.
type CleanResult string

// The results of cleanup. Clean means that a GET was answered NotFound.
const (
	CleanUnknown CleanResult = ""
	Clean        CleanResult = "clean"
	Dirty        CleanResult = "dirty"
	// CleanNotNeeded says that the run had made nothing when it ended, for
	// example because the namespace belongs to somebody else.
	CleanNotNeeded CleanResult = "not-needed"
)

// Truth is a three-valued result. Unknown is never a pass.
type Truth string

// The three values.
const (
	Unknown Truth = "unknown"
	True    Truth = "true"
	False   Truth = "false"
)

// State is all that a run knows of itself. It is plain data: it survives JSON
// without loss, and Program.Step is the only thing that changes it.
type State struct {
	Run       lab.RunID      `json:"run"`
	Scenario  string         `json:"scenario"`
	Version   int            `json:"version"`
	Namespace string         `json:"namespace"`
	Params    map[string]any `json:"params,omitempty"`
	Images    map[string]any `json:"images,omitempty"`
	// Registries maps a course registry prefix to the lab's own.
	Registries map[string]string `json:"registries,omitempty"`
	StartedAt  time.Time         `json:"startedAt"`
	Deadline   time.Time         `json:"deadline"`

	Phase        Phase     `json:"phase"`
	PhaseStarted time.Time `json:"phaseStarted"`
	// Step is the index in the phase's steps of the step under way.
	Step  int         `json:"step"`
	Steps []StepState `json:"steps"`

	// Intents are the effects that the engine wants and has no final result
	// for. They are recorded before anybody acts on them.
	Intents []Intent `json:"intents,omitempty"`

	// NamespaceUID is the UID of the namespace that this run created. Empty
	// means that nothing of this run exists on the cluster.
	NamespaceUID string `json:"namespaceUID,omitempty"`

	// At holds the snapshots: step id → watch name → object or list.
	At map[string]map[string]any `json:"at,omitempty"`
	// Chosen holds the objects picked by `choose`, by their `as` name.
	Chosen map[string]any `json:"chosen,omitempty"`

	Buttons []ButtonState `json:"buttons,omitempty"`
	Hints   []HintState   `json:"hints,omitempty"`
	Moves   []MoveState   `json:"moves,omitempty"`
	// MovesSince is since when a wrong move is seen that does not count yet: a
	// reading in the middle of a change must not accuse anybody.
	MovesSince map[string]time.Time `json:"movesSince,omitempty"`
	// Accepted are the accepted fixes under watch while the run is in Fix.
	Accepted []CheckState `json:"accepted,omitempty"`
	// FixDeadline is when the learners' time ends; zero before Fix.
	FixDeadline time.Time `json:"fixDeadline,omitzero"`
	// VerifyBy is when the oracle must be true; zero before Verify.
	VerifyBy time.Time    `json:"verifyBy,omitzero"`
	Repair   *Repair      `json:"repair,omitempty"`
	Oracle   []CheckState `json:"oracle,omitempty"`

	Outcome Outcome `json:"outcome,omitempty"`
	// Why explains the outcome to a learner.
	Why       lab.Text    `json:"why,omitzero"`
	StoppedBy lab.UserID  `json:"stoppedBy,omitempty"`
	Cleaned   CleanResult `json:"cleaned,omitempty"`
	// Remains says what cleanup could not remove, in the API's words.
	Remains string    `json:"remains,omitempty"`
	EndedAt time.Time `json:"endedAt,omitzero"`

	// UnreachableSince is when the cluster stopped answering; zero while it does.
	UnreachableSince time.Time `json:"unreachableSince,omitzero"`

	// WakeAt is when Step wants to be called at the latest, news or not.
	WakeAt time.Time `json:"wakeAt,omitzero"`

	// Inputs lists the ids of the inputs already taken, newest last, bounded.
	Inputs []string `json:"inputs,omitempty"`
}

// UnmarshalJSON keeps whole numbers whole: an object's replicas are the same
// number before and after storage.
func (s *State) UnmarshalJSON(raw []byte) error {
	type stored State
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var t stored
	if err := dec.Decode(&t); err != nil {
		return err
	}
	*s = State(t)
	s.Params, s.Images, s.Chosen = plainMap(s.Params), plainMap(s.Images), plainMap(s.Chosen)
	for step, names := range s.At {
		s.At[step] = plainMap(names)
	}
	for i := range s.Intents {
		in := &s.Intents[i]
		switch {
		case in.Undo != nil:
			in.Undo.Template = plainMap(in.Undo.Template)
		case in.Apply != nil:
			in.Apply.Object = plainMap(in.Apply.Object)
		case in.Patch != nil:
			in.Patch.Patch = plainMap(in.Patch.Patch)
		}
	}
	return nil
}

func plainMap(m map[string]any) map[string]any {
	c, _ := plain(m).(map[string]any)
	return c
}

// StepStatus is where a step stands.
type StepStatus string

// The states of a step. Waiting is not started; Expected is "the expected
// failure happened", which is a pass.
const (
	StepRunning  StepStatus = "running"
	StepDone     StepStatus = "done"
	StepExpected StepStatus = "expected"
	StepFailed   StepStatus = "failed"
	StepSkipped  StepStatus = "skipped"
)

// StepState is one step that was reached.
type StepState struct {
	Phase   Phase        `json:"phase"`
	ID      string       `json:"id"`
	Action  ActionKind   `json:"action,omitempty"`
	Status  StepStatus   `json:"status"`
	Started time.Time    `json:"started"`
	Ended   time.Time    `json:"ended,omitzero"`
	Checks  []CheckState `json:"checks,omitempty"`
	// Say is the scenario's own word on this step, if it has one.
	Say lab.Text `json:"say,omitzero"`
	// Title says what the step does, in kubectl's terms, with this run's values.
	Title lab.Text `json:"title,omitzero"`
	// Kubectl is the line that a learner would type for it; empty where kubectl
	// has no equal.
	Kubectl string `json:"kubectl,omitempty"`
	// Deadline is when the step fails if it is not done; zero when it has none.
	Deadline time.Time `json:"deadline,omitzero"`
	// Paused is for how long the cluster was out of reach while the step ran;
	// the step's clocks stood still then.
	Paused time.Duration `json:"paused,omitempty"`
	// Acted is when the action itself had ended, Reason why it was not done
	// ("timeout", or a reason of the API); checks may go on longer.
	Acted  time.Time `json:"acted,omitzero"`
	Reason string    `json:"reason,omitempty"`
	// Unsure says that the action's time ended while nothing could be read.
	Unsure bool `json:"unsure,omitempty"`
	// Note is a short technical remark in the API's own words, such as
	// `created, UID 8a…` or `namespaces "k8s-m01" not found`.
	Note string `json:"note,omitempty"`
}

// CheckState is one named assertion or oracle item under way.
type CheckState struct {
	Name  string `json:"name"`
	Mode  string `json:"mode"`
	Value Truth  `json:"value"`
	// Since is when Value was last reached.
	Since time.Time `json:"since"`
	// Final says that the check is decided.
	Final bool `json:"final,omitempty"`
	// Detail names the object that decided a false, or the error of an unknown.
	Detail string `json:"detail,omitempty"`
	// Hold is for how long the check must stay true.
	Hold time.Duration `json:"hold,omitempty"`
}

// ButtonState is a button that the scenario offers while the run is in Fix.
// Its id is "hint", "stop" or the scenario's own, such as "rollback".
type ButtonState struct {
	ID      string `json:"id"`
	Enabled bool   `json:"enabled"`
	// Busy says that a press was taken and its effect is not known yet.
	Busy bool `json:"busy,omitempty"`
	// Presses counts the presses taken.
	Presses int `json:"presses,omitempty"`
}

// HintState is one hint of the ladder.
type HintState struct {
	Index int       `json:"index"`
	Due   time.Time `json:"due"`
	Cost  int       `json:"cost"`
	// Shown is when somebody asked for it; zero while it is only on offer.
	Shown time.Time  `json:"shown,omitzero"`
	By    lab.UserID `json:"by,omitempty"`
	Text  lab.Text   `json:"text"`
}

// MoveState is a wrong move that was seen.
type MoveState struct {
	Name string    `json:"name"`
	At   time.Time `json:"at"`
	Cost int       `json:"cost,omitempty"`
	Say  lab.Text  `json:"say"`
	// Manager is the field manager of the API request behind it, where known.
	Manager string `json:"manager,omitempty"`
}

// Repair is the fix that was noticed and how it came.
type Repair struct {
	// Accepted is the name of the accepted fix that matched, or empty.
	Accepted string    `json:"accepted,omitempty"`
	Say      lab.Text  `json:"say,omitzero"`
	At       time.Time `json:"at"`
	// Button and By are set when a button of the thread did it.
	Button string     `json:"button,omitempty"`
	By     lab.UserID `json:"by,omitempty"`
	// Manager is the field manager that wrote the repaired template, such as
	// "kubectl-rollout" (from managedFields), when no button did it.
	Manager string `json:"manager,omitempty"`
}

// FactKind says what a Fact tells.
type FactKind string

// The kinds of facts.
const (
	FactPhase      FactKind = "phase"
	FactStepStart  FactKind = "step-start"
	FactStepEnd    FactKind = "step-end"
	FactCheck      FactKind = "check"
	FactIntent     FactKind = "intent"
	FactInput      FactKind = "input"
	FactRefused    FactKind = "refused"
	FactHint       FactKind = "hint"
	FactMove       FactKind = "move"
	FactRepair     FactKind = "repair"
	FactOutcome    FactKind = "outcome"
	FactCleaned    FactKind = "cleaned"
	FactUnreached  FactKind = "unreachable"
	FactReachAgain FactKind = "reachable"
)

// Fact is one thing that became true in a Step, for the run's event log.
type Fact struct {
	At   time.Time  `json:"at"`
	Kind FactKind   `json:"kind"`
	Step string     `json:"step,omitempty"`
	Name string     `json:"name,omitempty"`
	By   lab.UserID `json:"by,omitempty"`
	// Detail is technical and not translated.
	Detail string `json:"detail,omitempty"`
}
