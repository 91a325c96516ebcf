package workspace

import (
	"strings"
	"testing"
	"time"
)

const oneView = `{"type":"modal","title":{"type":"plain_text","text":"T"},"blocks":[{"type":"divider"}]}`

func form(title string) string {
	return `{"type":"modal","notify_on_close":true,"title":{"type":"plain_text","text":"` + title + `"},"submit":{"type":"plain_text","text":"OK"},"blocks":[
	{"type":"input","block_id":"q","label":{"type":"plain_text","text":"L"},"element":{"type":"plain_text_input","action_id":"a","initial_value":"first"}}]}`
}

// newTriggerFor gives a trigger as an act of that person would.
func newTriggerFor(s *Server, user string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.newTrigger(s.person(user).ID)
}

func TestTriggers(t *testing.T) {
	now := newClock()
	s := start(t, func(o *Options) { o.Clock = now.now })
	used := newTriggerFor(s, "amir")
	s.must(t, "views.open", "trigger_id", used, "view", oneView)
	for name, c := range map[string]struct {
		trigger, want string
		wait          time.Duration
	}{
		"spent":     {used, "exchanged_trigger_id", 0},
		"form":      {"abc", "invalid_trigger_id", 0},
		"unknown":   {"1.2.abcdef", "invalid_trigger_id", 0},
		"just in 3": {newTriggerFor(s, "amir"), "", 3 * time.Second},
		"late":      {newTriggerFor(s, "amir"), "expired_trigger_id", 3*time.Second + time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			if c.wait > 0 {
				c.trigger = newTriggerFor(s, "amir")
				now.advance(c.wait)
			}
			o := s.api(t, "views.open", "trigger_id", c.trigger, "view", oneView)
			if got, _ := o["error"].(string); got != c.want {
				t.Errorf("error = %q, want %q", got, c.want)
			}
		})
	}
}

func TestViewErrors(t *testing.T) {
	s := start(t)
	set := func(field, value string) string {
		return strings.Replace(oneView, `"type":"modal"`, `"type":"modal","`+field+`":`+value, 1)
	}
	quoted := func(n int) string { return `"` + strings.Repeat("x", n) + `"` }
	for _, c := range []struct{ name, view, want string }{
		{"good", oneView, ""},
		{"private_metadata 3000", set("private_metadata", quoted(3000)), ""},
		{"private_metadata 3001", set("private_metadata", quoted(3001)), "invalid_arguments"},
		{"callback_id 255", set("callback_id", quoted(255)), ""},
		{"callback_id 256", set("callback_id", quoted(256)), "invalid_arguments"},
		{"title 25", strings.Replace(oneView, `"T"`, quoted(25), 1), "invalid_arguments"},
		{"title 24", strings.Replace(oneView, `"T"`, quoted(24), 1), ""},
		{"close 25", set("close", `{"type":"plain_text","text":`+quoted(25)+`}`), "invalid_arguments"},
		{"no blocks", strings.Replace(oneView, `[{"type":"divider"}]`, `[]`, 1), "invalid_arguments"},
		{"101 blocks", strings.Replace(oneView, `[{"type":"divider"}]`, times(101, `{"type":"divider"}`), 1), "invalid_arguments"},
		{"no submit", strings.Replace(form("T"), `"submit":{"type":"plain_text","text":"OK"},`, "", 1), "invalid_arguments"},
		{"home by views.open", strings.Replace(oneView, "modal", "home", 1), "invalid_arguments"},
		{"not JSON", "{", "invalid_arguments"},
		{"too large", set("private_metadata", quoted(250_001)), "view_too_large"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := s.api(t, "views.open", "trigger_id", newTriggerFor(s, "lena"), "view", c.view)
			if got, _ := o["error"].(string); got != c.want {
				t.Errorf("error = %q, want %q: %.300v", got, c.want, o)
			}
			if c.want == "invalid_arguments" && !strings.HasPrefix(inside(o, "response_metadata.messages.0").(string), "[ERROR] ") {
				t.Errorf("no message: %v", o)
			}
		})
	}
}

