package engine

import (
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"

	"labbot/bot/lab"
	"labbot/bot/text"
)

// checker turns a Scenario into a Program and collects what is wrong with it.
type checker struct {
	sc       *Scenario
	p        *Program
	problems []Problem
	env      *cel.Env // variables of the scenario
	itEnv    *cel.Env // and "it"
	later    map[string]bool
	keep     map[string]map[string]bool
}

// Compile checks a scenario whole: form, references, rules of the life cycle and
// the type of every expression. The error is a *LoadError.
func Compile(sc *Scenario) (*Program, error) {
	c := &checker{sc: sc, p: &Program{sc: sc, phases: map[Phase][]*step{}}, later: map[string]bool{}, keep: map[string]map[string]bool{}}
	c.head()
	c.watches()
	if err := c.environment(); err != nil {
		return nil, &LoadError{File: sc.file, Problems: []Problem{{Message: same(err.Error())}}}
	}
	c.steps()
	c.learners()
	c.questions()
	if len(c.problems) == 0 {
		c.preview()
	}
	if len(c.problems) > 0 {
		return nil, &LoadError{File: sc.file, Problems: inOrder(c.problems)}
	}
	c.p.keep = map[string][]string{}
	for id, names := range c.keep {
		c.p.keep[id] = slices.Sorted(maps.Keys(names))
	}
	return c.p, nil
}

// Lint gives every problem of a scenario file, in the order of the file.
func Lint(name string, raw []byte) []Problem {
	_, err := Load(name, raw)
	var le *LoadError
	if errors.As(err, &le) {
		return le.Problems
	}
	return nil
}

// problem notes what is wrong at a path of the file. A path that is not in the
// file, such as that of a missing field, gets its parent's place.
func (c *checker) problem(path string, msg lab.Text, suggestion string) {
	at, ok := c.sc.pos[path]
	for up := path; !ok && up != ""; {
		up = up[:max(strings.LastIndexAny(up, ".["), 0)]
		at, ok = c.sc.pos[up]
	}
	c.problems = append(c.problems, Problem{Line: at.Line, Column: at.Column, Field: path, Message: msg, Suggestion: suggestion})
}

// unknown notes a word that names nothing.
func (c *checker) unknown(path, word string, known []string) {
	near := Nearest(word, known)
	msg := text.Both("scenario.unknown-word", "word", clip(word), "known", strings.Join(known, ", "))
	switch {
	case near != "":
		msg = text.Both("scenario.unknown-word-near", "word", clip(word), "near", near)
	case len(known) == 0:
		msg = text.Both("scenario.unknown-name", "name", clip(word))
	}
	c.problem(path, msg, near)
}

