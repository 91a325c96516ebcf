package engine

import (
	"fmt"
	"strings"

	"labbot/bot/lab"
)

// Problem is one thing wrong with a scenario file, and where.
type Problem struct {
	// Line and Column count from 1; 0 means the file as a whole.
	Line   int `json:"line"`
	Column int `json:"column"`
	// Field is the path in the file, such as "spec.phases.inject[0].setImage.of".
	Field   string   `json:"field,omitempty"`
	Message lab.Text `json:"message"`
	// Suggestion is the nearest right word, if one is near.
	Suggestion string `json:"suggestion,omitempty"`
}

// LoadError says why a scenario file was refused. It holds every problem found,
// in the order of the file.
type LoadError struct {
	File     string
	Problems []Problem
}

// Error gives all problems in English, one a line, as "file:line:column: …".
func (e *LoadError) Error() string { return e.In(lab.EN) }

// In gives all problems in one language, one a line.
func (e *LoadError) In(lang lab.Lang) string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.In(e.File, lang)
	}
	return strings.Join(lines, "\n")
}

// In gives the problem in one language as "file:line:column: field: message".
func (p Problem) In(file string, lang lab.Lang) string {
	var b strings.Builder
	b.WriteString(file)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	b.WriteString(": ")
	if p.Field != "" {
		b.WriteString(p.Field + ": ")
	}
	b.WriteString(p.Message.In(lang))
	return b.String()
}

// ParamError says why a value from the command was not accepted. Its Text
// teaches what would be.
type ParamError struct {
	Name string
	Text lab.Text
}

// Error gives the English text.
func (e *ParamError) Error() string { return e.Text.EN }
