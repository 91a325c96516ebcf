package pagetest

import (
	"net/url"
	"strings"
	"testing"
)

const composer = "#channel .composer textarea"

func button(id, label, style string) obj {
	b := obj{"type": "button", "action_id": id, "text": obj{"type": "plain_text", "text": label}, "value": "r-1"}
	if style != "" {
		b["style"] = style
	}
	return b
}

// board is a run's board as the bot posts it.
func board(state string) []obj {
	return []obj{
		{"type": "header", "block_id": "head", "text": obj{"type": "plain_text", "text": ":test_tube: break-image: a wrong image tag"}},
		{
			"type": "section", "block_id": "facts", "text": obj{"type": "mrkdwn", "text": "Deployment `web` was told to run *nginx:1.99-nope*."},
			"fields": []obj{{"type": "mrkdwn", "text": "*State*\n" + state}, {"type": "mrkdwn", "text": "*Ready*\n2 of 3 Pods"}},
		},
		{"type": "context", "block_id": "note", "elements": []obj{{"type": "mrkdwn", "text": "step 3 of 5 · run `r-1`"}}},
		{"type": "actions", "block_id": "do", "elements": []obj{button("lab.rollback", "Rollback", "primary"), button("lab.hint", "Hint", "")}},
	}
}

func TestCommandToBoardToButton(t *testing.T) {
	a := startApp(t)
	release := make(chan struct{})
	var ts string
	a.answer(func(kind string, payload obj) (any, bool) {
		switch kind {
		case "slash_commands":
			ts = a.say(obj{"text": "break-image", "blocks": board("waiting")})
			return obj{"text": "Starting *break-image*"}, true
		case "block_actions":
			<-release
			a.api("chat.update", obj{"channel": a.class, "ts": ts, "text": "break-image", "blocks": board("verified")})
		}
		return nil, true
	})
	p := open(t, a, laptop)
	p.see(".chip", "/lab break-image")

	p.write(composer, "/")
	p.see(".complete-item.active", "[help|list|SCENARIO]")
	p.key(tabKey)
	p.write(composer, "br")
	p.see(".complete-item", "A wrong image tag")
	p.snap("completion")
	p.key(tabKey)
	p.wait(`document.querySelector("` + composer + `").value === "/lab break-image"`)
	p.key(enter)
	p.see(".block.header", "break-image: a wrong image tag")
	p.see(".msg.ephemeral", "Starting break-image")
	p.see(".msg.ephemeral", "Only visible to you")
	if got := a.payloads()[0]["text"]; got != "break-image" {
		t.Errorf("the app got the command text %q, want break-image", got)
	}
	p.wait(`document.querySelector("` + composer + `").value === ""`)
	p.snap("board")

	// The elements are marked: an edit has to keep those it does not change.
	p.eval(`document.querySelectorAll(".msg, [data-block]").forEach((el) => { el.marked = true; })`)
	p.click(`button[data-action="lab.rollback"]`)
	p.wait(`document.querySelector(".act.busy button")?.getAttribute("aria-busy") === "true"`)
	p.eval(`document.querySelector('button[data-action="lab.rollback"]').click()`)
	close(release)
	p.see(".field", "verified")
	p.gone(".act.busy")
	if !p.is(`document.querySelector('[data-block="head"]').marked && document.querySelector('[data-block="do"]').marked`) {
		t.Error("blocks that did not change were drawn anew")
	}
	if p.is(`document.querySelector('[data-block="facts"]').marked`) {
		t.Error("the changed section is still the old element")
	}
	clicks := 0
	for _, payload := range a.payloads() {
		if payload["type"] == "block_actions" {
			clicks++
		}
	}
	if clicks != 1 {
		t.Errorf("two presses in a row sent %d interactions, want 1", clicks)
	}
}