var (
	commandForm = regexp.MustCompile(`^[a-z][a-z0-9-]{1,30}$`)
	idForm      = regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`)
	dnsForm     = regexp.MustCompile(`^[a-z]([a-z0-9-]{0,51}[a-z0-9])?$`)
	verbForm    = regexp.MustCompile(`^[a-z0-9./-]+:[a-z]+(,[a-z]+)*$`)
	serverForm  = regexp.MustCompile(`^>=1\.\d+$`)
)

// forbidden are names that mean something else in an expression.
var forbidden = strings.Fields("at it params images run true false null in as break const continue else for function if import let loop package namespace return var void while")

func (c *checker) head() {
	m, s := c.sc.Metadata, c.sc.Spec
	if c.sc.APIVersion != APIVersion {
		c.unknown("apiVersion", c.sc.APIVersion, []string{APIVersion})
	}
	if c.sc.Kind != "Scenario" {
		c.unknown("kind", c.sc.Kind, []string{"Scenario"})
	}
	if !commandForm.MatchString(m.Name) {
		c.problem("metadata.name", text.Both("scenario.command-form", "name", clip(m.Name)), "")
	}
	c.between("metadata.version", m.Version, 1, 1_000_000)
	c.between("metadata.difficulty", m.Difficulty, 1, 5)
	c.between("metadata.minutes", m.Minutes, 1, 180)
	c.dnsName(s.Namespace.Name, "spec.namespace.name")
	if !strings.HasPrefix(s.Namespace.Name, "k8s-") && !strings.HasPrefix(s.Namespace.Name, "lab-") {
		c.problem("spec.namespace.name", text.Both("scenario.namespace-prefix", "name", clip(s.Namespace.Name)), "")
	}
	if k := s.Requires.Kubernetes; k != "" && !serverForm.MatchString(k) {
		c.problem("spec.requires.kubernetes", text.Both("scenario.kubernetes-form", "value", clip(k)), ">=1.33")
	}
	for i, v := range s.Requires.Verbs {
		if !verbForm.MatchString(v) {
			c.problem(item("spec.requires.verbs", i), text.Both("scenario.verb-form", "value", clip(v)), "")
		}
	}
	for name, p := range s.Parameters {
		c.parameter(name, p)
	}
	for name, v := range s.Images {
		c.value(v, "spec.images."+name, "string")
	}
	for name, r := range s.ImageRules {
		known := slices.Sorted(maps.Keys(s.Images))
		if _, ok := s.Images[name]; !ok {
			c.unknown("spec.imageRules."+name, name, known)
		}
		if _, ok := s.Images[r.SameRegistryAs]; !ok && r.SameRegistryAs != "" {
			c.unknown("spec.imageRules."+name+".sameRegistryAs", r.SameRegistryAs, known)
		}
	}
}

func (c *checker) between(path string, n, low, high int) {
	if n < low || n > high {
		c.problem(path, text.Both("scenario.between", "n", n, "min", low, "max", high), "")
	}
}

func (c *checker) dnsName(name, path string) {
	if !dnsForm.MatchString(name) {
		c.problem(path, text.Both("scenario.dns-form", "name", clip(name)), "")
	}
}

func (c *checker) watches() {
	for _, name := range slices.Sorted(maps.Keys(c.sc.Spec.Watch)) {
		w, path := c.sc.Spec.Watch[name], "spec.watch."+name
		switch {
		case slices.Contains(forbidden, name):
			c.problem(path, text.Both("scenario.reserved", "name", name), "")
		case w.List && w.Name != "":
			c.problem(path+".name", text.Both("scenario.watch-list-name"), "")
		case !w.List && (w.Name == "" || w.Selector != ""):
			c.problem(path, text.Both("scenario.watch-one"), "")
		}
		c.p.watches = append(c.p.watches, Watch{As: name, APIVersion: w.APIVersion, Kind: w.Kind, Name: w.Name, Selector: w.Selector, List: w.List})
	}
}

// The checks of arguments that several actions share.

func (c *checker) watchNames(names []string, path string) {
	for i, n := range names {
		if !c.p.isWatch(n) {
			c.unknown(item(path, i), n, c.p.watchNames())
		}
	}
}

func (c *checker) deployment(name, path string) {
	if !c.p.isWatch(name) {
		c.unknown(path, name, c.p.watchNames())
	} else if w := c.p.watch(name); w.Kind != "Deployment" || w.List {
		c.problem(path, text.Both("scenario.want-deployment", "name", name, "kind", w.Kind), "")
	}
}

func (c *checker) listWatch(name, path string) {
	if !c.p.isWatch(name) {
		c.unknown(path, name, c.p.watchNames())
	} else if !c.p.watch(name).List {
		c.problem(path, text.Both("scenario.want-list-watch", "name", name), "")
	}
}

func (c *checker) chosen(name, path string, sc scope) {
	if !slices.Contains(sc.chosen, name) {
		c.unknown(path, name, sc.chosen)
	}
}

// undo checks a return to a snapshot and has the snapshot kept.
func (c *checker) undo(u *UndoArgs, path string, sc scope) {
	c.deployment(u.Of, path+".of")
	c.need(u.To, u.Of, path+".to", sc)
}

func (c *checker) evidence(a *EvidenceArgs, path string, sc scope) {
	c.watchNames(a.Of, path+".of")
	if len(a.Of) == 0 {
		c.problem(path+".of", text.Both("scenario.step-empty"), "")
	}
	if a.Compare == "" {
		return
	}
	for _, of := range a.Of {
		c.need(a.Compare, of, path+".compare", sc)
	}
}

// value checks a scalar's references and its type, as far as it is known.
func (c *checker) value(v Value, path, want string) {
	got := map[bool]string{true: "int", false: "string"}[isInt(v.V)]
	s, _ := v.V.(string)
	refs := refForm.FindAllStringSubmatch(s, -1)
	if len(refs) > 1 || len(refs) == 0 && strings.Contains(s, "$") {
		c.problem(path, text.Both("scenario.ref-form", "value", clip(s)), "")
		return
	}
	if len(refs) == 1 {
		kind, ok := c.refType(refs[0][1], refs[0][2], path)
		if !ok {
			return
		}
		if refs[0][0] == s {
			got = kind
		}
	}
	if got != want {
		c.problem(path, text.Both("scenario.want-type", "want", want, "got", got), "")
	}
}

func isInt(v any) bool { _, ok := v.(int64); return ok }

func (c *checker) refType(group, name, path string) (string, bool) {
	known := map[string][]string{
		"params": slices.Sorted(maps.Keys(c.sc.Spec.Parameters)),
		"images": slices.Sorted(maps.Keys(c.sc.Spec.Images)),
		"run":    {"id", "namespace"},
	}
	names, ok := known[group]
	if !ok {
		c.unknown(path, "$"+group, []string{"$params", "$images", "$run"})
		return "", false
	}
	if !slices.Contains(names, name) {
		c.unknown(path, name, names)
		return "", false
	}
	if group == "params" && c.sc.Spec.Parameters[name].Type == "int" {
		return "int", true
	}
	return "string", true
}
