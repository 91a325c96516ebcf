package engine

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"labbot/bot/text"
)

// Bounds of a scenario file. A real one has about 10 KiB and a depth of 9.
const (
	maxFile  = 256 << 10
	maxDepth = 32
	maxNodes = 20000
)

// Parse reads a scenario file strictly: one YAML document, known fields only, no
// anchors, every text in both languages. The error is a *LoadError with all
// problems found.
func Parse(name string, raw []byte) (*Scenario, error) {
	root, problem := document(raw)
	if problem != nil {
		return nil, &LoadError{File: name, Problems: []Problem{*problem}}
	}
	d := &decoder{pos: map[string]Pos{}}
	d.shape(root, 0)
	if len(d.problems) > 0 {
		return nil, &LoadError{File: name, Problems: d.problems}
	}
	sc := &Scenario{file: name, pos: d.pos}
	d.value(reflect.ValueOf(sc).Elem(), root, "", "")
	if len(d.problems) > 0 {
		return nil, &LoadError{File: name, Problems: inOrder(d.problems)}
	}
	return sc, nil
}

// document reads the one YAML document of raw without resolving anything.
func document(raw []byte) (*yaml.Node, *Problem) {
	if len(raw) > maxFile {
		return nil, &Problem{Message: text.Both("scenario.too-big", "size", len(raw)>>10, "max", maxFile>>10)}
	}
	if !utf8.Valid(raw) {
		return nil, &Problem{Message: text.Both("scenario.not-utf8")}
	}
	dec := yaml.NewDecoder(bytes.NewReader(raw))
	var doc, second yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, &Problem{Message: text.Both("scenario.empty")}
		}
		return nil, syntaxProblem(err)
	}
	if err := dec.Decode(&second); err == nil {
		return nil, &Problem{Line: second.Line, Column: second.Column, Message: text.Both("scenario.several-documents")}
	} else if !errors.Is(err, io.EOF) {
		return nil, syntaxProblem(err)
	}
	if len(doc.Content) != 1 {
		return nil, &Problem{Message: text.Both("scenario.empty")}
	}
	return doc.Content[0], nil
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

func syntaxProblem(err error) *Problem {
	p := &Problem{Message: text.Both("scenario.syntax", "error", err.Error())}
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		p.Message = text.Both("scenario.syntax", "error", m[2])
		if n, err := strconv.Atoi(m[1]); err == nil {
			p.Line, p.Column = n, 1
		}
	}
	return p
}

// shape refuses what the format has no use for and what makes files expand when
// they are read.
func (d *decoder) shape(n *yaml.Node, depth int) {
	d.nodes++
	switch {
	case len(d.problems) > 0:
		return
	case d.nodes > maxNodes:
		d.fail(n, "", text.Both("scenario.too-many-values", "max", maxNodes), "")
		return
	case depth > maxDepth:
		d.fail(n, "", text.Both("scenario.too-deep", "max", maxDepth), "")
		return
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		d.fail(n, "", text.Both("scenario.anchor"), "")
		return
	case n.Style&yaml.TaggedStyle != 0:
		d.fail(n, "", text.Both("scenario.tag", "tag", n.Tag), "")
		return
	}
	for _, c := range n.Content {
		d.shape(c, depth+1)
	}
}

// inOrder sorts problems by their place in the file and drops repeated ones.
func inOrder(ps []Problem) []Problem {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return slices.Compact(ps)
}
