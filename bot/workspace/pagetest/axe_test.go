package pagetest

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

const axeFile = "node_modules/axe-core/axe.min.js"

// axe runs axe-core on the page as it stands and reports what is serious.
func (p *tab) axe(where, source string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, 4*patience)
	defer cancel()
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[bool](source+"; typeof window.axe === 'object'")); err != nil {
		p.t.Fatalf("load axe-core: %v", err)
	}
	const ask = `axe.run(document, {resultTypes: ["violations"]}).then((r) => JSON.stringify(r.violations.map((v) => ({
		id: v.id, impact: v.impact, help: v.help, nodes: v.nodes.slice(0, 4).map((n) => n.html.slice(0, 160) + " " + (n.failureSummary || "").slice(0, 240))}))))`
	raw, err := chromedp.Run(ctx, chromedp.Evaluate[string](ask, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("run axe-core on %s: %v", where, err)
	}
	var found []struct {
		ID, Impact, Help string
		Nodes            []string
	}
	if err := json.Unmarshal([]byte(raw), &found); err != nil {
		p.t.Fatal(err)
	}
	for _, v := range found {
		say := p.t.Logf
		if v.Impact == "serious" || v.Impact == "critical" {
			say = p.t.Errorf
		}
		say("%s: %s %s: %s\n%s", where, v.Impact, v.ID, v.Help, strings.Join(v.Nodes, "\n"))
	}
}

func TestAccessibility(t *testing.T) {
	source, err := os.ReadFile(axeFile)
	if err != nil {
		if os.Getenv("LABBOT_REQUIRE_AXE") != "" {
			t.Fatalf("axe-core is not installed (npm ci in bot/workspace/pagetest), and LABBOT_REQUIRE_AXE is set: %v", err)
		}
		t.Skip("axe-core is not installed: run npm ci in bot/workspace/pagetest to check accessibility")
	}
	a := startApp(t)
	a.person("message", obj{"user": "irina", "channel": a.class, "text": "read `this` and *that*: https://kubernetes.io @amir"})
	root := a.say(obj{"text": "board", "blocks": append(board("waiting"), everyBlock()...)})
	a.say(obj{"text": "evidence\n```kubectl get pods```\n> quoted", "thread_ts": root})
	a.api("chat.postEphemeral", obj{"channel": a.class, "user": userID(a, "amir"), "text": "only for you"})
	a.answer(openQuestion(a))
	for _, c := range []struct {
		name string
		look look
	}{{"light", laptop}, {"dark", look{width: 1280, height: 800, dark: true}}, {"phone", phone}} {
		t.Run(c.name, func(t *testing.T) {
			p := open(t, a, c.look)
			p.see(".msg.ephemeral", "only for you")
			p.snap("channel")
			p.axe("channel", string(source))
			p.click(".reply-bar")
			p.see("#pane .msg", "evidence")
			p.snap("thread")
			p.axe("thread", string(source))
			if c.name != "phone" {
				p.write(composer, "/lab ")
				p.see(".complete-item", "break-image")
				p.axe("completion", string(source))
				p.key(escape)
			}
			p.click(`#pane button[data-action="lab.hint"]`)
			p.see(".modal h2", "Question 3 of 5")
			p.click(".modal button[type=submit]")
			p.wait(`document.querySelector(".modal .input-error")`)
			// A dialog that is still fading in would be measured half transparent.
			p.wait(`document.querySelector(".modal").getAnimations().length === 0`)
			p.snap("modal")
			p.axe("modal", string(source))
			p.key(escape)
			p.gone(".modal")
		})
	}
}

// everyBlock is one of each kind of block and element that is not on the board.
func everyBlock() []obj {
	plain := func(s string) obj { return obj{"type": "plain_text", "text": s} }
	options := []obj{{"text": plain("one"), "value": "1"}, {"text": plain("two"), "value": "2"}}
	return []obj{
		{"type": "divider"},
		{"type": "section", "text": plain("pick"), "accessory": obj{"type": "static_select", "action_id": "s", "placeholder": plain("Pick"), "options": options}},
		{"type": "section", "text": plain("more"), "accessory": obj{"type": "overflow", "action_id": "o", "options": options}},
		{"type": "actions", "elements": []obj{
			{"type": "radio_buttons", "action_id": "r", "options": options},
			{"type": "checkboxes", "action_id": "c", "options": options},
			{"type": "datepicker", "action_id": "d", "initial_date": "2026-01-02"},
			{"type": "button", "action_id": "x", "style": "danger", "text": plain("Stop"), "value": "x"},
		}},
		{"type": "rich_text", "elements": []obj{
			{"type": "rich_text_section", "elements": []obj{{"type": "text", "text": "rich", "style": obj{"bold": true}}, {"type": "emoji", "name": "tada"}}},
			{"type": "rich_text_list", "style": "bullet", "elements": []obj{{"type": "rich_text_section", "elements": []obj{{"type": "text", "text": "item"}}}}},
			{"type": "rich_text_quote", "elements": []obj{{"type": "text", "text": "quote"}}},
			{"type": "rich_text_preformatted", "elements": []obj{{"type": "text", "text": "code"}}},
		}},
		{"type": "table", "rows": [][]obj{{{"type": "raw_text", "text": "Pod"}, {"type": "raw_text", "text": "Ready"}}, {{"type": "raw_text", "text": "web-1"}, {"type": "raw_text", "text": "0/1"}}}},
		{"type": "markdown", "text": "## Verdict\n**healthy**"},
		{"type": "image", "image_url": "https://example.org/a.png", "alt_text": "a chart"},
	}
}