func TestSilentApp(t *testing.T) {
	a := startApp(t)
	a.say(obj{"text": "board", "blocks": board("waiting")})
	a.answer(func(string, obj) (any, bool) { return nil, false })
	p := open(t, a, laptop)
	p.write(composer, "/lab status ")
	p.key(enter)
	p.see(".msg.ephemeral", "operation_timeout")
	p.see(".msg.ephemeral .author", "Slackbot")
	p.click(`button[data-action="lab.hint"]`)
	p.wait(`document.querySelector(".act-failed")`)
	p.snap("failed")
	a.answer(func(string, obj) (any, bool) { return nil, true })
	p.click(`button[data-action="lab.hint"]`)
	p.gone(".act-failed")
}

func question() obj {
	option := func(v string) obj {
		return obj{"text": obj{"type": "plain_text", "text": "Answer " + v}, "value": v}
	}
	return obj{
		"type": "modal", "callback_id": "quiz", "title": obj{"type": "plain_text", "text": "Question 3 of 5"},
		"submit": obj{"type": "plain_text", "text": "Answer"}, "close": obj{"type": "plain_text", "text": "Later"},
		"blocks": []obj{
			{"type": "section", "block_id": "q", "text": obj{"type": "mrkdwn", "text": "Which object says *why* first?"}},
			{
				"type": "input", "block_id": "pick", "label": obj{"type": "plain_text", "text": "Your answer"},
				"element": obj{"type": "radio_buttons", "action_id": "answer", "options": []obj{option("a"), option("b")}},
			},
			{
				"type": "input", "block_id": "why", "label": obj{"type": "plain_text", "text": "Why?"}, "hint": obj{"type": "plain_text", "text": "One sentence."},
				"element": obj{"type": "plain_text_input", "action_id": "text", "multiline": true},
			},
			{
				"type": "input", "block_id": "sure", "optional": true, "label": obj{"type": "plain_text", "text": "How sure?"},
				"element": obj{"type": "static_select", "action_id": "level", "options": []obj{option("sure"), option("guess")}},
			},
		},
	}
}

func openQuestion(a *app) func(string, obj) (any, bool) {
	return func(kind string, payload obj) (any, bool) {
		if kind == "block_actions" && payload["view"] == nil {
			a.api("views.open", obj{"trigger_id": payload["trigger_id"], "view": question()})
		}
		return nil, true
	}
}

func TestModalErrorThenSuccess(t *testing.T) {
	a := startApp(t)
	a.say(obj{"text": "board", "blocks": board("waiting")})
	refused := false
	open1 := openQuestion(a)
	a.answer(func(kind string, payload obj) (any, bool) {
		if kind == "view_submission" && !refused {
			refused = true
			return obj{"response_action": "errors", "errors": obj{"why": "Say why in a sentence."}}, true
		}
		return open1(kind, payload)
	})
	p := open(t, a, laptop)
	p.click(`button[data-action="lab.hint"]`)
	p.see(".modal h2", "Question 3 of 5")
	p.wait(`document.activeElement.closest(".modal") !== null`)
	p.snap("modal")

	p.click(".modal button[type=submit]") // empty: the form itself refuses
	p.wait(`document.querySelectorAll(".modal .input-error").length === 2`)
	p.click(`.modal input[value="b"]`)
	p.write(".modal textarea", "because")
	p.click(".modal .select")
	p.see(".menu-item", "Answer guess")
	p.eval(`[...document.querySelectorAll(".menu-item")].find((el) => el.textContent.includes("guess")).click()`)
	p.see(".modal .select", "Answer guess")
	p.click(".modal button[type=submit]")
	p.see(".modal .input-error", "Say why in a sentence.")
	if !p.is(`document.querySelector('.modal input[value="b"]').checked && document.querySelector(".modal textarea").value === "because"`) {
		t.Error("a refused form lost what was typed")
	}
	p.snap("errors")
	p.write(".modal textarea", " of its conditions")
	p.click(".modal button[type=submit]")
	p.gone(".modal")

	var last obj
	for _, payload := range a.payloads() {
		if payload["type"] == "view_submission" {
			last = payload
		}
	}
	values := last["view"].(obj)["state"].(obj)["values"].(obj)
	if got := values["why"].(obj)["text"].(obj)["value"]; got != "because of its conditions" {
		t.Errorf("why = %q", got)
	}
	if got := values["pick"].(obj)["answer"].(obj)["selected_option"].(obj)["value"]; got != "b" {
		t.Errorf("answer = %q, want b", got)
	}
	if got := values["sure"].(obj)["level"].(obj)["selected_option"].(obj)["value"]; got != "guess" {
		t.Errorf("level = %q, want guess", got)
	}
}

