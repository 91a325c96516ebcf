package board

import (
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
		head = ":pushpin: *Evidence " + strconv.Itoa(h.number) + "* · " + title
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
		l = append(l, ":computer: "+Code(k, 300))
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
