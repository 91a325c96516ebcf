// Package command turns what a person typed into a typed command, or into an
// error that teaches.
//
// It is pure. It forgives what chat clients do to text: typographic dashes and
// quotes, no-break and zero-width spaces, upper case, formatting marks, Slack's
// escapes.
package command

import (
	"fmt"
	"slices"
	"strings"

	"labbot/bot/lab"
	"labbot/bot/text"
)

// Verb is what is asked for.
type Verb string

// The verbs. Run starts a scenario; its name stands in Command.Scenario.
const (
	Help    Verb = "help"
	List    Verb = "list"
	Status  Verb = "status"
	Stop    Verb = "stop"
	Cleanup Verb = "cleanup"
	Run     Verb = "run"
)

// Command is a parsed command.
type Command struct {
	Verb     Verb
	Scenario string
	// Params are the scenario's parameters: names as typed, values unquoted.
	Params map[string]string
	// RunID is the run that stop, cleanup or status are about; empty for the
	// one at hand.
	RunID lab.RunID
}

// words maps each typed word to its verb. The first word of a verb is the one
// that help shows.
var words = []struct {
	verb  Verb
	words []string
}{
	{Help, []string{"help", "помощь", "справка", "?", "-h", "--help"}},
	{List, []string{"list", "ls", "список"}},
	{Status, []string{"status", "статус"}},
	{Stop, []string{"stop", "стоп"}},
	{Cleanup, []string{"cleanup", "clean-up", "clean", "уборка", "очистка"}},
}

// Error says what is wrong with a command, in the words of its sender.
type Error struct {
	key  string
	args []any
}

func (e *Error) Error() string { return e.Reply(lab.EN) }

// Reply is the answer to show to whoever typed the command.
func (e *Error) Reply(lang lab.Lang) string { return text.T(lang, e.key, e.args...) }

func fail(key string, args ...any) error { return &Error{key: key, args: args} }

// Parse reads text, which is all that follows "/lab". scenarios are the names
// that may be run. Empty text means help.
func Parse(typed string, scenarios []string) (Command, error) {
	if n := len([]rune(typed)); n > maxLength {
		return Command{}, fail("command.too-long", "n", n, "max", maxLength)
	}
	tokens, err := split(Normalise(typed))
	if err != nil {
		return Command{}, err
	}
	if len(tokens) > 0 && slices.Contains([]string{"/lab", "lab"}, strings.ToLower(tokens[0])) {
		tokens = tokens[1:]
	}
	if len(tokens) == 0 {
		return Command{Verb: Help}, nil
	}
	word := strings.ToLower(tokens[0])
	if word == "run" || word == "start" {
		if len(tokens) == 1 {
			return Command{}, fail("command.run-what")
		}
		tokens, word = tokens[1:], strings.ToLower(tokens[1])
	}
	for _, w := range words {
		if slices.Contains(w.words, word) {
			return Command{Verb: w.verb, RunID: runID(tokens[1:])}, nil
		}
	}
	if !slices.Contains(scenarios, word) {
		return Command{}, unknown(tokens[0], word, scenarios)
	}
	params, err := pairs(word, tokens[1:])
	if err != nil {
		return Command{}, err
	}
	return Command{Verb: Run, Scenario: word, Params: params}, nil
}

// runID finds a run's id among the words after a verb; other words there are
// politeness ("stop please") and are let go.
func runID(tokens []string) lab.RunID {
	for _, t := range tokens {
		if id := strings.ToLower(t); strings.HasPrefix(id, "r-") && len(id) == 10 {
			return lab.RunID(id)
		}
	}
	return ""
}

// maxLength is in characters; no command needs more, and the answer quotes it.
const maxLength = 500

func unknown(typed, word string, scenarios []string) error {
	known := slices.Clone(scenarios)
	for _, w := range words {
		known = append(known, w.words[0])
	}
	if near := Nearest(word, known); near != "" {
		return fail("command.unknown-near", "word", shorten(typed), "near", near)
	}
	return fail("command.unknown", "word", shorten(typed))
}

func shorten(s string) string {
	r := []rune(s)
	if len(r) <= 40 {
		return s
	}
	return string(r[:39]) + "…"
}

// pairs reads name=value, --name=value and --name value.
func pairs(scenario string, tokens []string) (map[string]string, error) {
	params := map[string]string{}
	for i := 0; i < len(tokens); i++ {
		flagged := strings.HasPrefix(tokens[i], "--")
		name, value, found := strings.Cut(strings.TrimLeft(tokens[i], "-"), "=")
		if !found && flagged && i+1 < len(tokens) {
			i++
			value, found = tokens[i], true
		}
		if !found || name == "" {
			return nil, fail("command.param-form", "word", shorten(tokens[i]), "scenario", scenario)
		}
		if _, twice := params[name]; twice {
			return nil, fail("command.param-twice", "word", shorten(name))
		}
		params[name] = value
	}
	return params, nil
}

// split cuts at spaces outside double quotes.
func split(s string) ([]string, error) {
	var tokens []string
	var cur strings.Builder
	quoted, open := false, false
	for _, r := range s {
		switch {
		case r == '"':
			quoted, open = !quoted, true
		case r == ' ' && !quoted:
			if cur.Len() > 0 || open {
				tokens = append(tokens, cur.String())
			}
			cur.Reset()
			open = false
		default:
			cur.WriteRune(r)
		}
	}
	if quoted {
		return nil, fail("command.quote", "word", shorten(cur.String()))
	}
	if cur.Len() > 0 || open {
		tokens = append(tokens, cur.String())
	}
	return tokens, nil
}

// String is the command as a person would type it.
func (c Command) String() string {
	if c.Verb != Run {
		return string(c.Verb)
	}
	s := c.Scenario
	names := make([]string, 0, len(c.Params))
	for name := range c.Params {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		s += fmt.Sprintf(" %s=%s", name, c.Params[name])
	}
	return s
}
