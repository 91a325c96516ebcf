package board

import (
	"strings"

	"labbot/bot/text"
	"labbot/scenarios/engine"
)

// outcome is the sentence on how the run ended.
func (v View) outcome() string {
	switch v.State.Outcome {
	case engine.Passed:
		return text.T(v.Lang, "board.passed")
	case engine.PassedWithNote:
		return text.T(v.Lang, "board.passed-with-note")
	case engine.TimedOut:
		return text.T(v.Lang, "board.timed-out")
	case engine.Stopped:
		return text.T(v.Lang, "board.stopped", "who", Mention(v.State.StoppedBy))
	case engine.Infrastructure:
		return text.T(v.Lang, "board.infrastructure")
	}
	return text.T(v.Lang, "board.failed")
}

// outcomeLines say why it ended so and what to do.
func (v View) outcomeLines() []string {
	l := v.repair()
	// Of a repaired run the outcome's reason is the repair, which is told already.
	told := v.State.Repair != nil && v.State.Repair.Say == v.State.Why
	if why := Escape(v.State.Why.In(v.Lang), 800); why != "" && !told {
		l = append(l, why)
	}
	if v.State.Outcome == engine.Infrastructure {
		l = append(l, v.whatToDo(), text.T(v.Lang, "board.not-counted"))
	}
	return l
}

func (v View) whatToDo() string {
	for _, s := range v.State.Steps {
		if s.Reason == engine.ReasonNotOurs {
			return text.T(v.Lang, "board.do-namespace", "kubectl", Code("kubectl get ns "+v.State.Namespace+" --show-labels", 120))
		}
	}
	if !v.State.UnreachableSince.IsZero() {
		line := "kubectl get --raw=/readyz"
		if v.Context != "" && !strings.ContainsAny(v.Context, " '\"") {
			line = "kubectl --context " + v.Context + " get --raw=/readyz"
		}
		return text.T(v.Lang, "board.do-cluster", "kubectl", Code(line, 200))
	}
	return text.T(v.Lang, "board.do-again", "run", Code(string(v.Run), 30))
}

// repair says how the fix came.
func (v View) repair() []string {
	r := v.State.Repair
	if r == nil {
		return nil
	}
	var l []string
	switch {
	case r.Button != "":
		l = append(l, text.T(v.Lang, "board.fixed-button", "button", "*"+Escape(v.label(r.Button), 60)+"*", "who", Mention(r.By)))
	case r.Manager != "":
		l = append(l, text.T(v.Lang, "board.fixed-manager", "manager", Code(r.Manager, 60)))
	default:
		l = append(l, text.T(v.Lang, "board.fixed"))
	}
	if say := Escape(r.Say.In(v.Lang), 500); say != "" {
		l = append(l, say)
	}
	return l
}
