package engine

import (
	"slices"
	"time"

	"labbot/bot/text"
)

func (m *machine) enterFix() {
	if !m.s.FixDeadline.IsZero() {
		// Back from a proof that failed: what matched then is no news now.
		m.s.Repair = nil
		m.s.Oracle = nil
	} else {
		m.s.FixDeadline = m.at.Add(m.p.sc.Spec.Phases.Fix.Timeout)
		m.ladder()
	}
	m.s.Accepted = nil
	for _, a := range m.p.accepted {
		m.s.Accepted = append(m.s.Accepted, CheckState{Name: a.Name, Mode: "eventually", Value: Unknown, Since: m.at})
	}
}

// fix watches the learners' part for a repair, however it comes.
func (m *machine) fix() bool {
	m.staleButtons()
	m.wrongMoves()
	// While a button is at work its own result tells what repaired it.
	if !m.busy() && (m.newlyAccepted() || m.oracleTrue()) {
		m.repaired(Repair{At: m.at, Manager: m.lastWriter(time.Time{})})
		return true
	}
	if m.at.Before(m.s.FixDeadline) {
		return false
	}
	if m.cut {
		m.end(Infrastructure, text.Both("scenario.why-unreachable"))
	} else {
		m.end(TimedOut, text.Both("scenario.why-fix-timeout", "minutes", int(m.p.sc.Spec.Phases.Fix.Timeout.Minutes())))
	}
	return true
}

func (m *machine) busy() bool {
	return slices.ContainsFunc(m.s.Buttons, func(b ButtonState) bool { return b.Busy })
}

// newlyAccepted tells whether an accepted fix matches that did not match on the
// reading before. The first known reading is only the start.
func (m *machine) newlyAccepted() bool {
	news := false
	for i := range m.s.Accepted {
		if i >= len(m.p.accepted) {
			break
		}
		a := &m.s.Accepted[i]
		v, _ := m.truth(m.p.accepted[i].expr)
		if v == Unknown || v == a.Value {
			continue
		}
		news = news || a.Value == False && v == True
		a.Value, a.Since = v, m.at
	}
	return news
}

// oracleTrue tells whether the whole proof is true on this reading.
func (m *machine) oracleTrue() bool {
	for _, o := range m.p.oracle {
		if v, _ := m.truth(o.expr); v != True && !o.Note {
			return false
		}
	}
	return true
}

// repaired notes a repair and has it proved.
func (m *machine) repaired(r Repair) {
	m.s.Repair = &r
	m.praise()
	m.fact(Fact{Kind: FactRepair, Name: r.Button, By: r.By, Detail: r.Manager})
	m.enterPhase(Verify)
}

// praise finds the first accepted fix that fits, for the words only.
func (m *machine) praise() {
	if m.s.Repair == nil || m.s.Repair.Accepted != "" {
		return
	}
	for _, a := range m.p.accepted {
		if v, _ := m.truth(a.expr); v == True {
			m.s.Repair.Accepted, m.s.Repair.Say = a.Name, a.Say
			return
		}
	}
}

// lastWriter gives the field manager that last wrote the spec of the object that
// the scenario is about, from managedFields; empty when it is not known. The
// kube-controller-manager writes status and annotations and is not meant, and a
// write before from explains nothing: a deletion leaves no manager at all.
func (m *machine) lastWriter(from time.Time) string {
	i := slices.IndexFunc(m.p.watches, func(w Watch) bool { return !w.List && w.Kind == "Deployment" })
	if i < 0 {
		return ""
	}
	manager, last := "", from
	for _, f := range digList(m.reading(m.p.watches[i].As).Object, "metadata", "managedFields") {
		who := digString(f, "manager")
		if who == "kube-controller-manager" || digString(f, "subresource") != "" {
			continue
		}
		if at, err := time.Parse(time.RFC3339, digString(f, "time")); err == nil && !at.Before(last) {
			manager, last = who, at
		}
	}
	return manager
}

// moveTrace is how much older than a wrong move the write behind it may be: the
// stamps of managedFields are whole seconds, and the watch takes its time.
const moveTrace = 3 * time.Second

