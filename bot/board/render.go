package board

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"labbot/bot/exhibit"
	"labbot/bot/lab"
	"labbot/bot/text"
	"labbot/scenarios/engine"
)

// Slots that Render makes besides one for each exhibit, whose id is the id of
// its step. The slash keeps them apart from step ids.
const (
	SlotBoard   = "board"
	SlotVerdict = "run/verdict"
	SlotCleanup = "run/cleanup"
)

// HintSlot is the slot of a hint of the ladder, counted from 0.
func HintSlot(index int) string { return fmt.Sprintf("hint/%d", index) }

// MoveSlot is the slot that explains a wrong move.
func MoveSlot(name string) string { return "move/" + name }

// Render draws the whole thread of a run: the board, then evidence, hints, wrong
// moves, verdict and cleanup in the order in which they are to be read.
//
// The same View gives the same messages. Of View.Now only what has become due
// is drawn, so that a board without news is not edited.
func Render(v View) []Slot {
	slots := []Slot{{ID: SlotBoard, Message: v.board(), Urgent: true}}
	for i, ex := range v.exhibits() {
		slots = append(slots, Slot{ID: ex.Step, Message: drawExhibit(v.Lang, ex, exhibitHead{
			number: i + 1, title: v.title(ex), kubectl: v.kubectl(ex), since: v.zero(),
		})})
	}
	for _, h := range v.State.Hints {
		if !h.Shown.IsZero() {
			slots = append(slots, Slot{ID: HintSlot(h.Index), Message: v.hint(h)})
		}
	}
	for _, m := range v.State.Moves {
		slots = append(slots, Slot{ID: MoveSlot(m.Name), Message: v.move(m)})
	}
	if v.State.Outcome != "" {
		slots = append(slots, Slot{ID: SlotVerdict, Message: v.verdict(), Urgent: true})
	}
	if v.State.Cleaned != engine.CleanUnknown {
		slots = append(slots, Slot{ID: SlotCleanup, Message: v.cleanup()})
	}
	return slots
}

// exhibits lists what was captured in the order of the steps.
func (v View) exhibits() []exhibit.Exhibit {
	order := map[string]int{}
	for i, s := range v.State.Steps {
		order[s.ID] = i + 1
	}
	all := slices.Collect(maps.Values(v.Exhibits))
	slices.SortFunc(all, func(a, b exhibit.Exhibit) int {
		return cmp.Or(cmp.Compare(order[a.Step], order[b.Step]), a.At.Compare(b.At), cmp.Compare(a.Step, b.Step))
	})
	return all
}

func (v View) title(ex exhibit.Exhibit) string {
	for _, s := range v.State.Steps {
		if s.ID == ex.Step {
			return v.stepTitle(s)
		}
	}
	return v.stepTitle(engine.StepState{ID: ex.Step})
}

// stepTitle prefers the run's own values over the scenario's defaults.
func (v View) stepTitle(s engine.StepState) string {
	for _, t := range []lab.Text{s.Title, v.StepTitles[s.ID]} {
		switch {
		case t.Complete() && t.RU == t.EN: // kubectl's words, not ours
			return Code(t.EN, 140)
		case t.Complete():
			return Escape(t.In(v.Lang), 140)
		}
	}
	return Code(s.ID, 60)
}

func (v View) kubectl(ex exhibit.Exhibit) []string {
	if len(ex.Kubectl) > 0 {
		return ex.Kubectl
	}
	if line := v.Kubectl[ex.Step]; line != "" {
		return []string{line}
	}
	return nil
}

func (v View) hint(h engine.HintState) Message {
	p := newPage()
	title := text.T(v.Lang, "board.hint", "n", h.Index+1)
	words := Escape(h.Text.In(v.Lang), 1500)
	price := text.T(v.Lang, "board.free")
	if h.Cost > 0 {
		price = text.T(v.Lang, "board.costs", "cost", text.N(v.Lang, "board.cost", h.Cost))
	}
	p.lines("*"+title+"*", words)
	p.context(text.T(v.Lang, "board.hint-by", "who", Mention(h.By), "cost", price))
	return p.message(title + ": " + Escape(h.Text.In(v.Lang), 300))
}