func TestViewStackAndHash(t *testing.T) {
	s := start(t)
	open := s.must(t, "views.open", "trigger_id", newTriggerFor(s, "amir"), "view", strings.Replace(form("1"), `"type":"modal"`, `"type":"modal","external_id":"e1"`, 1))
	root := inside(open, "view.id").(string)
	if o := s.api(t, "views.push", "trigger_id", newTriggerFor(s, "amir"), "view", strings.Replace(oneView, `"type":"modal"`, `"type":"modal","external_id":"e1"`, 1)); o["error"] != "duplicate_external_id" {
		t.Errorf("second e1: %v", o)
	}
	s.must(t, "views.push", "trigger_id", newTriggerFor(s, "amir"), "view", oneView)
	third := s.must(t, "views.push", "trigger_id", newTriggerFor(s, "amir"), "view", oneView)
	if inside(third, "view.root_view_id") != root || inside(third, "view.previous_view_id") == nil {
		t.Errorf("third = %v", third)
	}
	if o := s.api(t, "views.push", "trigger_id", newTriggerFor(s, "amir"), "view", oneView); o["error"] != "push_limit_reached" {
		t.Errorf("fourth: %v", o)
	}
	if o := s.api(t, "views.push", "trigger_id", newTriggerFor(s, "lena"), "view", oneView); o["error"] != "not_found" {
		t.Errorf("push on nothing: %v", o)
	}
	hash := inside(open, "view.hash").(string)
	up := s.must(t, "views.update", "external_id", "e1", "hash", hash, "view", form("2"))
	if inside(up, "view.hash") == hash {
		t.Error("the hash did not change")
	}
	if o := s.api(t, "views.update", "view_id", root, "hash", hash, "view", form("3")); o["error"] != "hash_conflict" {
		t.Errorf("stale hash: %v", o)
	}
	s.must(t, "views.update", "view_id", root, "view", form("3"))
	s.do(t, "close", obj{"user": "amir", "view_id": root, "clear": true})
	if o := s.api(t, "views.update", "view_id", root, "view", form("4")); o["error"] != "not_found" {
		t.Errorf("closed view: %v", o)
	}
}

// submitted presses Submit and answers the submission with that ack payload.
func submitted(t *testing.T, s *Server, c *raw, vid, payload string) (obj, obj) {
	t.Helper()
	res := later(func() obj {
		o, _ := s.act(t, "submit", obj{"user": "amir", "view_id": vid, "values": obj{"a": "typed"}})
		return o
	})
	f := c.next()
	c.ack(f, payload)
	return <-res, f
}

func TestSubmissionAnswers(t *testing.T) {
	s := start(t)
	c := s.dial(t)
	open := func() string {
		return inside(s.must(t, "views.open", "trigger_id", newTriggerFor(s, "amir"), "view", form("1")), "view.id").(string)
	}
	for _, k := range []struct {
		name, payload, action, err string
		left                       int
	}{
		{"empty closes", "", "close", "", 0},
		{"clear", `{"response_action":"clear"}`, "clear", "", 0},
		{"update", `{"response_action":"update","view":` + oneView + `}`, "update", "", 1},
		{"push", `{"response_action":"push","view":` + oneView + `}`, "push", "", 2},
		{"bad view", `{"response_action":"update","view":{"type":"modal"}}`, "", "invalid_response", 1},
		{"unknown action", `{"response_action":"dance"}`, "", "invalid_response", 1},
		{"errors on an unknown block", `{"response_action":"errors","errors":{"zz":"no"}}`, "", "invalid_response", 1},
		{"no errors in errors", `{"response_action":"errors"}`, "", "invalid_response", 1},
	} {
		t.Run(k.name, func(t *testing.T) {
			o, f := submitted(t, s, c, open(), k.payload)
			action, _ := o["action"].(string)
			code, _ := o["error"].(string)
			if action != k.action || code != k.err {
				t.Errorf("answer = %v, want action %q, error %q", o, k.action, k.err)
			}
			if got := inside(f, "payload.view.state.values.q.a.value"); got != "typed" {
				t.Errorf("submitted value = %v", got)
			}
			if n := len(s.read(t, "views?user=amir")); n != k.left {
				t.Errorf("%d views open, want %d", n, k.left)
			}
		})
	}
}