func TestModalKeyboardAndLiveUpdate(t *testing.T) {
	a := startApp(t)
	a.say(obj{"text": "board", "blocks": board("waiting")})
	a.answer(openQuestion(a))
	p := open(t, a, laptop)
	p.click(`button[data-action="lab.hint"]`)
	p.see(".modal h2", "Question 3 of 5")
	p.write(".modal textarea", "half a thought")

	var views []obj
	a.get("views?user=amir", &views)
	next := question()
	next["title"] = obj{"type": "plain_text", "text": "Question 3, 10 s left"}
	a.api("views.update", obj{"view_id": views[0]["id"], "view": next})
	p.see(".modal h2", "10 s left")
	if !p.is(`document.querySelector(".modal textarea").value === "half a thought" && document.activeElement.matches(".modal textarea")`) {
		t.Error("views.update took the text or the focus away")
	}
	for range 12 {
		p.key(tabKey)
		if !p.is(`document.activeElement.closest(".modal")`) {
			t.Fatal("Tab left the dialog")
		}
	}
	p.key(escape)
	p.gone(".modal")
	a.until("no view open after Escape", func() bool {
		a.get("views?user=amir", &views)
		return len(views) == 0
	})
	if !p.is(`document.activeElement.matches('button[data-action="lab.hint"]')`) {
		t.Error("the focus did not return to the button that opened the dialog")
	}
}

func TestScrollStaysUnderAReader(t *testing.T) {
	a := startApp(t)
	var first string
	for i := range 60 {
		ts := a.say(obj{"text": "line " + strings.Repeat("word ", 1+i%20)})
		if i == 0 {
			first = ts
		}
	}
	p := open(t, a, laptop)
	const scroller = `document.querySelector("#channel .list-scroll")`
	p.wait(scroller + `.scrollHeight - ` + scroller + `.scrollTop - ` + scroller + `.clientHeight < 2`)
	a.say(obj{"text": "at the foot"})
	p.see(".msg", "at the foot")
	p.wait(scroller + `.scrollHeight - ` + scroller + `.scrollTop - ` + scroller + `.clientHeight < 2`)

	p.eval(scroller + `.scrollTop = 600; window.top0 = [...document.querySelectorAll("#channel .msg")].find((el) => el.getBoundingClientRect().top > 120); window.y0 = top0.getBoundingClientRect().top`)
	p.wait(scroller + `.scrollTop === 600`)
	a.api("chat.update", obj{"channel": a.class, "ts": first, "text": strings.Repeat("much longer than before ", 60)})
	p.see(".msg", "much longer")
	a.say(obj{"text": "meanwhile"})
	p.wait(`!document.querySelector("#channel .new-pill").hidden`)
	if !p.is(`Math.abs(top0.getBoundingClientRect().top - y0) < 2`) {
		t.Error("the text moved under the reader")
	}
	p.see(".edited-mark", "(edited)")
	p.click("#channel .new-pill")
	p.wait(scroller + `.scrollHeight - ` + scroller + `.scrollTop - ` + scroller + `.clientHeight < 2`)
}

