package engine

import "time"

// cleanup takes the namespace away and proves it. It goes through all its steps
// even after one failed: only the proof counts.
func (m *machine) cleanup() bool {
	if m.s.NamespaceUID == "" {
		return m.settle()
	}
	steps := m.p.phases[Cleanup]
	if m.s.Step < len(steps) {
		return m.runStep()
	}
	proved, remains := m.proof()
	if proved {
		m.finish(Clean, "")
	} else {
		m.finish(Dirty, remains)
	}
	return true
}

// settle waits to learn whether a namespace whose creation was under way is there.
func (m *machine) settle() bool {
	open := len(m.s.Intents) > 0
	switch {
	case !open:
		m.finish(CleanNotNeeded, "")
	case !m.at.Before(m.s.Deadline.Add(cleanupGrace)):
		m.finish(Dirty, "namespace "+m.s.Namespace+": not known whether it was created")
	case !m.cut && m.at.Sub(m.s.PhaseStarted) >= settleTime:
		m.finish(CleanNotNeeded, "")
	default:
		return false
	}
	return true
}

// proof tells whether a look at the namespace was answered NotFound.
func (m *machine) proof() (bool, string) {
	proved, remains := false, m.s.Remains
	for _, ss := range m.s.Steps {
		if ss.Phase != Cleanup {
			continue
		}
		if ss.Status == StepFailed && ss.Action != ActDeleteNamespace {
			return false, firstOf(remains, ss.Note, ss.Reason)
		}
		if ss.Action != ActGet {
			continue
		}
		if ss.Status != StepExpected || ss.Reason != "NotFound" {
			return false, firstOf(remains, ss.Note, ss.Reason)
		}
		proved = true
	}
	return proved, firstOf(remains, "not proved")
}

func firstOf(words ...string) string {
	for _, w := range words {
		if w != "" {
			return w
		}
	}
	return ""
}

// wake sets when the next Step must come if nothing happens before.
func (m *machine) wake() {
	if m.s.Phase == Ended {
		m.s.WakeAt = time.Time{}
		return
	}
	// Conditions are looked at every second, whatever the cluster says.
	next := m.at.Add(time.Second)
	consider := func(at time.Time) {
		if at.After(m.at) {
			next = earlier(next, at)
		}
	}
	for _, in := range m.s.Intents {
		consider(in.NotBefore)
		consider(in.Deadline)
	}
	if m.cut {
		consider(m.s.UnreachableSince.Add(prepareReach))
	}
	if last := len(m.s.Steps) - 1; last >= 0 && m.s.Steps[last].Status == StepRunning {
		ss := m.s.Steps[last]
		consider(ss.Deadline)
		for _, c := range ss.Checks {
			consider(c.Since.Add(c.Hold))
		}
	}
	for _, h := range m.s.Hints {
		consider(h.Due)
	}
	for _, since := range m.s.MovesSince {
		consider(since.Add(moveHold))
	}
	switch m.s.Phase {
	case Fix:
		consider(m.s.FixDeadline)
	case Verify:
		consider(m.s.VerifyBy)
		for _, c := range m.s.Oracle {
			consider(c.Since.Add(c.Hold))
		}
	}
	m.s.WakeAt = next
}
