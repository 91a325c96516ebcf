package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"labbot/bot/text"
)

// step is a checked step of a Program.
type step struct {
	*Step
	phase   Phase
	path    string
	def     actionDef
	timeout time.Duration
	checks  []check
	// where is the action's own expression over "it", if it has one.
	where *compiled
	// scope is what the step's expressions may refer to.
	scope scope
}

// check is a checked assertion.
type check struct {
	Assert
	expr, unless *compiled
}

// scope is what may be named at a point of the scenario.
type scope struct {
	// holds gives, for each earlier step, the names that its snapshot has; nil
	// means every watch.
	holds  map[string][]string
	chosen []string
	events bool
}

func (s scope) clone() scope {
	holds := make(map[string][]string, len(s.holds))
	for k, v := range s.holds {
		holds[k] = v
	}
	return scope{holds, slices.Clone(s.chosen), s.events}
}

// verifiedStep is the id of the step that posts the evidence of the repair.
const verifiedStep = "verified"

// boardSlot is the place of the board itself in a thread, where steps have theirs.
const boardSlot = "board"

func item(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

func (c *checker) steps() {
	ph := &c.sc.Spec.Phases
	lists := []struct {
		phase Phase
		steps []Step
	}{{Prepare, ph.Prepare}, {Inject, ph.Inject}, {Observe, ph.Observe}, {Cleanup, ph.Cleanup}}
	for _, l := range lists {
		for _, st := range l.steps {
			c.later[st.ID] = true
		}
	}
	seen := map[string]bool{verifiedStep: true, boardSlot: true}
	sc := scope{holds: map[string][]string{}, events: true}
	for _, l := range lists {
		if l.phase == Cleanup {
			c.p.scope = sc.clone()
			c.verifyStep(sc)
		}
		for i := range l.steps {
			path := item("spec.phases."+string(l.phase), i)
			c.stepID(l.steps[i].ID, path, seen)
			c.p.phases[l.phase] = append(c.p.phases[l.phase], c.step(&l.steps[i], l.phase, path, sc.clone()))
			c.extend(&sc, &l.steps[i], path)
		}
	}
	c.lifecycle(ph)
}

func (c *checker) stepID(id, path string, seen map[string]bool) {
	switch {
	case !idForm.MatchString(id):
		c.problem(path+".id", text.Both("scenario.id-form", "name", clip(id)), "")
	case seen[id]:
		c.problem(path+".id", text.Both("scenario.id-twice", "name", id), "")
	}
	seen[id] = true
}

// extend adds to the scope what a step leaves behind.
func (c *checker) extend(sc *scope, st *Step, path string) {
	switch a := st.Args.(type) {
	case *SnapshotArgs:
		sc.holds[st.ID] = a.Of
	case *EvidenceArgs:
		sc.holds[st.ID] = a.Of
	case *ChooseArgs:
		if !isName(a.As) || slices.Contains(forbidden, a.As) || c.p.isWatch(a.As) || slices.Contains(sc.chosen, a.As) {
			c.problem(path+".choose.as", text.Both("scenario.reserved", "name", clip(a.As)), "")
			return
		}
		sc.chosen = append(sc.chosen, a.As)
		sc.holds[st.ID] = nil
	default:
		sc.holds[st.ID] = nil
	}
}

func (c *checker) step(s *Step, phase Phase, path string, sc scope) *step {
	def := actions[s.Action]
	st := &step{Step: s, phase: phase, path: path, def: def, timeout: def.timeout, scope: sc}
	if def.args == nil {
		return st // refused by the parser
	}
	if def.limit != nil {
		if t := def.limit(st); t > 0 {
			st.timeout = t
			if s.Timeout > 0 {
				c.problem(path+".timeout", text.Both("scenario.timeout-twice"), "")
			}
		}
	}
	if s.Timeout > 0 {
		st.timeout = s.Timeout
	}
	c.expect(st)
	if def.check != nil {
		def.check(c, st)
	}
	names := map[string]bool{}
	for i := range s.Assert {
		st.checks = append(st.checks, c.assert(&s.Assert[i], item(path+".assert", i), names, sc))
	}
	return st
}

func (c *checker) expect(st *step) {
	for kind, used := range map[string]bool{"timeout": st.Expect.Timeout, "error": st.Expect.Error != "", "condition": st.Expect.Condition != ""} {
		if used && !slices.Contains(strings.Split(st.def.expects, ","), kind) {
			c.problem(st.path+".expect", text.Both("scenario.expect-never", "action", string(st.Action), "expect", kind), "")
		}
	}
}

func (c *checker) assert(a *Assert, path string, names map[string]bool, sc scope) check {
	c.uniqueName(a.Name, path, names)
	switch {
	case a.Mode == "now" && (a.Within > 0 || a.Hold > 0):
		c.problem(path+".mode", text.Both("scenario.now-no-time"), "")
	case a.Mode != "eventually" && a.Hold > 0:
		c.problem(path+".hold", text.Both("scenario.hold-eventually"), "")
	}
	k := check{Assert: *a, expr: c.expr(a.Expr, path+".expr", sc)}
	if a.Mode == "eventually" && k.Within == 0 {
		k.Within = assertTimeout
	}
	if a.Unless != nil {
		k.unless = c.expr(a.Unless.Expr, path+".unless.expr", sc)
	}
	return k
}

func (c *checker) uniqueName(name, path string, seen map[string]bool) {
	switch {
	case !idForm.MatchString(name):
		c.problem(path+".name", text.Both("scenario.id-form", "name", clip(name)), "")
	case seen[name]:
		c.problem(path+".name", text.Both("scenario.id-twice", "name", name), "")
	}
	seen[name] = true
}

// verifyStep checks the proof of repair, in which Events may not be used: they
// expire, and they tell what happened, not what is.
func (c *checker) verifyStep(sc scope) {
	v := &c.sc.Spec.Phases.Verify
	sc = sc.clone()
	sc.events = false
	names := map[string]bool{}
	if len(v.Oracle) == 0 {
		c.problem("spec.phases.verify.oracle", text.Both("scenario.oracle-empty"), "")
	}
	for i, o := range v.Oracle {
		path := item("spec.phases.verify.oracle", i)
		c.uniqueName(o.Name, path, names)
		if o.Within == 0 {
			o.Within = assertTimeout
		}
		c.p.oracle = append(c.p.oracle, oracleItem{OracleItem: o, expr: c.expr(o.Expr, path+".expr", sc)})
	}
	if v.Evidence == nil {
		return
	}
	path := "spec.phases.verify"
	s := &Step{ID: verifiedStep, Action: ActEvidence, Args: v.Evidence, Pos: c.sc.pos[path+".evidence"]}
	c.p.phases[Verify] = []*step{c.step(s, Verify, path, sc)}
}

// lifecycle holds the rules that a run's promise rests on.
func (c *checker) lifecycle(ph *Phases) {
	if len(ph.Prepare) == 0 || ph.Prepare[0].Action != ActCreateNamespace {
		c.problem("spec.phases.prepare", text.Both("scenario.first-namespace"), "")
	}
	for phase, steps := range c.p.phases {
		for i, st := range steps {
			if st.Action == ActCreateNamespace && (phase != Prepare || i > 0) {
				c.problem(st.path, text.Both("scenario.first-namespace"), "")
			}
			if st.Action == ActDeleteNamespace && phase != Cleanup {
				c.problem(st.path, text.Both("scenario.delete-in-cleanup"), "")
			}
		}
	}
	if len(ph.Inject) > 0 && !slices.ContainsFunc(slices.Concat(ph.Inject, ph.Observe), func(s Step) bool { return len(s.Assert) > 0 }) {
		c.problem("spec.phases.inject", text.Both("scenario.no-symptom"), "")
	}
	wiped, proved := false, false
	for _, s := range ph.Cleanup {
		wiped = wiped || s.Action == ActDeleteNamespace
		proved = proved || wiped && s.Action == ActGet && s.Expect.Error == "NotFound"
	}
	if !proved {
		c.problem("spec.phases.cleanup", text.Both("scenario.no-proof"), "")
	}
}