func TestThreadPane(t *testing.T) {
	a := startApp(t)
	root := a.say(obj{"text": "board", "blocks": board("waiting")})
	a.say(obj{"text": "evidence one\n```kubectl get pods```", "thread_ts": root})
	p := open(t, a, laptop)
	p.see(".reply-bar", "1 reply")
	p.click(".reply-bar")
	p.see("#pane .msg", "evidence one")
	a.say(obj{"text": "evidence two", "thread_ts": root})
	p.see("#pane .msg", "evidence two")
	p.see(".reply-bar", "2 replies")
	p.see("#pane .count-line", "2 replies")

	const reply = "#pane .composer textarea"
	p.write(reply, "/lab status ")
	p.key(enter)
	p.see("#pane, #channel", "is not supported in threads")
	p.snap("refused")
	p.eval(`document.querySelector("` + reply + `").value = ""`)
	p.write(reply, "@labbot status")
	p.key(enter)
	p.see("#pane .mention", "@labbot")
	p.wait(`location.hash.includes("/t` + root + `")`)
	p.key(escape)
	p.wait(`document.querySelector("#pane").hidden`)
	p.click(`[data-item="threads"]`)
	p.see("#pane .result", "3 replies")
	p.click("#pane .result")
	p.see("#pane .msg", "evidence two")
}

func TestViewpoint(t *testing.T) {
	a := startApp(t)
	a.api("chat.postEphemeral", obj{"channel": a.class, "user": userID(a, "amir"), "text": "for Amir alone"})
	p := open(t, a, laptop)
	p.see(".person-name", "Amir (Learner)")
	p.see(".msg.ephemeral", "for Amir alone")
	p.click(".side-foot .person")
	p.see(".menu-item", "Irina Volkova")
	p.snap("people")
	p.eval(`[...document.querySelectorAll(".menu-item")].find((el) => el.textContent.includes("Irina")).click()`)
	p.see(".person-name", "Irina (Instructor)")
	p.gone(".msg.ephemeral")
	p.wait(`location.hash.includes("as=irina")`)
	p.eval(`window.old = true; location.reload()`)
	p.wait(`!window.old && document.body?.classList.contains("ready")`)
	p.see(".person-name", "Irina (Instructor)")
	p.write(composer, "good morning")
	p.key(enter)
	p.see(".msg .author", "Irina Volkova")
	p.see(".msg .badge", "Instructor")
}

func userID(a *app, name string) string {
	var users []obj
	a.get("users", &users)
	for _, u := range users {
		if u["name"] == name {
			return u["id"].(string)
		}
	}
	a.t.Fatalf("no person %q", name)
	return ""
}

