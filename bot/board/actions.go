package board

import (
	"strings"

	"github.com/slack-go/slack"

	"labbot/bot/text"
	"labbot/scenarios/engine"
)

// own tells a scenario's own button, which repairs, from the standing ones.
func own(id string) bool { return id != "hint" && id != "stop" }

// actions gives the buttons of the moment, and in words what is not a button
// now, as Slack has no disabled ones.
func (v View) actions() (note string, buttons []slack.BlockElement) {
	s := v.State
	if s.Outcome != "" || s.Phase == engine.Cleanup || s.Phase == engine.Ended {
		return "", nil
	}
	var notes []string
	if v.Position == 0 {
		for _, b := range s.Buttons {
			if !own(b.ID) {
				continue
			}
			label := v.label(b.ID)
			switch {
			case b.Busy:
				notes = append(notes, text.T(v.Lang, "board.busy", "button", Escape(label, 60)))
			case b.Enabled:
				buttons = append(buttons, button(v.Run, b.ID, label, slack.StylePrimary))
			case s.Repair == nil:
				notes = append(notes, text.T(v.Lang, "board.opens-after", "button", Escape(label, 60)))
			}
		}
		if len(s.Buttons) == 0 && v.breaks() && s.Phase != engine.Verify {
			notes = append(notes, text.T(v.Lang, "board.opens-after", "button", text.T(v.Lang, "board.button-rollback")))
		}
		if s.NamespaceUID != "" && s.Phase != engine.Prepare {
			for _, id := range []string{"describe", "events", "history"} {
				buttons = append(buttons, button(v.Run, id, v.label(id), slack.StyleDefault))
			}
		}
		if hint := v.hintNote(); hint != "" {
			notes = append(notes, hint)
			buttons = append(buttons, button(v.Run, "hint", v.label("hint"), slack.StyleDefault))
		}
	}
	return strings.Join(notes, "  ·  "), append(buttons, v.stop())
}

// hintNote says whether a hint can be had now, or when; nothing where there is
// none left.
func (v View) hintNote() string {
	if v.State.Phase != engine.Fix && v.State.Phase != engine.Observe {
		return ""
	}
	due := 0
	var next engine.HintState
	for _, h := range v.State.Hints {
		switch {
		case !h.Shown.IsZero():
		case !h.Due.IsZero() && !h.Due.After(v.Now):
			due++
		case !h.Due.IsZero() && (next.Due.IsZero() || h.Due.Before(next.Due)):
			next = h
		}
	}
	switch {
	case due > 0:
		return text.N(v.Lang, "board.hints-ready", due)
	case !next.Due.IsZero():
		return text.T(v.Lang, "board.hint-at", "time", clock(next.Due))
	}
	return ""
}

func (v View) label(id string) string {
	if id == "rollback" {
		return text.T(v.Lang, "board.button-rollback")
	}
	if key := "board.button-" + id; text.Has(key) {
		return text.T(v.Lang, key)
	}
	return id
}

func (v View) stop() *slack.ButtonBlockElement {
	b := button(v.Run, "stop", text.T(v.Lang, "board.button-stop"), slack.StyleDanger)
	confirm := slack.NewConfirmationBlockObject(
		plain(text.T(v.Lang, "board.stop-title"), 100),
		plain(text.T(v.Lang, "board.stop-text", "namespace", v.State.Namespace), 300),
		plain(text.T(v.Lang, "board.stop-yes"), 30),
		plain(text.T(v.Lang, "board.stop-no"), 30),
	)
	confirm.Style = slack.StyleDanger
	b.Confirm = confirm
	return b
}
