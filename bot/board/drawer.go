package board

import (
	"slices"
	"strings"
	"time"

	"labbot/bot/exhibit"
	"labbot/bot/lab"
	"labbot/bot/text"
)

// drawer turns parts into rows. Everything of the cluster goes through Code or
// Fence.
type drawer struct {
	lang  lab.Lang
	since time.Time
	rows  []string
	size  int // characters
	more  int // lines left out since the message is full
}

func (d *drawer) row(s ...string) {
	row := strings.Join(s, "")
	d.rows, d.size = append(d.rows, row), d.size+runes(row)
}

// full tells, once for each line of evidence, that no message has room for it.
func (d *drawer) full() bool {
	if d.size <= limitMessage {
		return false
	}
	d.more++
	return true
}

func (d *drawer) exhibit(ex exhibit.Exhibit) {
	for i := 0; i < len(ex.Parts); {
		end := i + 1
		for end < len(ex.Parts) && ex.Parts[end].Object == ex.Parts[i].Object && ex.Parts[i].Object != "" {
			end++
		}
		d.object(ex.Parts[i:end])
		i = end
	}
}

// object draws all that is told of one object. A Pod or ReplicaSet in which all
// is well takes two rows: what fails shall stand out.
func (d *drawer) object(parts []exhibit.Part) {
	if d.full() {
		return
	}
	name := parts[0].Object
	if name != "" {
		if len(d.rows) > 0 {
			d.row("")
		}
		if l := parts[0].Lines[0]; parts[0].Section == exhibit.Describe && l.Field == "" {
			d.row("*", Escape(name, 120), "* ", Code(l.Text, 100)) // not described in full
			return
		}
		if !strings.HasPrefix(name, "Deployment/") && well(parts) {
			d.row("*", Escape(name, 120), "* ✓")
			d.row(d.condensed(parts))
			return
		}
		d.row("*", Escape(name, 120), "*")
	}
	for _, p := range parts {
		d.part(p)
	}
}

// well tells whether an object's fields, and nothing else of it, are shown and
// none of them is bad.
func well(parts []exhibit.Part) bool {
	return !slices.ContainsFunc(parts, func(p exhibit.Part) bool {
		return !slices.Contains([]string{exhibit.Spec, exhibit.Status, exhibit.Conditions}, p.Section) ||
			slices.ContainsFunc(p.Lines, func(l exhibit.Line) bool { return l.Bad })
	})
}

func (d *drawer) condensed(parts []exhibit.Part) string {
	var all []string
	for _, p := range parts {
		for _, l := range p.Lines {
			all = append(all, short(l.Field)+" "+Code(l.Text, 60))
		}
	}
	const most = 10 // more is a wall of text
	if len(all) > most {
		all = append(all[:most], ellipsis)
	}
	return strings.Join(all, " · ")
}

func (d *drawer) part(p exhibit.Part) {
	switch p.Section {
	case exhibit.OwnerReferences:
		d.tree(p)
	case exhibit.Compare:
		d.compare(p)
	case exhibit.Events:
		d.events(p)
	case exhibit.History:
		d.history(p)
	case exhibit.Describe:
		d.describe(p)
	case exhibit.Logs:
		d.heading(text.T(d.lang, "exhibit.logs"), p.Lines)
		d.fence(p.Lines)
	default:
		d.fields(p)
	}
}

// heading names a section and the components that write it.
func (d *drawer) heading(name string, lines []exhibit.Line) {
	var by []string
	for _, l := range lines {
		if l.Component != "" && !slices.Contains(by, l.Component) {
			by = append(by, l.Component)
		}
	}
	s := "_" + name + "_"
	if len(by) > 0 {
		s += " · " + Escape(strings.Join(by, ", "), 120)
	}
	d.row(s)
}

func (d *drawer) fields(p exhibit.Part) {
	switch p.Section {
	case exhibit.Spec:
		d.heading(text.T(d.lang, "exhibit.spec"), p.Lines)
	case exhibit.Status:
		d.heading(text.T(d.lang, "exhibit.status"), p.Lines)
	default:
		d.heading(text.T(d.lang, "exhibit.conditions"), p.Lines)
	}
	var small []string
	flush := func() {
		if len(small) > 0 {
			d.row("• ", strings.Join(small, " · "))
		}
		small = nil
	}
	for _, l := range p.Lines {
		field := Escape(elide(p.Section, l.Field), 120)
		if !l.Bad && l.Reason == "" && runes(field)+runes(l.Text) < 28 && len(small) < 4 {
			small = append(small, field+" "+Code(l.Text, 60))
			continue
		}
		flush()
		d.field(field, l)
	}
	flush()
}

// field draws a fact that needs a row of its own.
func (d *drawer) field(field string, l exhibit.Line) {
	if d.full() {
		return
	}
	mark := "• "
	if l.Bad {
		mark = ":x: "
	}
	if runes(l.Text) > 60 {
		d.row(mark, field)
		d.row("> ", Code(l.Text, 900))
		return
	}
	reason := ""
	if l.Reason != "" {
		reason = " " + Code(l.Reason, 80)
	}
	d.row(mark, field, " ", Code(l.Text, 100), reason)
	if l.Message != "" {
		d.row("> ", Code(l.Message, 500))
	}
}

// elide drops of a path what the heading says already, and its middle where it
// is the same for every object.
func elide(section, field string) string {
	field = strings.TrimPrefix(strings.TrimPrefix(field, "status.conditions"), section+".")
	field = strings.Replace(field, "template.spec.containers", "template…containers", 1)
	field = strings.Replace(field, "].state.", "]…", 1)
	field = strings.Replace(field, "metadata.annotations[deployment.kubernetes.io/revision]", "annotations[…/revision]", 1)
	if name, ok := strings.CutPrefix(field, "["); ok { // a condition's type
		return strings.TrimSuffix(name, "]")
	}
	return field
}

// short is the last word of a path: enough beside others of the same object.
func short(field string) string {
	if strings.HasSuffix(field, "deployment.kubernetes.io/revision]") {
		return "revision"
	}
	if open := strings.LastIndex(field, "conditions["); open >= 0 {
		return Escape(strings.Trim(field[open+len("conditions["):], "]"), 60)
	}
	return Escape(field[strings.LastIndex(field, ".")+1:], 60)
}
