package engine

import (
	"maps"
	"slices"
	"time"

	"labbot/bot/lab"
	"labbot/bot/text"
)

// Bounds of a run beside its own limit.
const (
	// prepareReach is how long a cluster that never answered is waited for.
	prepareReach = 8 * time.Second
	// cleanupGrace is for how long after the run's limit cleanup goes on trying.
	cleanupGrace = 5 * time.Minute
	// settleTime is how long cleanup waits to learn whether a namespace whose
	// creation was under way was made.
	settleTime = 60 * time.Second
	// moveHold is how long a wrong move must be seen before it counts: the
	// watches of two kinds may be a moment apart.
	moveHold = time.Second
	retry    = time.Second
	maxInput = 200
	maxRound = 200
)

// machine carries one Step. Its State is a copy of its own.
type machine struct {
	*world
	facts []Fact
}

// Step takes a run on by what the evidence shows at the instant at. It is a pure
// function: the same arguments give the same result, nothing of s or ev is
// changed, and it ends after a bounded number of rounds.
func (p *Program) Step(s State, ev Evidence, at time.Time) (State, []Fact) {
	if s.Phase == Ended {
		return s, nil
	}
	c := s.clone()
	m := &machine{world: &world{p: p, s: &c, ev: &ev, at: at.Round(0).UTC()}}
	m.reach()
	m.results()
	m.offer()
	m.inputs()
	m.limits()
	for range maxRound {
		if !m.advance() {
			break
		}
	}
	m.offer()
	m.wake()
	if len(c.Intents) == 0 {
		c.Intents = nil // as it comes back from JSON
	}
	return c, m.facts
}

// clone copies what a Step may change. Objects kept in At and Chosen are never
// changed once they are there, so they are shared.
func (s State) clone() State {
	s.Steps = slices.Clone(s.Steps)
	for i := range s.Steps {
		s.Steps[i].Checks = slices.Clone(s.Steps[i].Checks)
	}
	s.Intents = slices.Clone(s.Intents)
	s.At = maps.Clone(s.At)
	s.Chosen = maps.Clone(s.Chosen)
	s.Buttons = slices.Clone(s.Buttons)
	s.Hints = slices.Clone(s.Hints)
	s.Moves = slices.Clone(s.Moves)
	s.MovesSince = maps.Clone(s.MovesSince)
	s.Accepted = slices.Clone(s.Accepted)
	s.Oracle = slices.Clone(s.Oracle)
	s.Inputs = slices.Clone(s.Inputs)
	if s.Repair != nil {
		r := *s.Repair
		s.Repair = &r
	}
	return s
}

func (m *machine) fact(f Fact) {
	f.At = m.at
	m.facts = append(m.facts, f)
}

// advance makes one move and tells whether it made any.
func (m *machine) advance() bool {
	switch m.s.Phase {
	case Prepare, Inject, Observe:
		return m.runStep()
	case Fix:
		return m.fix()
	case Verify:
		return m.verify()
	case Cleanup:
		return m.cleanup()
	}
	return false
}

// enterPhase begins a phase.
func (m *machine) enterPhase(ph Phase) {
	m.s.Phase, m.s.PhaseStarted, m.s.Step = ph, m.at, 0
	m.fact(Fact{Kind: FactPhase, Name: string(ph)})
	switch ph {
	case Observe:
		if !m.p.HasFix() {
			m.ladder()
		}
	case Fix:
		m.enterFix()
	case Verify:
		m.enterVerify()
	case Cleanup:
		m.s.Buttons = nil
	case Ended:
		m.s.EndedAt = m.at
		m.s.Intents = nil
	}
}

// nextPhase goes on after the last step of a phase.
func (m *machine) nextPhase() {
	switch m.s.Phase {
	case Prepare:
		m.enterPhase(Inject)
	case Inject:
		m.enterPhase(Observe)
	case Observe:
		if m.p.HasFix() {
			m.enterPhase(Fix)
		} else {
			m.enterPhase(Verify)
		}
	}
}