func TestHostileText(t *testing.T) {
	a := startApp(t)
	hostile := "<script>alert(1)</script> &lt;img src=x onerror=alert(2)&gt; <javascript:alert(3)|click> \u202Egnp.exe \u2067rtl <https://example.org/\"onmouseover=alert(4)|label> *_~`"
	a.say(obj{"text": hostile})
	a.say(obj{"text": "fallback", "blocks": []obj{
		{"type": "header", "text": obj{"type": "plain_text", "text": "<b>&lt;i&gt;"}},
		{"type": "section", "text": obj{"type": "mrkdwn", "text": "```" + strings.Repeat("&lt;svg onload=alert(5)&gt;", 40) + "```"}},
		{"type": "image", "image_url": "https://example.org/pixel.png", "alt_text": "\"><script>alert(6)</script>"},
		{"type": "rich_text", "elements": []obj{{"type": "rich_text_section", "elements": []obj{{"type": "link", "url": "javascript:alert(7)", "text": "no"}}}}},
	}})
	p := open(t, a, laptop)
	p.see(".block.header", "<b>")
	p.see(".msg", "<img src=x onerror=alert(2)>")
	if p.is(`document.querySelector(".msg script, .msg img, .msg svg[onload], .msg b, .msg i, .msg [onmouseover]")`) {
		t.Error("text of a message became an element")
	}
	if p.is(`[...document.querySelectorAll(".msg a")].some((el) => !/^(https?:|mailto:|#)/.test(el.getAttribute("href")))`) {
		t.Error("a link with a forbidden scheme was made")
	}
	if !p.is(`[...document.querySelectorAll(".author")].every((el) => el.tagName === "BDI")`) {
		t.Error("a name is not isolated in its direction")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	home, err := url.Parse(a.space.URL())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range p.requests {
		if u, err := url.Parse(r); err != nil || (u.Scheme != "data" && u.Scheme != "blob" && u.Host != home.Host) {
			t.Errorf("the page asked for %s", r)
		}
	}
}

func TestPhone(t *testing.T) {
	a := startApp(t)
	root := a.say(obj{"text": "board", "blocks": board("waiting")})
	a.say(obj{"text": "evidence ```" + strings.Repeat("very-long-word", 20) + "```", "thread_ts": root})
	p := open(t, a, phone)
	p.see(".block.header", "break-image")
	fits := `document.documentElement.scrollWidth <= innerWidth && [...document.querySelectorAll("#channel .list-scroll, #pane .list-scroll")].every((el) => el.scrollWidth <= el.clientWidth)`
	if !p.is(fits) {
		t.Error("the channel is wider than the phone")
	}
	p.snap("channel")
	p.click(".reply-bar")
	p.see("#pane .msg", "evidence")
	p.wait(`document.querySelector("#pane").getBoundingClientRect().width === innerWidth`)
	if !p.is(fits) {
		t.Error("the thread is wider than the phone")
	}
	p.snap("thread")
	p.click("#pane .pane-head .icon-btn")
	p.wait(`document.querySelector("#pane").hidden`)
	p.click("#channel .channel-head .icon-btn")
	p.wait(`document.querySelector("#sidebar").getBoundingClientRect().width === innerWidth`)
	p.snap("list")
	p.click(`[data-channel="` + a.class + `"]`)
	p.wait(`document.querySelector("#channel").getBoundingClientRect().width === innerWidth`)
}

func TestLinksUnreadAndSearch(t *testing.T) {
	a := startApp(t)
	target := a.say(obj{"text": "the needle is here"})
	for range 50 {
		a.say(obj{"text": "hay"})
	}
	root := a.say(obj{"text": "root of a thread"})
	reply := a.say(obj{"text": "the other needle", "thread_ts": root})

	link := a.api("chat.getPermalink", obj{"channel": a.class, "message_ts": target})["permalink"].(string)
	u, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	p := open(t, a, look{width: 1280, height: 800, path: u.RequestURI()})
	p.wait(`document.querySelector(".msg.lit")?.textContent.includes("the needle is here")`)

	q := open(t, a, look{width: 1280, height: 800, path: "/#/" + a.class + "/t" + root + "/" + reply})
	q.wait(`document.querySelector("#pane .msg.lit")?.textContent.includes("the other needle")`)

	var channels []obj
	a.get("channels", &channels)
	other := channels[1]["id"].(string)
	a.person("message", obj{"user": "irina", "channel": other, "text": "look here <@amir>, @amir"})
	q.wait(`document.querySelector('[data-channel="` + other + `"]').classList.contains("unread")`)
	q.see(`[data-channel="`+other+`"] .count`, "1")
	q.click(`[data-channel="` + other + `"]`)
	q.see("#channel .msg", "look here")
	q.wait(`!document.querySelector('[data-channel="` + other + `"]').classList.contains("unread")`)

	q.click(`[data-channel="` + a.class + `"]`)
	q.click(".top-search")
	q.write("#pane input[type=search]", "needle")
	q.see("#pane .pane-none", "2 results")
	q.snap("search")
	q.eval(`[...document.querySelectorAll("#pane .result")].find((el) => el.textContent.includes("the needle")).click()`)
	q.wait(`document.querySelector("#channel .msg.lit")?.textContent.includes("the needle is here")`)
}

func TestConnectionIsShown(t *testing.T) {
	a := startApp(t)
	p := open(t, a, laptop)
	p.see(".link-state.on", "is connected")
	a.person("disconnect", obj{"reason": "link_disabled", "socket": 0})
	p.see(".link-state.off", "is not connected")
	p.write(composer, "/lab status ")
	p.key(enter)
	p.see(".msg.ephemeral", "dispatch_failed")
}
