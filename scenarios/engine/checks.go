package engine

import (
	"slices"
	"time"

	"labbot/bot/text"
)

// checks evaluates the step's assertions on this reading. A verdict without a
// status means that none of them decided the step.
func (m *machine) checks(st *step, ss *StepState, acted bool) verdict {
	for i := range st.checks {
		c, cs := &st.checks[i], &ss.Checks[i]
		if cs.Final {
			continue
		}
		if c.unless != nil {
			if outside, _ := m.truth(c.unless); outside == True {
				m.decided(ss, cs, False, "unless: "+c.Unless.Expr.Source)
				return verdict{StepFailed, Infrastructure, text.Both("scenario.why-outside", "name", c.Name)}
			}
		}
		if v := m.check(c, cs, ss, acted); v.status != "" {
			return v
		}
	}
	// What must hold throughout is decided last, when all else is.
	over := acted && !slices.ContainsFunc(ss.Checks, func(c CheckState) bool { return !c.Final && !throughout(c.Mode) })
	for i := range st.checks {
		c, cs := &st.checks[i], &ss.Checks[i]
		if cs.Final || !throughout(c.Mode) {
			continue
		}
		if v := m.endThroughout(st, c, cs, ss, over); v.status != "" {
			return v
		}
	}
	return verdict{}
}

func throughout(mode string) bool { return mode == "always" || mode == "never" }

func allFinal(cs []CheckState) bool {
	return !slices.ContainsFunc(cs, func(c CheckState) bool { return !c.Final })
}

// see notes a check's value on this reading.
func (m *machine) see(ss *StepState, cs *CheckState, v Truth, detail string) {
	cs.Detail = detail
	if cs.Value == v {
		return
	}
	cs.Value, cs.Since = v, m.at
	m.fact(Fact{Kind: FactCheck, Step: ss.ID, Name: cs.Name, Detail: string(v)})
}

func (m *machine) decided(ss *StepState, cs *CheckState, v Truth, detail string) {
	m.see(ss, cs, v, detail)
	cs.Final = true
}

func (m *machine) check(c *check, cs *CheckState, ss *StepState, acted bool) verdict {
	v, detail := m.truth(c.expr)
	if c.Mode == "never" {
		v = not(v)
	}
	if v == False {
		detail = c.Expr.Source
	}
	if c.Mode == "now" && !acted {
		return verdict{} // this reading is the one after the action
	}
	m.see(ss, cs, v, detail)
	limit := ss.Started.Add(c.Within + ss.Paused)
	switch c.Mode {
	case "now":
		cs.Final = v == True || v == False
		if v == Unknown && !m.at.Before(ss.Started.Add(c.Within+ss.Paused+assertTimeout)) {
			return unknownToTheEnd(c)
		}
	case "eventually":
		if v == True {
			cs.Final = m.at.Sub(cs.Since) >= c.Hold
		} else if !m.at.Before(limit) {
			cs.Final = v == False
			if v == Unknown {
				return unknownToTheEnd(c)
			}
		}
	default:
		cs.Final = v == False
	}
	if cs.Final && v == False {
		return checkFailed(c)
	}
	return verdict{}
}

// endThroughout decides a check of mode always or never: it holds until all else
// in the step is decided, or until its own time is over; alone in its step, for
// the whole of its time.
func (m *machine) endThroughout(st *step, c *check, cs *CheckState, ss *StepState, over bool) verdict {
	within := c.Within
	if within == 0 {
		within = st.timeout
	}
	timeUp := !m.at.Before(ss.Started.Add(within + ss.Paused))
	alone := st.Action == ActAssert && !slices.ContainsFunc(st.checks, func(k check) bool { return !throughout(k.Mode) })
	if !timeUp && (!over || alone) {
		return verdict{}
	}
	if cs.Value == True {
		cs.Final = true
		return verdict{}
	}
	if !m.at.Before(ss.Deadline.Add(assertTimeout)) {
		return unknownToTheEnd(c)
	}
	return verdict{}
}

func unknownToTheEnd(c *check) verdict {
	return verdict{StepFailed, Infrastructure, text.Both("scenario.why-unknown", "name", c.Name)}
}

func checkFailed(c *check) verdict {
	why := c.Say
	if why.IsZero() {
		why = text.Both("scenario.why-check", "name", c.Name, "expr", clip(c.Expr.Source))
	}
	return verdict{StepFailed, Failed, why}
}

func not(t Truth) Truth {
	switch t {
	case True:
		return False
	case False:
		return True
	}
	return Unknown
}

// earlier gives the earlier of two instants, where zero is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
