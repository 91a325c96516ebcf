package board

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"labbot/bot/lab"
	"labbot/bot/text"
	"labbot/bot/trace"
	"labbot/scenarios/engine"
)

var outcomeMark = map[engine.Outcome]string{
	"": ":microscope:", engine.Passed: ":white_check_mark:", engine.PassedWithNote: ":white_check_mark:", engine.Failed: ":x:",
	engine.TimedOut: ":hourglass:", engine.Stopped: ":black_square_for_stop:", engine.Infrastructure: ":warning:",
}

// board is the root message. It reads from the top: what this is, where it runs,
// how it stands, how far it is, who did what, what can be done.
func (v View) board() Message {
	p := newPage()
	v.reserveFoot(p)
	p.header(v.mark(), v.Title.In(v.Lang))
	p.context(v.where()...)
	p.lines(v.headline()...)
	if v.Position == 0 {
		p.lines(v.checklist()...)
		p.lines(v.path()...)
		if v.State.Cleaned != engine.CleanUnknown {
			p.lines(v.cleanLines()...)
		}
	}
	return p.message(cut(Escape(v.Title.In(v.Lang), 200)+": "+v.sentence(), limitText))
}

func (v View) mark() string {
	switch {
	case v.Position > 0:
		return ":clock3:"
	case v.Trouble != "":
		return ":warning:"
	case v.State.Outcome == "" && v.State.Phase == engine.Fix:
		return ":wrench:"
	}
	return outcomeMark[v.State.Outcome]
}

// zero is where Δ counts from: the command, or the start if the run had to wait
// in line, as the waiting is not the cluster's doing.
func (v View) zero() time.Time {
	if v.CommandAt.IsZero() || v.State.StartedAt.Sub(v.CommandAt) > 10*time.Second {
		return v.State.StartedAt
	}
	return v.CommandAt
}

// where names context, address and namespace, so that nobody acts on the wrong
// cluster.
func (v View) where() []string {
	var parts []string
	for _, s := range []string{v.Context, v.Server, v.Version} {
		if s != "" {
			parts = append(parts, Code(s, 120))
		}
	}
	if v.State.Namespace != "" {
		parts = append(parts, text.T(v.Lang, "board.namespace", "namespace", Code(v.State.Namespace, 70)))
	}
	all := []string{strings.Join(parts, " · ")}
	if v.Simulated {
		all = append(all, text.T(v.Lang, "board.simulated"))
	}
	return all
}

// headline is the state in one strong sentence and what follows from it.
func (v View) headline() []string {
	l := []string{"*" + v.sentence() + "*"}
	if t := v.trouble(); t != "" {
		l = append(l, t)
	}
	switch {
	case v.Position > 0:
		if v.Holder != "" {
			l = append(l, text.T(v.Lang, "board.queue-holder", "title", Escape(v.HolderTitle.In(v.Lang), 120), "who", Mention(v.HolderBy), "run", Code(string(v.Holder), 30)))
		}
		return append(l, text.T(v.Lang, "board.queue-next"))
	case v.State.Outcome != "":
		l = append(l, v.outcomeLines()...)
		if v.State.Cleaned == engine.CleanUnknown {
			l = append(l, ":broom: "+text.T(v.Lang, "board.now-cleanup"))
		}
		return l
	case v.State.Phase == engine.Fix:
		l = append(l, text.T(v.Lang, "board.how-to-fix"))
		if !v.State.FixDeadline.IsZero() {
			l = append(l, text.T(v.Lang, "board.fix-until", "time", clock(v.State.FixDeadline)))
		}
	case v.State.Repair != nil:
		l = append(l, v.repair()...)
	}
	return l
}

func (v View) trouble() string {
	switch v.Trouble {
	case "redis":
		return text.T(v.Lang, "board.trouble-redis", "time", clock(v.TroubleSince))
	case "cluster":
		return text.T(v.Lang, "board.trouble-cluster", "time", clock(v.TroubleSince))
	}
	if !v.State.UnreachableSince.IsZero() && v.State.Outcome == "" {
		return text.T(v.Lang, "board.trouble-cluster", "time", clock(v.State.UnreachableSince))
	}
	return ""
}

