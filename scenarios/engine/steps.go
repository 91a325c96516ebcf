package engine

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"labbot/bot/lab"
	"labbot/bot/text"
)

// reasonTimeout is the reason of an action that was not done in its time.
const reasonTimeout = "timeout"

// runStep carries the step under way on, and tells whether anything changed.
func (m *machine) runStep() bool {
	if m.s.Phase == Observe {
		m.wrongMoves()
	}
	steps := m.p.phases[m.s.Phase]
	if m.s.Step >= len(steps) {
		m.nextPhase()
		return true
	}
	st := steps[m.s.Step]
	ss := m.stepState(st)
	if ss == nil {
		m.enterStep(st)
		return true
	}
	m.act(st, ss)
	verdict := m.judge(st, ss)
	if verdict.status == StepRunning {
		return false
	}
	m.closeStep(ss, verdict.status)
	if verdict.status == StepFailed {
		m.failed(st, ss, verdict)
		return true
	}
	m.s.Step++
	return true
}

// stepState gives the state of a step that was begun in this phase, else nil.
func (m *machine) stepState(st *step) *StepState {
	last := len(m.s.Steps) - 1
	if last < 0 || m.s.Steps[last].ID != st.ID || m.s.Steps[last].Phase != st.phase {
		return nil
	}
	return &m.s.Steps[last]
}

func (m *machine) enterStep(st *step) {
	ss := StepState{
		Phase: st.phase, ID: st.ID, Action: st.Action, Status: StepRunning, Started: m.at,
		Say: st.Say, Title: m.title(st), Kubectl: m.line(st), Deadline: m.at.Add(st.limit()),
	}
	for _, c := range st.checks {
		ss.Checks = append(ss.Checks, CheckState{Name: c.Name, Mode: c.Mode, Value: Unknown, Since: m.at, Hold: c.Hold})
	}
	m.s.Steps = append(m.s.Steps, ss)
	m.fact(Fact{Kind: FactStepStart, Step: st.ID, Detail: string(st.Action)})
}

// limit is when a step must have ended: its action and its checks.
func (st *step) limit() time.Duration {
	limit := st.timeout
	for _, c := range st.checks {
		limit = max(limit, c.Within+c.Hold)
	}
	return limit
}

func (m *machine) closeStep(ss *StepState, status StepStatus) {
	ss.Status, ss.Ended = status, m.at
	m.fact(Fact{Kind: FactStepEnd, Step: ss.ID, Name: string(status), Detail: ss.Note})
}

// act carries the step's action on: it issues the intent, or decides a pure one.
func (m *machine) act(st *step, ss *StepState) {
	if !ss.Acted.IsZero() {
		return
	}
	if st.def.intent == nil {
		m.decide(st, ss)
		return
	}
	open := slices.ContainsFunc(m.s.Intents, func(in Intent) bool { return in.Step == st.ID && in.Phase == st.phase })
	if !open {
		m.issue(st, ss)
	}
	m.overdue(st, ss, false)
}

func (m *machine) decide(st *step, ss *StepState) {
	p := st.def.decide(m.world, st)
	if p.note != "" && !p.unknown {
		ss.Note = p.note
	}
	if !p.over {
		m.overdue(st, ss, p.unknown)
		return
	}
	if a, ok := st.Args.(*ChooseArgs); ok {
		o, _ := m.candidate(st)
		if m.s.Chosen == nil {
			m.s.Chosen = map[string]any{}
		}
		m.s.Chosen[a.As] = trimmed(o)
		ss.Note = fmt.Sprintf("%s, UID %s", nameOf(o), uidOf(o))
	}
	ss.Acted, ss.Reason = m.at, p.reason
}

// overdue ends an action whose time is over. A reading that allows no conclusion
// allows none about the time either.
func (m *machine) overdue(st *step, ss *StepState, unknown bool) {
	if !ss.Acted.IsZero() || m.at.Before(ss.Started.Add(st.timeout+ss.Paused)) {
		return
	}
	if m.cut && st.phase == Cleanup && m.at.Before(m.s.Deadline.Add(cleanupGrace)) {
		return
	}
	unsure := unknown || m.cut
	if unsure && st.phase != Cleanup && m.at.Before(ss.Started.Add(st.timeout+ss.Paused+unsureGrace)) {
		return // a moment without news at the very end decides nothing
	}
	ss.Acted, ss.Reason, ss.Unsure = m.at, reasonTimeout, unsure
	m.drop(st)
}

// unsureGrace is how long a step whose time is over waits for a reading that may
// be believed.
const unsureGrace = 30 * time.Second

func (m *machine) drop(st *step) {
	m.s.Intents = slices.DeleteFunc(m.s.Intents, func(in Intent) bool {
		return in.Step == st.ID && in.Phase == st.phase && in.Kind != ActCreateNamespace
	})
}

