package board

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"labbot/bot/exhibit"
	"labbot/bot/lab"
	"labbot/bot/text"
	"labbot/internal/golden"
	"labbot/scenarios/engine"
)

func TestRender(t *testing.T) {
	for _, lang := range lab.Langs {
		for name, v := range views(t, lang) {
			t.Run(name+"."+string(lang), func(t *testing.T) {
				slots := Render(v)
				for _, p := range problems(slots) {
					t.Error(p)
				}
				var b strings.Builder
				for _, s := range slots {
					fmt.Fprintf(&b, "######## %s\n%s\n", s.ID, read(s.Message))
				}
				golden.Equal(t, "testdata/"+name+"."+string(lang)+".golden", b.String())
			})
		}
	}
}

// TestRenderIsQuietWithoutNews draws the same state at other times: an edit of
// the message must have a reason.
func TestRenderIsQuietWithoutNews(t *testing.T) {
	v := fixing(t, lab.EN)
	first := fmt.Sprint(read(Render(v)[0].Message))
	v.Now = v.Now.Add(30 * time.Second)
	if diff := cmp.Diff(first, fmt.Sprint(read(Render(v)[0].Message))); diff != "" {
		t.Errorf("the board changed though nothing happened:\n%s", diff)
	}
	v.Now = sec(151)
	if got := read(Render(v)[0].Message); !strings.Contains(got, "run:hint") {
		t.Errorf("no hint button once a hint is due:\n%s", got)
	}
}

func TestRollbackOpensAfterTheEvidence(t *testing.T) {
	for _, lang := range lab.Langs {
		for name, want := range map[string]bool{"prepare": false, "observe": false, "fix": true, "verify": false, "passed": false} {
			got := read(Render(views(t, lang)[name])[0].Message)
			if strings.Contains(got, ActionRollback) != want {
				t.Errorf("%s %s: button %s shown = %t, want %t", name, lang, ActionRollback, !want, want)
			}
		}
	}
	locked := text.T(lab.RU, "board.opens-after", "button", "Rollback")
	if got := read(Render(observing(t, lab.RU))[0].Message); !strings.Contains(got, locked) {
		t.Errorf("no word of the locked button %q in\n%s", locked, got)
	}
}

func TestEvidenceComesInTheOrderOfTheSteps(t *testing.T) {
	var ids []string
	for _, s := range Render(passed(t, lab.EN)) {
		ids = append(ids, s.ID)
	}
	want := []string{SlotBoard, "objects", "describe-deployment", "describe-pods", "events", "history", HintSlot(0), MoveSlot("deleted-failed-pod"), SlotVerdict, SlotCleanup}
	if diff := cmp.Diff(want, ids); diff != "" {
		t.Errorf("slots (-want +got):\n%s", diff)
	}
}

func TestAnswers(t *testing.T) {
	list := []ScenarioInfo{
		{ID: "break-image", Module: "k8s-m01", Title: lab.Text{RU: "Ошибочный image tag", EN: "Wrong image tag"}, Minutes: 10, Difficulty: 2},
		{ID: "reconcile", Module: "k8s-m01", Title: lab.Text{RU: "Reconciliation: удалённый Pod возвращается", EN: "Reconciliation: a deleted Pod comes back"}, Minutes: 5, Difficulty: 1},
	}
	for _, lang := range lab.Langs {
		var b strings.Builder
		for _, m := range []Message{
			Help(lang, list), List(lang, list), List(lang, nil), Status(lang, nil),
			Status(lang, []View{fixing(t, lang), passed(t, lang), views(t, lang)["queued"]}),
			Notice(lang, "board.do-again", "run", "<!channel>"),
			Exhibit(lang, build(t, "", engine.ActDescribe, engine.Report{Of: []string{"deploy"}}, "broken"), lab.Text{}),
			Exhibit(lang, exhibit.Exhibit{Kind: "events"}, lab.Text{}),
		} {
			for _, p := range check(m) {
				t.Error(p)
			}
			b.WriteString(read(m) + "\n----\n")
		}
		golden.Equal(t, "testdata/answers."+string(lang)+".golden", b.String())
	}
}

func TestParseAction(t *testing.T) {
	id, run, err := ParseAction(ActionRollback, `{"run":"r-7k2mq4xa","v":1}`)
	if id != "rollback" || run != "r-7k2mq4xa" || err != nil {
		t.Errorf("ParseAction = %q, %q, %v", id, run, err)
	}
	for action, value := range map[string]string{"quiz:1": `{"run":"r-1","v":1}`, "run:": `{"run":"r-1","v":1}`, "run:stop": `{"run":"r-1","v":2}`, "run:hint": "", "run:events": `{"v":1}`} {
		if _, _, err := ParseAction(action, value); err == nil {
			t.Errorf("ParseAction(%q, %q) took it", action, value)
		}
	}
}
