package board

import (
	"fmt"
	"strings"

	"labbot/bot/lab"
	"labbot/bot/text"
	"labbot/scenarios/engine"
)

// Help is the answer to /lab help.
func Help(lang lab.Lang, scenarios []ScenarioInfo) Message {
	p := newPage()
	title := text.T(lang, "board.help-title")
	p.lines("*" + title + "*")
	var rows []string
	for _, s := range scenarios[:min(len(scenarios), helpScenarios)] {
		rows = append(rows, slash(s.ID)+" – "+Escape(s.Title.In(lang), 150))
	}
	for _, c := range []struct{ word, about string }{
		{"list", text.T(lang, "board.help-list")},
		{"status", text.T(lang, "board.help-status")},
		{"stop", text.T(lang, "board.help-stop")},
		{"cleanup", text.T(lang, "board.help-cleanup")},
		{"help", text.T(lang, "board.help-help")},
	} {
		rows = append(rows, slash(c.word)+" – "+c.about)
	}
	p.lines(rows...)
	p.context(text.T(lang, "board.help-thread"))
	return p.message(title)
}

// helpScenarios bounds the scenarios that help names; /lab list has all of them.
const helpScenarios = 5

func slash(word string) string { return Code("/lab "+word, 80) }

// List is the answer to /lab list.
func List(lang lab.Lang, scenarios []ScenarioInfo) Message {
	p := newPage()
	title := text.T(lang, "board.list-title")
	if len(scenarios) == 0 {
		p.lines(text.T(lang, "board.list-empty"))
		return p.message(text.T(lang, "board.list-empty"))
	}
	rows := []string{"*" + title + "*"}
	for _, s := range scenarios {
		about := []string{strings.Repeat("★", min(max(s.Difficulty, 0), 5))}
		if s.Minutes > 0 {
			about = append(about, text.N(lang, "board.list-minutes", s.Minutes))
		}
		if s.Module != "" {
			about = append(about, text.T(lang, "board.list-module", "module", Code(s.Module, 40)))
		}
		rows = append(rows, slash(s.ID)+" *"+Escape(s.Title.In(lang), 150)+"*\n> "+strings.Join(about, " · "))
	}
	if dropped := p.lines(rows...); dropped > 0 {
		p.context(ellipsis)
	}
	return p.message(title)
}

// Status is the answer to /lab status: one paragraph for each run.
func Status(lang lab.Lang, runs []View) Message {
	p := newPage()
	if len(runs) == 0 {
		s := text.T(lang, "board.status-none")
		p.lines(s)
		return p.message(s)
	}
	title := text.T(lang, "board.status-title")
	if runs[0].State.Phase == engine.Ended {
		title = text.T(lang, "board.status-last")
	}
	rows := []string{"*" + title + "*"}
	for _, v := range runs {
		v.Lang = lang
		rows = append(rows, v.mark()+" *"+Escape(v.Title.In(lang), 150)+"* · "+v.sentence()+"\n> "+
			text.T(lang, "board.footer", "who", Mention(v.StartedBy), "run", Code(string(v.Run), 30)))
		if t := v.trouble(); t != "" {
			rows = append(rows, t)
		}
		if v.State.Cleaned != engine.CleanUnknown {
			rows = append(rows, "> "+v.cleanLines()[0])
		}
	}
	p.lines(rows...)
	return p.message(title)
}

// Notice is a short reply. key is a key of the catalogue and args are pairs of
// a place's name and its value, which is escaped here.
func Notice(lang lab.Lang, key string, args ...any) Message {
	safe := make([]any, len(args))
	for i, a := range args {
		safe[i] = a
		if i%2 == 1 {
			safe[i] = Escape(fmt.Sprint(a), 500)
		}
	}
	s := text.T(lang, key, safe...)
	p := newPage()
	p.lines(s)
	return p.message(s)
}
