package engine

import (
	"slices"

	"labbot/bot/text"
)

// oracleItem, acceptedFix, hint and move are the checked forms of the parts that
// concern the learners.
type oracleItem struct {
	OracleItem
	expr *compiled
}

type acceptedFix struct {
	Accepted
	expr *compiled
}

type hint struct {
	Hint
	when *compiled
}

type move struct {
	Move
	expr *compiled
}

func (c *checker) learners() {
	sc := c.p.scope
	if f := c.sc.Spec.Phases.Fix; f != nil {
		c.buttons(f.Buttons, sc)
		names := map[string]bool{}
		for i, a := range f.Accepted {
			path := item("spec.phases.fix.accepted", i)
			c.uniqueName(a.Name, path, names)
			c.p.accepted = append(c.p.accepted, acceptedFix{a, c.expr(a.Expr, path+".expr", sc)})
		}
	}
	var last Hint
	for i, h := range c.sc.Spec.Hints {
		path := item("spec.hints", i)
		if i == 0 && h.Cost > 0 {
			c.problem(path+".cost", text.Both("scenario.first-hint-free"), "")
		}
		if i > 0 && h.After < last.After {
			c.problem(path+".after", text.Both("scenario.hints-order"), "")
		}
		last = h
		k := hint{Hint: h}
		if !h.When.IsZero() {
			k.when = c.expr(h.When, path+".when", sc)
		}
		c.p.hints = append(c.p.hints, k)
	}
	names := map[string]bool{}
	for i, m := range c.sc.Spec.Moves.Wrong {
		path := item("spec.moves.wrong", i)
		c.uniqueName(m.Name, path, names)
		c.p.moves = append(c.p.moves, move{m, c.expr(m.Expr, path+".expr", sc)})
	}
}

// The buttons that every run has.
const (
	buttonHint = "hint"
	buttonStop = "stop"
)

func (c *checker) buttons(bs []Button, sc scope) {
	names := map[string]bool{}
	for i, b := range bs {
		path := item("spec.phases.fix.buttons", i)
		switch {
		case !idForm.MatchString(b.ID):
			c.problem(path+".id", text.Both("scenario.id-form", "name", clip(b.ID)), "")
		case names[b.ID]:
			c.problem(path+".id", text.Both("scenario.id-twice", "name", b.ID), "")
		case b.ID == buttonHint || b.ID == buttonStop:
			if b.Undo != nil || b.EnableAfter != "" {
				c.problem(path, text.Both("scenario.button-plain", "name", b.ID), "")
			}
		case b.Undo == nil:
			c.problem(path, text.Both("scenario.button-empty", "name", b.ID), "")
		default:
			c.undo(b.Undo, path+".undo", sc)
			c.enableAfter(b, path)
		}
		names[b.ID] = true
	}
}

// enableAfter holds that the evidence stands before a button can take it away.
func (c *checker) enableAfter(b Button, path string) {
	known := c.p.stepIDs(Prepare, Inject, Observe)
	switch {
	case b.EnableAfter == "":
		c.problem(path, text.Both("scenario.enable-after", "name", b.ID), "")
	case !slices.Contains(known, b.EnableAfter):
		c.unknown(path+".enableAfter", b.EnableAfter, known)
	}
}

func (c *checker) questions() {
	ids := map[string]bool{}
	for i, q := range c.sc.Spec.Questions {
		path := item("spec.questions", i)
		if ids[q.ID] || !idForm.MatchString(q.ID) {
			c.problem(path+".id", text.Both("scenario.id-twice", "name", clip(q.ID)), "")
		}
		ids[q.ID] = true
		options := []string{}
		for _, o := range q.Options {
			options = append(options, o.ID)
		}
		choice := q.Type == "single" || q.Type == "multi" || q.Type == "order"
		if choice != (len(options) > 1) {
			c.problem(path+".options", text.Both("scenario.options", "type", q.Type), "")
		}
		for j, id := range q.Right.IDs {
			if !slices.Contains(options, id) {
				c.unknown(item(path+".right", j), id, options)
			}
		}
		if q.Type == "single" && len(q.Right.IDs) != 1 || choice && len(q.Right.IDs) == 0 && q.Right.Expr.IsZero() {
			c.problem(path+".right", text.Both("scenario.right", "type", q.Type), "")
		}
		if !q.Right.Expr.IsZero() {
			c.exprAny(q.Right.Expr, path+".right.expr", c.p.scope)
		}
		for j, id := range q.Evidence {
			if known := c.p.stepIDs(Prepare, Inject, Observe, Verify); !slices.Contains(known, id) {
				c.unknown(item(path+".evidence", j), id, known)
			}
		}
	}
}
