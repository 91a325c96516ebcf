package board

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/slack-go/slack"
)

// check holds a message to Slack's limits and to our own, by its JSON as Slack
// would get it. It knows nothing of how messages are made.
func check(m Message) []string {
	c := &checker{}
	c.that(m.Text != "" && utf8.RuneCountInString(m.Text) <= 3000, "text has %d characters", utf8.RuneCountInString(m.Text))
	c.mrkdwn("text", m.Text)
	raw, err := json.Marshal(m.Blocks)
	if err != nil {
		return []string{err.Error()}
	}
	var blocks []map[string]any
	if err := json.Unmarshal(raw, &blocks); err != nil {
		return []string{err.Error()}
	}
	c.that(len(blocks) >= 1 && len(blocks) <= 50, "%d blocks", len(blocks))
	ids := map[string]bool{}
	for i, b := range blocks {
		c.block(fmt.Sprintf("/blocks/%d", i), b)
		if id, _ := b["block_id"].(string); id != "" {
			c.that(!ids[id], "block_id %q twice", id)
			ids[id] = true
		}
	}
	c.that(c.total < 10000, "%d characters over all blocks", c.total)
	if m.File != nil {
		c.that(m.File.Name != "" && m.File.Body != "" && utf8.ValidString(m.File.Body), "file %q", m.File.Name)
	}
	return c.problems
}

type checker struct {
	problems []string
	total    int
}

func (c *checker) that(ok bool, format string, args ...any) {
	if !ok {
		for i, a := range args {
			if s, is := a.(string); is {
				args[i] = cut(s, 200)
			}
		}
		c.problems = append(c.problems, fmt.Sprintf(format, args...))
	}
}

func (c *checker) block(at string, b map[string]any) {
	switch b["type"] {
	case "header":
		c.text(at, b["text"], "plain_text", 150)
	case "section":
		c.text(at, b["text"], "", 3000)
		c.that(b["fields"] == nil && b["accessory"] == nil, "%s: unexpected parts", at)
	case "context":
		c.elements(at, b, 10, func(at string, e map[string]any) { c.text(at, e, "", 2000) })
	case "actions":
		seen := map[any]bool{}
		c.elements(at, b, 25, func(at string, e map[string]any) {
			c.that(!seen[e["action_id"]], "%s: action_id twice", at)
			seen[e["action_id"]] = true
			c.button(at, e)
		})
	case "divider":
	default:
		c.that(false, "%s: block type %v is not of the core", at, b["type"])
	}
}

func (c *checker) elements(at string, b map[string]any, most int, each func(string, map[string]any)) {
	list, _ := b["elements"].([]any)
	c.that(len(list) >= 1 && len(list) <= most, "%s: %d elements", at, len(list))
	for i, e := range list {
		m, _ := e.(map[string]any)
		each(fmt.Sprintf("%s/elements/%d", at, i), m)
	}
}

func (c *checker) button(at string, e map[string]any) {
	c.that(e["type"] == "button", "%s: type %v", at, e["type"])
	c.text(at, e["text"], "plain_text", 75)
	id, _ := e["action_id"].(string)
	value, _ := e["value"].(string)
	c.that(len(id) >= 1 && len(id) <= 255 && len(value) <= 2000, "%s: action_id %q value %q", at, id, value)
	c.total += len(value)
	_, _, err := ParseAction(id, value)
	c.that(err == nil, "%s: %v", at, err)
	style, styled := e["style"]
	c.that(!styled || style == "primary" || style == "danger", "%s: style %v", at, style)
	if confirm, ok := e["confirm"].(map[string]any); ok {
		for part, most := range map[string]int{"title": 100, "text": 300, "confirm": 30, "deny": 30} {
			c.text(at+"/"+part, confirm[part], "", most)
		}
	}
}