func (v View) sentence() string {
	if v.Position > 0 {
		return text.T(v.Lang, "board.queue", "n", v.Position, "namespace", Code(v.State.Namespace, 70))
	}
	if v.State.Outcome != "" {
		return v.outcome()
	}
	symptom := v.symptom()
	switch v.State.Phase {
	case engine.Prepare:
		return text.T(v.Lang, "board.now-prepare")
	case engine.Inject:
		if v.breaks() {
			return text.T(v.Lang, "board.now-inject")
		}
		return text.T(v.Lang, "board.now-act")
	case engine.Observe:
		if symptom != "" {
			return text.T(v.Lang, "board.now-observe-symptom", "symptom", symptom)
		}
		if !v.breaks() {
			return text.T(v.Lang, "board.now-observe-act")
		}
		return text.T(v.Lang, "board.now-observe")
	case engine.Fix:
		return v.fixSentence(symptom)
	case engine.Verify:
		if v.State.Repair != nil {
			return text.T(v.Lang, "board.now-verify-repair")
		}
		return text.T(v.Lang, "board.now-verify")
	case engine.Cleanup, engine.Ended:
		return text.T(v.Lang, "board.now-cleanup")
	}
	return text.T(v.Lang, "board.now-start")
}

func (v View) fixSentence(symptom string) string {
	locked := slices.ContainsFunc(v.State.Buttons, func(b engine.ButtonState) bool { return own(b.ID) && !b.Enabled && !b.Busy })
	switch {
	case locked && symptom == "":
		return text.T(v.Lang, "board.now-fix-wait", "symptom", text.T(v.Lang, "board.broken"))
	case locked:
		return text.T(v.Lang, "board.now-fix-wait", "symptom", symptom)
	case symptom == "":
		return text.T(v.Lang, "board.now-fix")
	}
	return text.T(v.Lang, "board.now-fix-symptom", "symptom", symptom)
}

// breaks tells whether the scenario has something to repair; without that its
// inject phase is an act, not a fault.
func (v View) breaks() bool {
	return slices.Contains(v.Phases, engine.Fix) || v.State.Repair != nil ||
		slices.ContainsFunc(v.State.Buttons, func(b engine.ButtonState) bool { return own(b.ID) })
}

// symptom puts the newest failure of the trace into words.
func (v View) symptom() string {
	for _, h := range slices.Backward(v.Hops) {
		switch h.What {
		case trace.PullFailed, trace.BackOff:
			return text.T(v.Lang, "board.symptom-pull")
		case trace.NotScheduled:
			return text.T(v.Lang, "board.symptom-schedule")
		case trace.Exited, trace.RestartBackOff:
			return text.T(v.Lang, "board.symptom-crash")
		case trace.Unhealthy:
			return text.T(v.Lang, "board.symptom-probe")
		case trace.Restored:
			return ""
		}
	}
	return ""
}

// reserveFoot puts the buttons and the footer at the end and keeps room for them.
func (v View) reserveFoot(p *page) {
	size := 0
	note, buttons := v.actions()
	var tail []slack.Block
	if note != "" {
		tail, size = append(tail, slack.NewContextBlock("", mrkdwn(note))), size+runes(note)
	}
	if len(buttons) > 0 {
		tail, size = append(tail, slack.NewActionBlock("run", buttons...)), size+250*len(buttons)
	}
	foot := text.T(v.Lang, "board.footer", "who", Mention(v.StartedBy), "run", Code(string(v.Run), 30))
	p.reserve(size+runes(foot), append(tail, slack.NewContextBlock("", mrkdwn(foot)))...)
}

// lines joins lines that must stay together.
func lines(l []string) string { return strings.Join(l, "\n") }

// clock is a time of day that Slack draws in each reader's own time zone.
func clock(at time.Time) string {
	return fmt.Sprintf("<!date^%d^{time_secs}|%s UTC>", at.Unix(), at.UTC().Format(time.TimeOnly))
}

// span is a duration in whole seconds, in minutes and seconds from two minutes on.
func span(lang lab.Lang, from, to time.Time) string {
	n := int(trace.Delta(from, to) / time.Second)
	if n < 120 {
		return text.T(lang, "board.seconds", "n", n)
	}
	return fmt.Sprintf("%d:%02d", n/60, n%60)
}