// wrongMoves notes typical wrong moves, each once and only when it is seen for
// longer than the watches may be apart.
func (m *machine) wrongMoves() {
	for _, mv := range m.p.moves {
		if slices.ContainsFunc(m.s.Moves, func(s MoveState) bool { return s.Name == mv.Name }) {
			continue
		}
		since, seen := m.s.MovesSince[mv.Name]
		v, _ := m.truth(mv.expr)
		switch {
		case v != True:
			delete(m.s.MovesSince, mv.Name)
		case !seen:
			if m.s.MovesSince == nil {
				m.s.MovesSince = map[string]time.Time{}
			}
			m.s.MovesSince[mv.Name] = m.at
		case m.at.Sub(since) >= moveHold:
			delete(m.s.MovesSince, mv.Name)
			s := MoveState{Name: mv.Name, At: since, Cost: mv.Cost, Say: mv.Say, Manager: m.lastWriter(since.Add(-moveTrace))}
			m.s.Moves = append(m.s.Moves, s)
			m.fact(Fact{Kind: FactMove, Name: mv.Name, Detail: s.Manager})
		}
	}
	if len(m.s.MovesSince) == 0 {
		m.s.MovesSince = nil
	}
}

func (m *machine) enterVerify() {
	within := time.Duration(0)
	m.s.Oracle = make([]CheckState, len(m.p.oracle))
	for i, o := range m.p.oracle {
		within = max(within, o.Within)
		m.s.Oracle[i] = CheckState{Name: o.Name, Mode: "eventually", Value: Unknown, Since: m.at, Hold: o.Hold}
	}
	m.s.VerifyBy = m.at.Add(within)
}

// verify waits until the whole proof was true together for its longest hold.
func (m *machine) verify() bool {
	if m.s.Outcome != "" {
		return m.afterProof()
	}
	m.staleButtons()
	m.wrongMoves()
	m.praise()
	together, all := m.s.PhaseStarted, true
	unknown, hold := false, time.Duration(0)
	for i, o := range m.p.oracle {
		if i >= len(m.s.Oracle) {
			break
		}
		c := &m.s.Oracle[i]
		v, detail := m.truth(o.expr)
		m.see(&StepState{ID: string(Verify)}, c, v, detail)
		if o.Note {
			continue
		}
		all, unknown, hold = all && v == True, unknown || v == Unknown, max(hold, o.Hold)
		if c.Since.After(together) {
			together = c.Since
		}
	}
	switch {
	case all && m.at.Sub(together) >= hold:
		m.proved()
	case all || m.at.Before(m.s.VerifyBy):
		return false
	case unknown:
		m.end(Infrastructure, text.Both("scenario.why-unknown", "name", "oracle"))
	default:
		m.notProved()
	}
	return true
}

// proved ends the lesson with a pass.
func (m *machine) proved() {
	o, why := Passed, text.Both("scenario.why-passed")
	for i := range m.s.Oracle {
		m.s.Oracle[i].Final = true
		if m.p.oracle[i].Note && m.s.Oracle[i].Value != True {
			o = PassedWithNote
		}
	}
	if r := m.s.Repair; r != nil && slices.ContainsFunc(m.p.accepted, func(a acceptedFix) bool { return a.Name == r.Accepted && a.Note }) {
		o = PassedWithNote
	}
	if o == PassedWithNote {
		why = text.Both("scenario.why-passed-note")
	}
	if r := m.s.Repair; r != nil && !r.Say.IsZero() {
		why = r.Say
	}
	m.s.Outcome, m.s.Why = o, why
	m.fact(Fact{Kind: FactOutcome, Name: string(o), Detail: why.EN})
	m.s.Intents = nil
}

// afterProof posts the evidence of the repair. It may fail without harm.
func (m *machine) afterProof() bool {
	for _, st := range m.p.phases[Verify] {
		ss := m.stepState(st)
		switch {
		case ss == nil && m.s.Step == 0:
			m.enterStep(st)
			return true
		case ss != nil && ss.Status == StepRunning:
			m.act(st, ss)
			v := m.judge(st, ss)
			if v.status == StepRunning {
				return false
			}
			m.closeStep(ss, v.status)
			m.s.Step++
		}
	}
	m.toCleanup()
	return true
}

// notProved gives the learners another try while there is time.
func (m *machine) notProved() {
	open := ""
	for _, c := range m.s.Oracle {
		if c.Value != True {
			open = c.Name
			break
		}
	}
	switch {
	case !m.p.HasFix():
		m.end(Failed, text.Both("scenario.why-check", "name", open, "expr", m.oracleSource(open)))
	case m.at.Before(m.s.FixDeadline):
		m.enterPhase(Fix)
	default:
		m.end(TimedOut, text.Both("scenario.why-fix-timeout", "minutes", int(m.p.sc.Spec.Phases.Fix.Timeout.Minutes())))
	}
}

func (m *machine) oracleSource(name string) string {
	for _, o := range m.p.oracle {
		if o.Name == name {
			return clip(o.Expr.Source)
		}
	}
	return ""
}
