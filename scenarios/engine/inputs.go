package engine

import (
	"fmt"
	"slices"
	"time"

	"labbot/bot/lab"
	"labbot/bot/text"
)

// results takes what came of the intents.
func (m *machine) results() {
	for _, r := range m.ev.Results {
		i := slices.IndexFunc(m.s.Intents, func(in Intent) bool { return in.ID == r.Intent })
		if i < 0 {
			m.lateNamespace(r)
			continue
		}
		in := &m.s.Intents[i]
		switch r.Status {
		case ResultPending, ResultUnreachable:
			in.Attempts++
			in.Unsure = in.Unsure || r.Status == ResultUnreachable && r.Reason != ReasonNotSent
			in.NotBefore = m.at.Add(retry)
			m.progressNote(*in, r)
		case ResultDone, ResultFailed:
			closed := *in
			m.s.Intents = slices.Delete(m.s.Intents, i, i+1)
			m.closed(closed, r)
		}
	}
}

// lateNamespace notes the UID of a namespace whose creation ended after its
// intent was given up, so that it is cleaned up.
func (m *machine) lateNamespace(r Result) {
	st := m.p.phases[Prepare]
	if m.s.NamespaceUID == "" && r.UID != "" && r.Status == ResultDone && len(st) > 0 && r.Intent == string(Prepare)+"/"+st[0].ID {
		m.s.NamespaceUID = r.UID
	}
}

func (m *machine) progressNote(in Intent, r Result) {
	if in.Kind == ActCreateNamespace && r.Status == ResultPending && r.UID != "" {
		m.s.NamespaceUID = r.UID
	}
	if ss := m.stepOf(in); ss != nil && r.Message != "" {
		ss.Note = r.Message
	}
}

// stepOf gives the running step behind an intent, or nil when a button is.
func (m *machine) stepOf(in Intent) *StepState {
	last := len(m.s.Steps) - 1
	if last < 0 || m.s.Steps[last].ID != in.Step || m.s.Steps[last].Phase != in.Phase || m.s.Steps[last].Status != StepRunning {
		return nil
	}
	return &m.s.Steps[last]
}

func (m *machine) closed(in Intent, r Result) {
	if in.Kind == ActCreateNamespace && r.Status == ResultDone {
		m.s.NamespaceUID = r.UID
		if r.UID == "" {
			r.Status, r.Reason, r.Message = ResultFailed, "NoUID", "the namespace came back without a UID"
		}
	}
	if in.Phase == Fix {
		m.pressed(in, r)
		return
	}
	ss := m.stepOf(in)
	if ss == nil {
		return
	}
	ss.Acted, ss.Note = m.at, r.Message
	if r.Status == ResultFailed {
		ss.Reason = r.Reason
		if ss.Reason == "" {
			ss.Reason = "Unknown"
		}
	} else if ss.Note == "" && r.UID != "" {
		ss.Note = "UID " + r.UID
	}
}

// inputs takes the acts of people, each once.
func (m *machine) inputs() {
	for _, in := range m.ev.Inputs {
		if in.ID != "" && slices.Contains(m.s.Inputs, in.ID) {
			continue
		}
		m.s.Inputs = append(m.s.Inputs, in.ID)
		if extra := len(m.s.Inputs) - maxInput; extra > 0 {
			m.s.Inputs = slices.Delete(m.s.Inputs, 0, extra)
		}
		m.fact(Fact{Kind: FactInput, Name: string(in.Kind), By: in.By, Detail: in.Button})
		switch in.Kind {
		case InputStop:
			m.stop(in)
		case InputHint:
			m.giveHint(in)
		case InputButton:
			m.press(in)
		default:
			m.refuse(string(in.Kind), in.By, "unknown input")
		}
	}
}

func (m *machine) refuse(name string, by lab.UserID, why string) {
	m.fact(Fact{Kind: FactRefused, Name: name, By: by, Detail: why})
}

func (m *machine) stop(in Input) {
	switch {
	case m.s.Phase == Cleanup || m.s.Phase == Ended:
		m.refuse(buttonStop, in.By, "cleanup is under way")
	case m.s.Outcome != "": // decided already: only the last evidence is cut short
		m.toCleanup()
	default:
		m.s.StoppedBy = in.By
		m.end(Stopped, text.Both("scenario.why-stopped"))
	}
}

// press takes a press of one of the scenario's own buttons.
func (m *machine) press(in Input) {
	switch in.Button {
	case buttonHint:
		m.giveHint(in)
		return
	case buttonStop:
		m.stop(in)
		return
	}
	i := slices.IndexFunc(m.s.Buttons, func(b ButtonState) bool { return b.ID == in.Button })
	switch {
	case i < 0:
		m.refuse(in.Button, in.By, "no such button now")
	case m.s.Buttons[i].Busy:
		m.refuse(in.Button, in.By, "already pressed")
	case !m.s.Buttons[i].Enabled:
		m.refuse(in.Button, in.By, "not enabled yet")
	default:
		m.carryOut(&m.s.Buttons[i], m.p.button(in.Button), in)
	}
}

