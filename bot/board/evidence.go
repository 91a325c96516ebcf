package board

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"labbot/bot/exhibit"
	"labbot/bot/lab"
	"labbot/bot/text"
	"labbot/scenarios/engine"
)

// Exhibit draws one exhibit for a person who asked for it. title may be zero;
// the kind's own is used then.
func Exhibit(lang lab.Lang, ex exhibit.Exhibit, title lab.Text) Message {
	head := exhibitHead{kubectl: ex.Kubectl}
	if title.Complete() {
		head.title = Escape(title.In(lang), 120)
	}
	return drawExhibit(lang, ex, head)
}

type exhibitHead struct {
	number  int    // in the thread, 0 for none
	title   string // escaped
	kubectl []string
	since   time.Time
}

func drawExhibit(lang lab.Lang, ex exhibit.Exhibit, h exhibitHead) Message {
	title := h.title
	if title == "" || strings.HasPrefix(title, "`") { // kubectl's words stand in the row below
		title = kindTitle(lang, ex.Kind)
	}
	head := "*" + title + "*"
	if h.number > 0 {
		head = "📌 *Evidence " + strconv.Itoa(h.number) + "* · " + title
	}
	if !h.since.IsZero() && !ex.At.IsZero() {
		head += " · " + Code("+"+span(lang, h.since, ex.At), 20)
	}
	d := drawer{lang: lang, since: h.since}
	d.exhibit(ex)
	if len(d.rows) == 0 {
		d.rows = []string{text.T(lang, "exhibit.nothing")}
	}
	p := newPage()
	var m Message
	name := fileName(ex)
	foot := about(lang, ex.Kind)
	if ex.Full != "" {
		foot += " " + text.T(lang, "exhibit.in-file", "file", Code(name, 80))
	}
	p.left -= runes(foot) + 100 // the footer and the count of what did not fit
	p.lines(append([]string{head}, typed(h.kubectl)...)...)
	dropped := p.lines(d.rows...) + d.more
	p.left += runes(foot) + 100
	if dropped > 0 {
		p.lines("_" + text.N(lang, "exhibit.more", dropped) + "_")
	}
	p.context(foot)
	m = p.message(strings.Trim(head, "*"))
	if ex.Full != "" {
		m.File = &File{Name: name, Title: plainTitle(ex), Body: strings.ToValidUTF8(ex.Full, "?")}
	}
	return m
}

// typed are the lines that a learner would type.
func typed(kubectl []string) []string {
	var l []string
	for _, k := range kubectl {
		l = append(l, "⌨️ "+Code(k, 300))
	}
	return l
}

func fileName(ex exhibit.Exhibit) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return -1
	}, strings.ToLower(ex.Step))
	if name == "" {
		name = "evidence"
	}
	return cut(name, 60) + ".txt"
}

func plainTitle(ex exhibit.Exhibit) string {
	if len(ex.Kubectl) > 0 {
		return cut(clean(ex.Kubectl[0]), 200)
	}
	return fileName(ex)
}

func kindTitle(lang lab.Lang, kind string) string {
	switch engine.ActionKind(kind) {
	case engine.ActDescribe:
		return text.T(lang, "exhibit.title-describe")
	case engine.ActEvents:
		return text.T(lang, "exhibit.title-events")
	case engine.ActRolloutHistory:
		return text.T(lang, "exhibit.title-history")
	}
	return text.T(lang, "exhibit.title-evidence")
}

func about(lang lab.Lang, kind string) string {
	switch engine.ActionKind(kind) {
	case engine.ActDescribe:
		return text.T(lang, "exhibit.about-describe")
	case engine.ActEvents:
		return text.T(lang, "exhibit.about-events")
	case engine.ActRolloutHistory:
		return text.T(lang, "exhibit.about-history")
	}
	return text.T(lang, "exhibit.about-evidence")
}

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
		if !strings.HasPrefix(name, "Deployment/") && len(parts) > 1 && well(parts) {
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

func well(parts []exhibit.Part) bool {
	return !slices.ContainsFunc(parts, func(p exhibit.Part) bool {
		return slices.ContainsFunc(p.Lines, func(l exhibit.Line) bool { return l.Bad }) || p.Section == exhibit.Logs || p.Section == exhibit.Describe
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
		mark = "❌ "
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
		mark, word := "＝", text.T(d.lang, "exhibit.same")
		switch l.Reason {
		case exhibit.Gone:
			mark, word = "➖", text.T(d.lang, "exhibit.gone")
		case exhibit.New:
			mark, word = "➕", text.T(d.lang, "exhibit.new")
		}
		by := ""
		if l.Component != "" {
			by = " · " + Escape(l.Component, 60)
		}
		d.row(mark, " *", Escape(l.Object, 120), "* – ", word, by)
		d.row("> uid ", Code(l.Text, 60))
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
		mark = "❌ "
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
			row += "\n> ⬆️ " + text.T(d.lang, "exhibit.image-changed")
		}
		d.row(row)
		d.row("> ", Escape(l.Object, 120))
		before = l.Text
	}
}

// describe groups kubectl's rows under their headings.
func (d *drawer) describe(p exhibit.Part) {
	var group []exhibit.Line
	heading := ""
	flush := func() {
		if len(group) > 0 {
			d.fence(group)
		}
		group = nil
	}
	for _, l := range p.Lines {
		if l.Field != heading {
			flush()
			heading = l.Field
			d.row("_", Escape(heading, 60), "_")
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

func count(n int) string { return fmt.Sprint(n) }
