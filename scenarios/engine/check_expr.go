package engine

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"

	"labbot/bot/lab"
	"labbot/bot/text"
)

// environment declares the scenario's names.
func (c *checker) environment() error {
	base, err := language()
	if err != nil {
		return err
	}
	opts := []cel.EnvOption{
		cel.Variable("params", cel.MapType(cel.StringType, cel.DynType)),
		cel.Variable("images", cel.MapType(cel.StringType, cel.StringType)),
		cel.Variable("run", cel.MapType(cel.StringType, cel.StringType)),
		cel.Variable("at", cel.MapType(cel.StringType, cel.DynType)),
	}
	declared := slices.Clone(forbidden)
	declare := func(name string, t *cel.Type) {
		if !slices.Contains(declared, name) && isName(name) {
			declared = append(declared, name)
			opts = append(opts, cel.Variable(name, t))
		}
	}
	for _, w := range c.p.watches {
		t := cel.DynType
		if w.List {
			t = cel.ListType(cel.DynType)
		}
		declare(w.As, t)
	}
	for _, steps := range [][]Step{c.sc.Spec.Phases.Prepare, c.sc.Spec.Phases.Inject, c.sc.Spec.Phases.Observe} {
		for _, s := range steps {
			if a, ok := s.Args.(*ChooseArgs); ok {
				declare(a.As, cel.DynType)
			}
		}
	}
	if c.env, err = base.Extend(opts...); err != nil {
		return fmt.Errorf("declare the scenario's names: %w", err)
	}
	if c.itEnv, err = c.env.Extend(cel.Variable("it", cel.DynType)); err != nil {
		return fmt.Errorf("declare it: %w", err)
	}
	return nil
}

// expr compiles an expression that must be true or false.
func (c *checker) expr(e Expr, path string, sc scope) *compiled {
	return c.compile(c.env, e, path, sc, true)
}

// exprAny compiles an expression of any type.
func (c *checker) exprAny(e Expr, path string, sc scope) *compiled {
	return c.compile(c.env, e, path, sc, false)
}

// exprOver compiles an optional expression over "it".
func (c *checker) exprOver(e Expr, path string, sc scope) *compiled {
	if e.IsZero() {
		return nil
	}
	return c.compile(c.itEnv, e, path, sc, true)
}

func (c *checker) compile(env *cel.Env, e Expr, path string, sc scope, truth bool) *compiled {
	if e.IsZero() {
		return nil // missing, and told so by the parser
	}
	before := len(c.problems)
	a, issues := env.Compile(e.Source)
	if issues != nil && issues.Err() != nil {
		for _, i := range issues.Errors() {
			c.celProblem(env, e, path, i)
		}
		return nil
	}
	if t := a.OutputType(); truth && !t.IsExactType(cel.BoolType) && !t.IsExactType(cel.DynType) {
		c.exprProblem(e, path, 0, 0, text.Both("scenario.want-truth", "type", t.String()), "")
	}
	c.names(a, e, path, sc)
	if len(c.problems) > before {
		return nil
	}
	k, err := newProgram(env, a, e.Source)
	if err != nil {
		c.exprProblem(e, path, 0, 0, text.Both("scenario.cel", "error", err.Error()), "")
	}
	return k
}

// exprProblem notes a problem inside an expression, line and column of which
// count from 0.
func (c *checker) exprProblem(e Expr, path string, line, column int, msg lab.Text, suggestion string) {
	p := Problem{Line: e.Pos.Line + line, Column: column + 1, Field: path, Message: msg, Suggestion: suggestion}
	if line == 0 {
		p.Column = e.Pos.Column + column
	}
	c.problems = append(c.problems, p)
}

var undeclared = regexp.MustCompile(`^undeclared reference to '([^']+)'`)

func (c *checker) celProblem(env *cel.Env, e Expr, path string, i *cel.Error) {
	line, column := i.Location.Line()-1, i.Location.Column()
	msg, near := text.Both("scenario.cel", "error", strings.SplitN(i.Message, "\n", 2)[0]), ""
	if m := undeclared.FindStringSubmatch(i.Message); m != nil {
		known := append(c.p.watchNames(), "at", "params", "images", "run")
		known = append(known, functionNames...)
		for _, v := range env.Variables() {
			if !strings.HasPrefix(v.Name(), "@") && !slices.Contains(known, v.Name()) {
				known = append(known, v.Name())
			}
		}
		near = Nearest(m[1], known)
		msg = text.Both("scenario.unknown-name", "name", clip(m[1]))
		if near != "" {
			msg = text.Both("scenario.unknown-name-near", "name", clip(m[1]), "near", near)
		}
	}
	c.exprProblem(e, path, max(line, 0), column, msg, near)
}

// nameWalk looks for names that CEL's own checker cannot know: fields of at,
// params, images and run.
type nameWalk struct {
	c     *checker
	e     Expr
	path  string
	sc    scope
	info  *ast.SourceInfo
	known map[int64]bool // identifiers already judged with their field
}

func (c *checker) names(a *cel.Ast, e Expr, path string, sc scope) {
	n := &nameWalk{c, e, path, sc, a.NativeRep().SourceInfo(), map[int64]bool{}}
	ast.PreOrderVisit(a.NativeRep().Expr(), ast.NewExprVisitor(n.visit))
}