func (c *checker) text(at string, v any, kind string, most int) {
	o, _ := v.(map[string]any)
	s, _ := o["text"].(string)
	n := utf8.RuneCountInString(s)
	c.that(o["type"] == "mrkdwn" || o["type"] == "plain_text", "%s: text type %v", at, o["type"])
	c.that(kind == "" || o["type"] == kind, "%s: text type %v, want %s", at, o["type"], kind)
	c.that(n >= 1 && n <= most && strings.TrimSpace(s) != "", "%s: %d characters, want 1 to %d", at, n, most)
	c.that(utf8.ValidString(s), "%s: not UTF-8", at)
	c.total += n
	if o["type"] == "mrkdwn" {
		c.that(o["verbatim"] == true, "%s: not verbatim", at)
		c.mrkdwn(at, s)
	}
}

var (
	entity = regexp.MustCompile(`^&(amp|lt|gt);`)
	// tokens that we make ourselves: people by id, and a time of day.
	token = regexp.MustCompile(`^<(@[UW][A-Z0-9]{2,20}|!date\^\d+\^\{time_secs\}\|\d\d:\d\d:\d\d UTC)>`)
	all   = regexp.MustCompile(`(?i)@(channel|here|everyone)\b`)
)

// mrkdwn refuses a raw special character, a token that is not ours, a fence or
// code span that does not end, and what is invisible.
func (c *checker) mrkdwn(at, s string) {
	c.that(!all.MatchString(s), "%s: mentions everybody: %q", at, all.FindString(s))
	c.that(strings.Count(s, "```")%2 == 0, "%s: open fence", at)
	fenced := false
	for i, line := range strings.Split(s, "\n") {
		if strings.Count(line, "```")%2 == 1 {
			fenced = !fenced
		}
		single := strings.Count(strings.ReplaceAll(line, "```", ""), "`")
		c.that(single%2 == 0, "%s line %d: open code span in %q", at, i, line)
		c.line(at, line)
	}
}

func (c *checker) line(at, line string) {
	quoted := strings.HasPrefix(line, "> ")
	for i, r := range line {
		rest := line[i:]
		switch {
		case r == '&':
			c.that(entity.MatchString(rest), "%s: raw & in %q", at, line)
		case r == '<':
			c.that(token.MatchString(rest), "%s: foreign token in %q", at, line)
		case r == '>' && (!quoted || i != 0):
			open := strings.LastIndex(line[:i], "<")
			c.that(open >= 0 && token.FindString(line[open:]) == line[open:i+1], "%s: raw > in %q", at, line)
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			c.that(false, "%s: invisible %U in %q", at, r, line)
		}
	}
}

// read shows a message as text, for golden files.
func read(m Message) string {
	var b strings.Builder
	fmt.Fprintf(&b, "text: %s\n", m.Text)
	for _, block := range m.Blocks {
		switch block := block.(type) {
		case *slack.HeaderBlock:
			fmt.Fprintf(&b, "# %s\n", block.Text.Text)
		case *slack.SectionBlock:
			fmt.Fprintf(&b, "%s\n", block.Text.Text)
		case *slack.ContextBlock:
			for _, e := range block.ContextElements.Elements {
				fmt.Fprintf(&b, "  ~ %s\n", e.(*slack.TextBlockObject).Text)
			}
		case *slack.ActionBlock:
			for _, e := range block.Elements.ElementSet {
				btn := e.(*slack.ButtonBlockElement)
				fmt.Fprintf(&b, "[%s|%s|%s] ", btn.Text.Text, btn.ActionID, btn.Style)
			}
			b.WriteString("\n")
		default:
			fmt.Fprintf(&b, "%T\n", block)
		}
		b.WriteString("\n")
	}
	if m.File != nil {
		fmt.Fprintf(&b, "file: %s (%s)\n", m.File.Name, m.File.Title)
	}
	return b.String()
}

func problems(slots []Slot) []string {
	var all []string
	seen := map[string]bool{}
	for _, s := range slots {
		if seen[s.ID] {
			all = append(all, "slot "+s.ID+" twice")
		}
		seen[s.ID] = true
		for _, p := range check(s.Message) {
			all = append(all, s.ID+": "+p)
		}
	}
	return slices.Compact(all)
}
