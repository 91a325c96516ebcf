package board

import (
	"regexp"
	"strings"

	"github.com/slack-go/slack"
)

// Emoji are the emoji codes that messages use, as characters for where nobody
// but Slack would draw them.
var Emoji = map[string]string{
	":white_check_mark:": "✅", ":x:": "❌", ":hourglass_flowing_sand:": "⏳", ":hourglass:": "⌛", ":warning:": "⚠",
	":microscope:": "🔬", ":wrench:": "🔧", ":black_square_for_stop:": "⏹", ":clock3:": "🕒", ":arrow_forward:": "▶",
	":white_circle:": "○", ":test_tube:": "🧪", ":bulb:": "💡", ":lock:": "🔒", ":broom:": "🧹",
	":leftwards_arrow_with_hook:": "↩", ":pushpin:": "📌", ":computer:": "$", ":arrow_up:": "⬆",
	":wastebasket:": "−", ":new:": "+", ":link:": "=",
}

var (
	emojiCode = regexp.MustCompile(`:[a-z0-9_]+:`)
	date      = regexp.MustCompile(`<!date\^[^|>]*\|([^>]*)>`)
	person    = regexp.MustCompile(`<(@[UW][A-Z0-9]+)>`)
	italic    = regexp.MustCompile(`(^|[\s(])_([^_]+)_($|[\s).,])`)
	entities  = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")
)

// Lines reads a message as lines of plain text, for a terminal: without Slack's
// marks, with emoji as characters and what is in code untouched. Buttons and the
// file are not in it.
func Lines(m Message) []string {
	var all []string
	for _, b := range m.Blocks {
		switch b := b.(type) {
		case *slack.HeaderBlock:
			all = append(all, unmark(b.Text.Text))
		case *slack.SectionBlock:
			all = append(all, plainLines(b.Text.Text)...)
		case *slack.ContextBlock:
			for _, e := range b.ContextElements.Elements {
				if t, ok := e.(*slack.TextBlockObject); ok {
					all = append(all, plainLines(t.Text)...)
				}
			}
		}
	}
	return all
}

func plainLines(s string) []string {
	var all []string
	fenced := false
	for line := range strings.SplitSeq(s, "\n") {
		switch {
		case line == "```":
			fenced = !fenced
		case fenced:
			all = append(all, entities.Replace(line))
		default:
			all = append(all, spans(line))
		}
	}
	return all
}

// spans takes the marks off outside of code. A code span holds no backtick, so
// every second part is code.
func spans(line string) string {
	parts := strings.Split(line, "`")
	for i, p := range parts {
		if i%2 == 1 {
			parts[i] = entities.Replace(p)
			continue
		}
		parts[i] = unmark(p)
	}
	return strings.Join(parts, "")
}

func unmark(s string) string {
	s = date.ReplaceAllString(s, "$1")
	s = person.ReplaceAllString(s, "$1")
	s = italic.ReplaceAllString(strings.ReplaceAll(s, "*", ""), "$1$2$3")
	s = emojiCode.ReplaceAllStringFunc(s, func(code string) string {
		if char, ok := Emoji[code]; ok {
			return char
		}
		return code
	})
	return entities.Replace(s)
}