func (m *machine) issue(st *step, ss *StepState) {
	in := Intent{
		ID: string(st.phase) + "/" + st.ID, Kind: st.Action, Phase: st.phase, Step: st.ID,
		IssuedAt: m.at, Deadline: ss.Started.Add(st.timeout + ss.Paused),
	}
	switch err := st.def.intent(m.world, st, &in); {
	case errors.Is(err, errNotYet):
	case err != nil:
		ss.Acted, ss.Reason, ss.Note = m.at, "NotFound", err.Error()
	default:
		m.s.Intents = append(m.s.Intents, in)
		m.fact(Fact{Kind: FactIntent, Step: st.ID, Name: in.ID, Detail: string(in.Kind)})
	}
}

// verdict is what became of a step.
type verdict struct {
	status  StepStatus
	outcome Outcome
	why     lab.Text
}

var running = verdict{status: StepRunning}

// judge compares action and checks with what the step expects.
func (m *machine) judge(st *step, ss *StepState) verdict {
	acted := !ss.Acted.IsZero()
	if v := m.checks(st, ss, acted); v.status != "" {
		return v
	}
	if acted {
		if v := m.compare(st, ss); v.status == StepFailed {
			return v
		}
	}
	if !acted || !allFinal(ss.Checks) {
		return running
	}
	var missing string
	if st.def.seen != nil && ss.Reason == "" && !st.def.seen(m.world, st) {
		missing = string(st.Action)
	} else {
		missing = m.keep(st)
	}
	if missing != "" {
		if m.at.Before(ss.Deadline.Add(assertTimeout)) {
			return running
		}
		return verdict{StepFailed, Infrastructure, text.Both("scenario.why-unread", "step", st.ID, "name", missing)}
	}
	if st.Expect != (Expect{}) {
		return verdict{status: StepExpected}
	}
	return verdict{status: StepDone}
}

// compare holds the action's end against the expectation.
func (m *machine) compare(st *step, ss *StepState) verdict {
	if ss.Unsure {
		return verdict{StepFailed, Infrastructure, text.Both("scenario.why-unreachable")}
	}
	got, want := ss.Reason, st.Expect
	switch {
	case want.Timeout && got == reasonTimeout, want.Error != "" && got == want.Error, want.Condition != "" && got == want.Condition:
		return verdict{status: StepExpected}
	case want == (Expect{}) && got == "":
		return verdict{status: StepDone}
	}
	v := verdict{StepFailed, Infrastructure, m.whyAction(st, ss)}
	if want.Timeout && got == "" {
		v.outcome, v.why = Failed, text.Both("scenario.why-not-taken", "step", st.ID)
	} else if st.def.intent == nil && (st.phase == Inject || st.phase == Observe) {
		v.outcome = Failed
	}
	return v
}

func (m *machine) whyAction(st *step, ss *StepState) lab.Text {
	title, note := m.title(st), ss.Note
	if note == "" {
		note = ss.Reason
	}
	args := []any{"step", st.ID, "note", clip(note)}
	var t lab.Text
	switch ss.Reason {
	case ReasonNotOurs:
		return text.Both("scenario.why-not-ours", "name", m.s.Namespace)
	case reasonTimeout:
		t = text.Both("scenario.why-timeout", append(args, "seconds", int(st.timeout.Seconds()))...)
	case "":
		t = text.Both("scenario.why-unexpected", args...)
	default:
		t = text.Both("scenario.why-refused", append(args, "reason", ss.Reason)...)
	}
	return lab.Text{RU: title.RU + ": " + t.RU, EN: title.EN + ": " + t.EN}
}

// keep stores the readings that later expressions refer to, and names the first
// one that is not known.
func (m *machine) keep(st *step) string {
	names := m.p.keep[st.ID]
	if len(names) == 0 {
		return ""
	}
	snap := map[string]any{}
	for _, n := range names {
		v, ok := m.kept(n)
		if !ok {
			return n
		}
		snap[n] = v
	}
	if m.s.At == nil {
		m.s.At = map[string]map[string]any{}
	}
	m.s.At[st.ID] = snap
	return ""
}

// failed goes on after a step that failed.
func (m *machine) failed(st *step, ss *StepState, v verdict) {
	m.drop(st)
	if m.s.Phase == Cleanup {
		if m.s.Remains == "" {
			m.s.Remains = ss.Note
		}
		m.s.Step++
		return
	}
	if st.phase == Prepare {
		v.outcome = Infrastructure // nothing was broken yet, so nobody failed
	}
	if ss.Reason == ReasonNotOurs {
		m.s.Intents = nil
	}
	m.end(v.outcome, v.why)
}