func TestStateStaysWithItsIDs(t *testing.T) {
	s := start(t)
	c := s.dial(t)
	vid := inside(s.must(t, "views.open", "trigger_id", newTriggerFor(s, "amir"), "view", form("1")), "view.id").(string)
	submitted(t, s, c, vid, `{"response_action":"errors","errors":{"q":"no"}}`)
	o := s.must(t, "views.update", "view_id", vid, "view", form("2"))
	if got := inside(o, "view.state.values.q.a.value"); got != "typed" {
		t.Errorf("same ids: %v", got)
	}
	o = s.must(t, "views.update", "view_id", vid, "view", strings.Replace(form("2"), `"q"`, `"q2"`, 1))
	if got := inside(o, "view.state.values.q2.a.value"); got != "first" {
		t.Errorf("new block_id: %v, want the initial value", got)
	}
}

func TestHome(t *testing.T) {
	home := strings.Replace(oneView, "modal", "home", 1)
	s := start(t)
	amir := s.person("amir").ID
	first := s.must(t, "views.publish", "user_id", amir, "view", home)
	s.must(t, "views.publish", "user_id", amir, "view", home, "hash", inside(first, "view.hash").(string))
	if o := s.api(t, "views.publish", "user_id", amir, "view", home, "hash", inside(first, "view.hash").(string)); o["error"] != "hash_conflict" {
		t.Errorf("stale: %v", o)
	}
	off := start(t, func(o *Options) { o.App.NoHome = true })
	if o := off.api(t, "views.publish", "user_id", amir, "view", home); o["error"] != "not_enabled" {
		t.Errorf("home off: %v", o)
	}
}

func TestClickValuesAndSelects(t *testing.T) {
	s := start(t)
	c := s.dial(t)
	ts := s.must(t, "chat.postMessage", "channel", s.class(), "text", "x", "blocks", `[{"type":"actions","block_id":"b","elements":[
		{"type":"button","action_id":"go","text":{"type":"plain_text","text":"Go"},"value":"v1"},
		{"type":"static_select","action_id":"pick","options":[`+option(1, 1)+`]}]}]`)["ts"].(string)
	click := func(more obj) (obj, int) {
		body := obj{"user": "amir", "channel": s.class(), "ts": ts}
		for k, v := range more {
			body[k] = v
		}
		return s.act(t, "click", body)
	}
	if o, status := click(obj{"action_id": "go", "value": "old"}); status != 409 || o["error"] != "value_mismatch" {
		t.Errorf("old value: %d %v", status, o)
	}
	if o, status := click(obj{"action_id": "nope"}); status != 404 || o["error"] != "action_not_found" {
		t.Errorf("no such action: %d %v", status, o)
	}
	if o, status := click(obj{"action_id": "pick", "selected_option": "zz"}); status != 400 || o["error"] != "invalid_option" {
		t.Errorf("no such option: %d %v", status, o)
	}
	res := later(func() obj { o, _ := click(obj{"action_id": "pick", "selected_option": long(1)}); return o })
	f := c.next()
	c.ack(f, "")
	<-res
	if inside(f, "payload.actions.0.selected_option.value") != long(1) || inside(f, "payload.state.values.b.pick.selected_option.value") != long(1) {
		t.Errorf("payload = %v", f["payload"])
	}
}