func (n *nameWalk) visit(e ast.Expr) {
	switch e.Kind() {
	case ast.SelectKind:
		n.sel(e)
	case ast.IdentKind:
		n.ident(e)
	case ast.CallKind:
		n.call(e)
	}
}

func (n *nameWalk) sel(e ast.Expr) {
	s := e.AsSelect()
	in := s.Operand()
	if in.Kind() == ast.SelectKind && isIdent(in.AsSelect().Operand(), "at") {
		n.known[in.ID()], n.known[in.AsSelect().Operand().ID()] = true, true
		n.snapshot(e.ID(), in.ID(), in.AsSelect().FieldName(), s.FieldName())
		return
	}
	if in.Kind() != ast.IdentKind {
		return
	}
	names := map[string][]string{
		"params": slices.Sorted(maps.Keys(n.c.sc.Spec.Parameters)),
		"images": slices.Sorted(maps.Keys(n.c.sc.Spec.Images)),
		"run":    {"id", "namespace"},
	}
	if known, ok := names[in.AsIdent()]; ok {
		n.known[in.ID()] = true
		if !slices.Contains(known, s.FieldName()) {
			n.unknown(e.ID(), s.FieldName(), known)
		}
	}
}

func isIdent(e ast.Expr, name string) bool {
	return e.Kind() == ast.IdentKind && e.AsIdent() == name
}

func (n *nameWalk) ident(e ast.Expr) {
	name := e.AsIdent()
	switch {
	case n.known[e.ID()]:
	case name == "at":
		n.problem(e.ID(), text.Both("scenario.at-form"), "")
	case name == "params" || name == "images" || name == "run":
		n.problem(e.ID(), text.Both("scenario.group-form", "name", name), "")
	case n.c.isChosenName(name) && !slices.Contains(n.sc.chosen, name):
		n.problem(e.ID(), text.Both("scenario.chosen-later", "name", name), "")
	}
}

func (n *nameWalk) call(e ast.Expr) {
	switch name := e.AsCall().FunctionName(); name {
	case "ev":
		if !n.sc.events {
			n.problem(e.ID(), text.Both("scenario.no-events"), "")
		}
	case "revisions":
		n.needKind(e.ID(), name, "ReplicaSet")
	case "addresses":
		n.needKind(e.ID(), name, "EndpointSlice")
	}
}

func (n *nameWalk) needKind(id int64, function, kind string) {
	if !slices.ContainsFunc(n.c.p.watches, func(w Watch) bool { return w.List && w.Kind == kind }) {
		n.problem(id, text.Both("scenario.need-kind", "function", function, "kind", kind), "")
	}
}

// snapshot checks at.STEP.NAME and has the reading kept when STEP ends.
func (n *nameWalk) snapshot(id, stepID int64, step, name string) {
	holds, ok := n.sc.holds[step]
	known := n.c.p.watchNames()
	if holds != nil {
		known = holds
	}
	switch {
	case !ok && n.c.later[step]:
		n.problemAt(stepID, 1, text.Both("scenario.step-later", "step", step), "")
	case !ok:
		n.unknown(stepID, step, slices.Sorted(maps.Keys(n.sc.holds)))
	case !slices.Contains(known, name):
		n.unknown(id, name, known)
	default:
		n.c.mark(step, name)
	}
}

func (n *nameWalk) unknown(id int64, word string, known []string) {
	near := Nearest(word, known)
	msg := text.Both("scenario.unknown-word", "word", clip(word), "known", strings.Join(known, ", "))
	if near != "" {
		msg = text.Both("scenario.unknown-word-near", "word", clip(word), "near", near)
	}
	n.problemAt(id, 1, msg, near) // a field's place is that of its dot
}

func (n *nameWalk) problem(id int64, msg lab.Text, near string) { n.problemAt(id, 0, msg, near) }

func (n *nameWalk) problemAt(id int64, plus int, msg lab.Text, near string) {
	at := n.info.GetStartLocation(id)
	n.c.exprProblem(n.e, n.path, max(at.Line()-1, 0), max(at.Column(), 0)+plus, msg, near)
}

func (c *checker) isChosenName(name string) bool {
	for _, st := range slices.Concat(c.sc.Spec.Phases.Prepare, c.sc.Spec.Phases.Inject, c.sc.Spec.Phases.Observe) {
		if a, ok := st.Args.(*ChooseArgs); ok && a.As == name {
			return true
		}
	}
	return false
}

// mark has a watch's reading kept when a step ends.
func (c *checker) mark(step, name string) {
	if c.keep[step] == nil {
		c.keep[step] = map[string]bool{}
	}
	c.keep[step][name] = true
}

// need checks a reference to a snapshot outside of an expression.
func (c *checker) need(step, name, path string, sc scope) {
	holds, ok := sc.holds[step]
	switch {
	case !ok && c.later[step]:
		c.problem(path, text.Both("scenario.step-later", "step", step), "")
	case !ok:
		c.unknown(path, step, slices.Sorted(maps.Keys(sc.holds)))
	case holds != nil && !slices.Contains(holds, name):
		c.problem(path, text.Both("scenario.not-in-snapshot", "step", step, "name", name), "")
	case c.p.isWatch(name):
		c.mark(step, name)
	}
}
