package board

import (
	"strings"
	"testing"

	"labbot/bot/lab"
	"labbot/scenarios/engine"
)

func TestTheScenariosWordWaitsForTheEnd(t *testing.T) {
	say := lab.Text{RU: "Как задумано.", EN: "Just as planned."}
	for status, want := range map[engine.StepStatus]bool{
		engine.StepRunning: false, engine.StepFailed: false, engine.StepDone: true, engine.StepExpected: true,
	} {
		v := View{Lang: lab.EN, State: engine.State{Phase: engine.Inject,
			Steps: []engine.StepState{{Phase: engine.Inject, ID: "status", Status: status, Say: say}}}}
		if got := strings.Contains(strings.Join(v.checklist(), "\n"), say.EN); got != want {
			t.Errorf("a step that is %s tells its word: %t, want %t", status, got, want)
		}
	}
}

func TestARepairIsToldOnce(t *testing.T) {
	say := lab.Text{RU: "Template прежний.", EN: "The previous template is back."}
	v := View{Lang: lab.EN, State: engine.State{Outcome: engine.Passed, Why: say, Repair: &engine.Repair{Button: "rollback", Say: say}}}
	if got := strings.Count(strings.Join(v.outcomeLines(), "\n"), say.EN); got != 1 {
		t.Errorf("the repair is told %d times", got)
	}
}