func (p *Program) button(id string) *Button {
	if f := p.sc.Spec.Phases.Fix; f != nil {
		for i := range f.Buttons {
			if f.Buttons[i].ID == id {
				return &f.Buttons[i]
			}
		}
	}
	return nil
}

func (m *machine) carryOut(bs *ButtonState, b *Button, in Input) {
	want := Intent{
		Kind: ActUndo, Phase: Fix, Step: bs.ID, By: in.By, IssuedAt: m.at, Deadline: m.at.Add(callTimeout),
		ID: string(Fix) + "/" + bs.ID,
	}
	if bs.Presses > 0 {
		want.ID += fmt.Sprintf("#%d", bs.Presses+1)
	}
	if b == nil || b.Undo == nil {
		m.refuse(in.Button, in.By, "no such button now")
		return
	}
	if err := m.undo(b.Undo, &want); err != nil {
		m.refuse(in.Button, in.By, err.Error())
		return
	}
	bs.Presses++
	bs.Busy = true
	m.s.Intents = append(m.s.Intents, want)
	m.fact(Fact{Kind: FactIntent, Step: bs.ID, Name: want.ID, By: in.By, Detail: string(want.Kind)})
}

// pressed takes what came of a button.
func (m *machine) pressed(in Intent, r Result) {
	for i := range m.s.Buttons {
		if m.s.Buttons[i].ID == in.Step {
			m.s.Buttons[i].Busy = false
		}
	}
	if r.Status == ResultFailed {
		m.refuse(in.Step, in.By, clip(r.Reason+": "+r.Message))
		return
	}
	if m.s.Phase == Fix || m.s.Phase == Verify {
		m.repaired(Repair{At: m.at, Button: in.Step, By: in.By})
	}
}

// staleButtons gives up on a button whose intent is past its deadline.
func (m *machine) staleButtons() {
	for _, in := range slices.Clone(m.s.Intents) {
		if in.Phase == Fix && !m.cut && !m.at.Before(in.Deadline) {
			m.s.Intents = slices.DeleteFunc(m.s.Intents, func(o Intent) bool { return o.ID == in.ID })
			m.pressed(in, Result{Status: ResultFailed, Reason: reasonTimeout, Message: "not done in time"})
		}
	}
}

// offer enables the buttons that may be pressed now.
func (m *machine) offer() {
	learning := m.s.Phase == Fix || m.s.Phase == Verify && m.s.Outcome == ""
	for i := range m.s.Buttons {
		b := &m.s.Buttons[i]
		switch b.ID {
		case buttonStop:
			b.Enabled = m.s.Outcome == ""
		case buttonHint:
			_, ok := m.dueHint()
			b.Enabled = ok && m.s.Outcome == ""
		default:
			byButton := m.s.Repair != nil && m.s.Repair.Button != ""
			b.Enabled = learning && !b.Busy && (m.s.Phase != Verify || !byButton) && m.ended(m.p.button(b.ID))
		}
	}
}

// ended tells whether the evidence that a button could take away stands.
func (m *machine) ended(b *Button) bool {
	return b != nil && slices.ContainsFunc(m.s.Steps, func(ss StepState) bool {
		return ss.ID == b.EnableAfter && (ss.Status == StepDone || ss.Status == StepExpected)
	})
}

// ladder puts the hints on offer, each at its time.
func (m *machine) ladder() {
	for i, h := range m.p.hints {
		m.s.Hints = append(m.s.Hints, HintState{Index: i, Due: m.at.Add(h.After), Cost: h.Cost, Text: h.Text})
	}
}

// dueHint gives the next hint that may be shown now.
func (m *machine) dueHint() (*HintState, bool) {
	for i := range m.s.Hints {
		h := &m.s.Hints[i]
		if !h.Shown.IsZero() || m.at.Before(h.Due) || h.Index >= len(m.p.hints) {
			continue
		}
		if when := m.p.hints[h.Index].when; when != nil {
			if fits, _ := m.truth(when); fits != True {
				continue
			}
		}
		return h, true
	}
	return nil, false
}

func (m *machine) giveHint(in Input) {
	h, ok := m.dueHint()
	if !ok || m.s.Phase == Cleanup || m.s.Outcome != "" {
		m.refuse(buttonHint, in.By, m.nextHint())
		return
	}
	h.Shown, h.By = m.at, in.By
	m.fact(Fact{Kind: FactHint, Name: fmt.Sprint(h.Index + 1), By: in.By, Detail: fmt.Sprintf("cost %d", h.Cost)})
}

// nextHint says when the next hint is due: an instant in RFC 3339, or "none".
func (m *machine) nextHint() string {
	for _, h := range m.s.Hints {
		if h.Shown.IsZero() && m.at.Before(h.Due) {
			return h.Due.Format(time.RFC3339)
		}
	}
	return "none"
}
