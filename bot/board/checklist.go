package board

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"labbot/bot/text"
	"labbot/scenarios/engine"
)

var stepMark = map[engine.StepStatus]string{
	engine.StepRunning: ":hourglass_flowing_sand:", engine.StepDone: ":white_check_mark:", engine.StepExpected: ":white_check_mark:",
	engine.StepFailed: ":x:", engine.StepSkipped: ":white_circle:",
}

// checklist lists the phases. A phase that is over takes one line, with those of
// its steps that are worth a second look; the present one shows all its steps.
func (v View) checklist() []string {
	var l, ahead []string
	for _, phase := range v.phases() {
		steps := slices.DeleteFunc(slices.Clone(v.State.Steps), func(s engine.StepState) bool { return s.Phase != phase })
		present := phase == v.State.Phase
		name := "*" + v.phaseName(phase) + "*"
		switch {
		case present:
			l = append(l, ":arrow_forward: "+name)
		case len(steps) == 0 && !v.passed(phase):
			ahead = append(ahead, v.phaseName(phase))
			continue
		default:
			l = append(l, phaseMark(steps)+" "+name+v.summary(steps))
		}
		for _, s := range steps {
			if present || s.Status == engine.StepExpected || s.Status == engine.StepFailed || !s.Say.IsZero() {
				l = append(l, v.step(s)...)
			}
		}
		if present && phase == engine.Verify {
			for _, c := range v.State.Oracle {
				l = append(l, indent+checkMark(c)+" "+v.check(c))
			}
		}
	}
	if len(ahead) > 0 {
		l = append(l, ":white_circle: "+strings.Join(ahead, " → "))
	}
	return l
}

// indent is made of spaces that Slack does not fold.
const indent = "\u2003 "

// order is the order of phases of every scenario.
var order = []engine.Phase{engine.Prepare, engine.Inject, engine.Observe, engine.Fix, engine.Verify, engine.Cleanup}

// phases lists those to draw: all that the scenario has, or, where this is not
// told, those that were reached.
func (v View) phases() []engine.Phase {
	reached := map[engine.Phase]bool{v.State.Phase: true}
	for _, s := range v.State.Steps {
		reached[s.Phase] = true
	}
	return slices.DeleteFunc(slices.Clone(order), func(p engine.Phase) bool {
		if v.State.Outcome != "" && !reached[p] { // most will not come any more
			comes := v.passed(p) || p == engine.Cleanup && v.State.Cleaned == engine.CleanUnknown
			return !comes || !slices.Contains(v.Phases, p)
		}
		return !reached[p] && !slices.Contains(v.Phases, p)
	})
}

// passed tells whether a phase without steps of its own, such as fix, lies behind.
func (v View) passed(p engine.Phase) bool {
	if p == engine.Verify {
		return v.State.Outcome == engine.Passed || v.State.Outcome == engine.PassedWithNote
	}
	return p == engine.Fix && v.State.Repair != nil
}

func (v View) phaseName(p engine.Phase) string {
	switch p {
	case engine.Prepare:
		return text.T(v.Lang, "board.phase-prepare")
	case engine.Inject:
		if v.breaks() {
			return text.T(v.Lang, "board.phase-inject")
		}
		return text.T(v.Lang, "board.phase-act")
	case engine.Observe:
		return text.T(v.Lang, "board.phase-observe")
	case engine.Fix:
		return text.T(v.Lang, "board.phase-fix")
	case engine.Verify:
		return text.T(v.Lang, "board.phase-verify")
	}
	return text.T(v.Lang, "board.phase-cleanup")
}

// phaseMark tells how a phase that is over went. A step still under way there
// was left when the run ended.
func phaseMark(steps []engine.StepState) string {
	for _, s := range steps {
		switch s.Status {
		case engine.StepFailed:
			return stepMark[s.Status]
		case engine.StepRunning:
			return ":black_square_for_stop:"
		}
	}
	return ":white_check_mark:"
}

func (v View) summary(steps []engine.StepState) string {
	if len(steps) == 0 {
		return ""
	}
	sum := " · " + text.N(v.Lang, "board.steps", len(steps))
	if end := steps[len(steps)-1].Ended; !end.IsZero() {
		sum += " · " + span(v.Lang, steps[0].Started, end)
	}
	return sum
}

func (v View) step(s engine.StepState) []string {
	row := indent + cmp.Or(stepMark[s.Status], ":hourglass_flowing_sand:") + " " + v.stepTitle(s)
	if s.Status == engine.StepExpected {
		row += " – _" + text.T(v.Lang, "board.expected") + "_"
	}
	l := []string{row}
	// The scenario's word is on what has happened, so it waits for the end.
	happened := s.Status == engine.StepDone || s.Status == engine.StepExpected
	if say := Escape(s.Say.In(v.Lang), 200); say != "" && happened {
		l = append(l, indent+indent+"_"+strings.Trim(say, "_ ")+"_")
	}
	if s.Status == engine.StepFailed && s.Note != "" {
		l = append(l, indent+indent+Code(s.Note, 300))
	}
	if s.Status == engine.StepRunning || s.Status == engine.StepFailed {
		for _, c := range s.Checks {
			l = append(l, indent+indent+checkMark(c)+" "+v.check(c))
		}
	}
	return l
}

func checkMark(c engine.CheckState) string {
	switch {
	case c.Final && c.Value == engine.False:
		return ":x:"
	case c.Value == engine.True && (c.Final || c.Hold == 0 && c.Mode != "always" && c.Mode != "never"):
		return ":white_check_mark:"
	}
	return ":hourglass_flowing_sand:"
}

func (v View) check(c engine.CheckState) string {
	row := Code(c.Name, 60)
	switch {
	case c.Value == engine.Unknown:
		row += " – " + text.T(v.Lang, "board.unknown")
	case c.Value == engine.True && !c.Final && c.Hold > 0:
		row += " – " + text.T(v.Lang, "board.hold", "time", span(v.Lang, time.Time{}, time.Time{}.Add(c.Hold)))
	}
	if c.Value != engine.True && c.Detail != "" {
		row += " " + Code(c.Detail, 160)
	}
	return row
}
