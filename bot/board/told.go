package board

import (
	"strconv"
	"strings"
	"time"

	"labbot/bot/exhibit"
	"labbot/bot/text"
)

func (d *drawer) tree(p exhibit.Part) {
	if len(d.rows) > 0 && p.Object == "" {
		d.row("")
	}
	if p.Object != "" {
		for _, l := range p.Lines {
			d.row("• ", Escape(l.Field, 60), " ", Code(l.Text, 120))
		}
		return
	}
	d.row("*", text.T(d.lang, "exhibit.ownerreferences"), "*")
	d.fence(p.Lines)
}

// fence draws lines as one code block within what a section takes.
func (d *drawer) fence(lines []exhibit.Line) {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.Text + "\n")
	}
	d.row(Fence(b.String(), 2500))
}

func (d *drawer) compare(p exhibit.Part) {
	d.row("*", text.T(d.lang, "exhibit.compare"), "*")
	for _, l := range p.Lines {
		if d.full() {
			return
		}
		mark, word := ":link:", text.T(d.lang, "exhibit.same")
		switch l.Reason {
		case exhibit.Gone:
			mark, word = ":wastebasket:", text.T(d.lang, "exhibit.gone")
		case exhibit.New:
			mark, word = ":new:", text.T(d.lang, "exhibit.new")
		}
		by := ""
		if l.Component != "" {
			by = " · " + Escape(l.Component, 60)
		}
		d.row(mark, " *", Escape(l.Object, 120), "*")
		d.row("> ", word, " · uid ", Code(l.Text, 11), by) // eight characters of a UID tell objects apart
	}
}

func (d *drawer) events(p exhibit.Part) {
	if len(d.rows) > 0 {
		d.row("")
		d.row("*", text.T(d.lang, "exhibit.events"), "*")
	}
	for _, l := range p.Lines {
		if l.Reason == "" { // the count of what is left out
			d.row("_", Escape(l.Text, 100), "_")
			continue
		}
		d.told(l, d.when(l.At)+" ", " · "+Escape(l.Field, 20), Escape(l.Object, 120)+": ")
	}
}

// told draws an Event in two rows: who told it, and what.
func (d *drawer) told(l exhibit.Line, when, kind, object string) {
	if d.full() {
		return
	}
	mark := "• "
	if l.Bad {
		mark = ":x: "
	}
	times := ""
	if l.Count > 1 {
		times = " *×" + count(l.Count) + "*"
	}
	d.row(mark, when, "*", Escape(l.Reason, 60), "*", times, kind, " · ", Escape(l.Component, 60))
	d.row("> ", object, Code(l.Text, 700))
}

// when is Δ from the command in the thread, and a time of day elsewhere.
func (d *drawer) when(at time.Time) string {
	if d.since.IsZero() {
		return Code(at.UTC().Format(time.TimeOnly)+"Z", 20)
	}
	return Code("+"+span(d.lang, d.since, at), 20)
}

func (d *drawer) history(p exhibit.Part) {
	before := ""
	for i, l := range p.Lines {
		if d.full() {
			return
		}
		d.row("*REVISION ", Escape(l.Field, 20), "* · CHANGE-CAUSE ", Code(l.Reason, 120))
		row := "> " + Code(l.Text, 300)
		if i > 0 && l.Text != before {
			row += "\n> :arrow_up: " + text.T(d.lang, "exhibit.image-changed")
		}
		d.row(row)
		d.row("> ", Escape(l.Object, 120))
		before = l.Text
	}
}

// describe groups kubectl's rows under their headings; a single row stands
// beside its heading.
func (d *drawer) describe(p exhibit.Part) {
	var group []exhibit.Line
	heading, title := "", "" // title is what of the heading is not drawn yet
	flush := func() {
		if len(group) == 1 {
			d.row(title, " ", Code(group[0].Text, 300))
			title, group = "", nil
		}
		if title != "" {
			d.row(title)
			title = ""
		}
		if len(group) > 1 {
			d.fence(group)
		}
		group = nil
	}
	for _, l := range p.Lines {
		if l.Field != heading {
			flush()
			heading, title = l.Field, "_"+Escape(l.Field, 60)+"_"
		}
		if l.Reason == "" {
			group = append(group, l)
			continue
		}
		flush()
		d.told(l, "", "", "")
	}
	flush()
}

func count(n int) string { return strconv.Itoa(n) }