// end decides the outcome and begins cleanup.
func (m *machine) end(o Outcome, why lab.Text) {
	if m.s.Outcome == "" {
		m.s.Outcome, m.s.Why = o, why
		m.fact(Fact{Kind: FactOutcome, Name: string(o), Detail: why.EN})
	}
	m.toCleanup()
}

// toCleanup drops whatever was open. Only the creation of the namespace stays,
// until it is known whether there is one to delete.
func (m *machine) toCleanup() {
	m.s.Intents = slices.DeleteFunc(m.s.Intents, func(in Intent) bool {
		return in.Kind != ActCreateNamespace || m.s.NamespaceUID != ""
	})
	if last := len(m.s.Steps) - 1; last >= 0 && m.s.Steps[last].Status == StepRunning {
		m.closeStep(&m.s.Steps[last], StepSkipped)
	}
	m.enterPhase(Cleanup)
}

// finish ends the run.
func (m *machine) finish(c CleanResult, remains string) {
	m.s.Cleaned, m.s.Remains = c, remains
	m.fact(Fact{Kind: FactCleaned, Name: string(c), Detail: remains})
	m.enterPhase(Ended)
}

// limits ends a run that took too long or never reached its cluster.
func (m *machine) limits() {
	if m.s.Phase == Cleanup || m.s.Phase == Ended || m.s.Outcome != "" {
		return
	}
	if m.s.Phase == Prepare && m.s.NamespaceUID == "" && m.cut && m.at.Sub(m.s.UnreachableSince) >= prepareReach {
		m.forgetUnsent()
		m.end(Infrastructure, text.Both("scenario.why-unreachable"))
		return
	}
	if m.at.Before(m.s.Deadline) {
		return
	}
	if m.cut {
		m.end(Infrastructure, text.Both("scenario.why-unreachable"))
		return
	}
	m.end(TimedOut, text.Both("scenario.why-run-limit", "minutes", int(m.s.Deadline.Sub(m.s.StartedAt).Minutes())))
}

// forgetUnsent gives up what surely never reached the cluster. A request that
// may have got there, or that nothing is known of, stays open until it is known.
func (m *machine) forgetUnsent() {
	m.s.Intents = slices.DeleteFunc(m.s.Intents, func(in Intent) bool { return !in.Unsure && in.Attempts > 0 })
}

// reach keeps account of whether the cluster answers.
func (m *machine) reach() {
	since, answered, open := m.ev.Stale.Round(0).UTC(), false, false
	for _, in := range m.s.Intents {
		open = open || in.Report == nil
	}
	for _, r := range m.ev.Results {
		if r.Status != ResultUnreachable {
			answered = true
		} else if since.IsZero() {
			since = m.at
		}
	}
	was := !m.s.UnreachableSince.IsZero()
	switch {
	case !since.IsZero() && !was:
		if since.After(m.at) {
			since = m.at
		}
		if since.Before(m.s.StartedAt) {
			since = m.s.StartedAt // an older silence is not this run's
		}
		m.s.UnreachableSince = since
		m.fact(Fact{Kind: FactUnreached})
	case was && since.IsZero() && (answered || !open):
		m.reachedAgain()
	}
	m.cut = !m.s.UnreachableSince.IsZero()
}

// reachedAgain lets every clock that stood still go on.
func (m *machine) reachedAgain() {
	from := m.s.UnreachableSince
	m.s.UnreachableSince = time.Time{}
	out := max(m.at.Sub(from), 0)
	m.fact(Fact{Kind: FactReachAgain, Detail: out.String()})
	if last := len(m.s.Steps) - 1; last >= 0 && m.s.Steps[last].Status == StepRunning {
		ss := &m.s.Steps[last]
		if ss.Started.After(from) {
			out = max(m.at.Sub(ss.Started), 0)
		}
		ss.Paused += out
		ss.Deadline = ss.Deadline.Add(out)
	}
	for i := range m.s.Intents {
		m.s.Intents[i].Deadline = m.s.Intents[i].Deadline.Add(out)
	}
	if !m.s.FixDeadline.IsZero() {
		m.s.FixDeadline = m.s.FixDeadline.Add(out)
	}
	if m.s.Phase == Verify {
		m.s.VerifyBy = m.s.VerifyBy.Add(out)
	}
}
