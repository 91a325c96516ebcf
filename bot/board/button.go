package board

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/slack-go/slack"

	"labbot/bot/lab"
)

// The action ids of the buttons of a run. A scenario's own button has the id
// ActionPrefix plus the button's id, so Rollback is one of them. The value of
// every such button is a ButtonValue in JSON: {"run":"r-7k2mq4xa","v":1}.
const (
	ActionPrefix   = "run:"
	ActionRollback = ActionPrefix + "rollback"
	ActionDescribe = ActionPrefix + "describe"
	ActionEvents   = ActionPrefix + "events"
	ActionHistory  = ActionPrefix + "history"
	ActionHint     = ActionPrefix + "hint"
	ActionStop     = ActionPrefix + "stop"
)

// buttonVersion is raised when a ButtonValue changes its meaning. Old messages
// keep their old buttons for ever, so a reader must be able to tell.
const buttonVersion = 1

// ButtonValue is what a button of a run carries.
type ButtonValue struct {
	Run lab.RunID `json:"run"`
	V   int       `json:"v"`
}

// ParseAction returns the button's id ("rollback", "describe" …) and the run it
// belongs to. It refuses what Render did not make.
func ParseAction(actionID, value string) (button string, id lab.RunID, err error) {
	button, ok := strings.CutPrefix(actionID, ActionPrefix)
	if !ok || button == "" {
		return "", "", fmt.Errorf("action %q is not a button of a run", actionID)
	}
	var v ButtonValue
	if err := json.Unmarshal([]byte(value), &v); err != nil {
		return "", "", fmt.Errorf("value of action %q: %w", actionID, err)
	}
	if v.V != buttonVersion || v.Run == "" {
		return "", "", fmt.Errorf("value of action %q: version %d of run %q, want version %d", actionID, v.V, v.Run, buttonVersion)
	}
	return button, v.Run, nil
}

func button(run lab.RunID, id, label string, style slack.Style) *slack.ButtonBlockElement {
	value, _ := json.Marshal(ButtonValue{Run: run, V: buttonVersion}) // two plain fields
	b := slack.NewButtonBlockElement(ActionPrefix+id, string(value), plain(label, limitButton))
	b.Style = style
	return b
}