func (v View) move(m engine.MoveState) Message {
	p := newPage()
	title := text.T(v.Lang, "board.move")
	p.lines("*"+title+"*", Escape(m.Say.In(v.Lang), 1500))
	seen := text.T(v.Lang, "board.move-seen")
	if m.Manager != "" {
		seen = text.T(v.Lang, "board.move-by", "manager", Code(m.Manager, 60))
	}
	price := ""
	if m.Cost > 0 {
		price = text.T(v.Lang, "board.costs", "cost", text.N(v.Lang, "board.cost", m.Cost))
	}
	p.context(seen, price)
	return p.message(title + ": " + Escape(m.Say.In(v.Lang), 300))
}

// verdict is the thread's own word on the outcome; the board says it shorter.
func (v View) verdict() Message {
	p := newPage()
	title := v.outcome()
	p.lines("*" + outcomeMark[v.State.Outcome] + " " + title + "*")
	p.lines(v.outcomeLines()...)
	var proof []string
	for _, c := range v.State.Oracle {
		if c.Value == engine.True {
			proof = append(proof, ":white_check_mark: "+v.check(c))
		}
	}
	if len(proof) > 0 && (v.State.Outcome == engine.Passed || v.State.Outcome == engine.PassedWithNote) {
		p.lines("*"+text.T(v.Lang, "board.verified")+"*", lines(proof))
	}
	p.context(v.tally()...)
	return p.message(Escape(v.Title.In(v.Lang), 200) + ": " + title)
}

// tally is what the run cost: time, hints, wrong moves.
func (v View) tally() []string {
	var parts []string
	end := v.State.EndedAt
	if r := v.State.Repair; r != nil {
		end = r.At
	}
	if !end.IsZero() && v.State.Outcome != engine.Infrastructure {
		parts = append(parts, text.T(v.Lang, "board.took", "time", span(v.Lang, v.zero(), end)))
	}
	shown := 0
	for _, h := range v.State.Hints {
		if !h.Shown.IsZero() {
			shown++
		}
	}
	if shown > 0 {
		parts = append(parts, text.N(v.Lang, "board.hints-count", shown))
	}
	if n := len(v.State.Moves); n > 0 {
		parts = append(parts, text.N(v.Lang, "board.moves-count", n))
	}
	return parts
}

func (v View) cleanup() Message {
	p := newPage()
	all := v.cleanLines()
	p.lines(all...)
	return p.message(strings.Trim(all[0], "*"))
}

// cleanLines is the proof of cleanup: the API's own words and their meaning.
func (v View) cleanLines() []string {
	switch v.State.Cleaned {
	case engine.Clean:
		l := []string{"*" + text.T(v.Lang, "board.clean") + "*"}
		if proof := v.proof(); proof != "" {
			l = append(l, Code(proof, 200))
		}
		return append(l, text.T(v.Lang, "board.clean-status"))
	case engine.CleanNotNeeded:
		return []string{text.T(v.Lang, "board.clean-not-needed")}
	case engine.Dirty:
		l := []string{"*" + text.T(v.Lang, "board.dirty", "namespace", Code(v.State.Namespace, 70)) + "*"}
		if v.State.Remains != "" {
			l = append(l, Code(v.State.Remains, 400))
		}
		return append(l, text.T(v.Lang, "board.dirty-do", "kubectl", Code("kubectl get namespace "+v.State.Namespace+" -o yaml", 120)))
	}
	return nil
}

// proof is the API's own sentence, as the last step of cleanup noted it.
func (v View) proof() string {
	for _, s := range slices.Backward(v.State.Steps) {
		if s.Phase == engine.Cleanup && s.Action == engine.ActGet && s.Note != "" {
			return s.Note
		}
	}
	if v.State.Namespace == "" {
		return ""
	}
	return fmt.Sprintf("namespaces %q not found", v.State.Namespace)
}
