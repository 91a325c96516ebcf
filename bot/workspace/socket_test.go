package workspace

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

func TestTwoSocketsShare(t *testing.T) {
	s := start(t)
	a, b := s.dial(t), s.dial(t)
	for range 4 {
		s.do(t, "message", obj{"user": "amir", "channel": "k8s-fundamentals", "text": "@labbot hi"})
	}
	ids := map[any]bool{}
	for _, c := range []*raw{a, b} {
		for range 2 {
			f := c.next()
			ids[f["envelope_id"]] = true
			c.ack(f, "")
		}
	}
	if len(ids) != 4 {
		t.Errorf("%d different envelopes over both sockets, want 4", len(ids))
	}
	eventually(t, "all are acked", func() bool {
		return !slices.ContainsFunc(s.read(t, "envelopes"), func(e obj) bool { return e["acked"] != true })
	})
}

func TestEventRetries(t *testing.T) {
	s := start(t, func(o *Options) {
		o.Timing.Ack = 20 * time.Millisecond
		o.Timing.Retries = [3]time.Duration{time.Nanosecond, time.Millisecond, 2 * time.Millisecond}
	})
	c := s.dial(t)
	s.do(t, "message", obj{"user": "amir", "channel": "k8s-fundamentals", "text": "@labbot hi"})
	var event any
	for want := range 4 {
		f := c.next()
		if n, _ := f["retry_attempt"].(float64); int(n) != want {
			t.Fatalf("retry_attempt = %v, want %d", f["retry_attempt"], want)
		}
		if reason := map[bool]string{true: "timeout"}[want > 0]; f["retry_reason"] != reason {
			t.Errorf("retry_reason = %v, want %q", f["retry_reason"], reason)
		}
		if event == nil {
			event = inside(f, "payload.event_id")
		}
		if inside(f, "payload.event_id") != event {
			t.Error("a retry must keep event_id")
		}
	}
	eventually(t, "it is given up", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return len(s.pending) == 0 })
}

func TestEventsWaitForASocket(t *testing.T) {
	s := start(t)
	s.do(t, "message", obj{"user": "amir", "channel": "k8s-fundamentals", "text": "@labbot hi"})
	c := s.dial(t)
	if f := c.next(); inside(f, "payload.event.type") != "app_mention" {
		t.Errorf("frame = %v", f)
	}
}

func TestDroppedSocketRepeats(t *testing.T) {
	s := start(t)
	a := s.dial(t)
	res := later(func() obj {
		o, _ := s.act(t, "command", obj{"user": "amir", "channel": "general", "text": "/lab list"})
		return o
	})
	first := a.next()
	a.conn.CloseNow() //nolint:errcheck // dropped on purpose
	b := s.dial(t)
	again := b.next()
	if again["envelope_id"] != first["envelope_id"] {
		t.Errorf("repeated as %v, want the same envelope_id %v", again["envelope_id"], first["envelope_id"])
	}
	b.ack(again, "")
	if o := <-res; o["ok"] != true {
		t.Errorf("command = %v", o)
	}
}

func TestAckFrameLimit(t *testing.T) {
	for _, c := range []struct {
		size  int
		close bool
	}{{ackLimit, false}, {ackLimit + 1, true}} {
		s := start(t)
		conn := s.dial(t)
		res := later(func() obj {
			o, _ := s.act(t, "command", obj{"user": "amir", "channel": "general", "text": "/lab x"})
			return o
		})
		id := conn.next()["envelope_id"].(string)
		head := `{"envelope_id":"` + id + `","payload":{"text":"`
		conn.write(head + strings.Repeat("x", c.size-len(head)-3) + `"}}`)
		if !c.close {
			if o := <-res; o["ok"] != true {
				t.Errorf("%d bytes: %v", c.size, o["error"])
			}
			continue
		}
		if _, err := conn.read(); websocket.CloseStatus(err) != websocket.StatusMessageTooBig {
			t.Errorf("%d bytes: %v, want close 1009", c.size, err)
		}
		conn = s.dial(t)
		conn.ack(conn.next(), "") // delivered again on reconnect
		if o := <-res; o["ok"] != true {
			t.Errorf("after the reconnect: %v", o)
		}
	}
}

func TestCommandFailures(t *testing.T) {
	s := start(t, func(o *Options) { o.Timing.Ack = 30 * time.Millisecond })
	say := func(want, text string, more obj) {
		t.Helper()
		body := obj{"user": "amir", "channel": "k8s-fundamentals", "text": text}
		for k, v := range more {
			body[k] = v
		}
		o, status := s.act(t, "command", body)
		if o["error"] != want || status != 200 {
			t.Errorf("%q: %v, want %s", text, o, want)
		}
	}
	say("dispatch_failed", "/lab help", nil)
	c := s.dial(t)
	say("operation_timeout", "/lab help", nil)
	say("unknown_command", "/nope", nil)
	c.next()
	ts := s.must(t, "chat.postMessage", "channel", s.class(), "text", "root")["ts"]
	say("command_in_thread", "/lab help", obj{"thread_ts": ts})
	told := s.read(t, "messages?channel=k8s-fundamentals&as=amir")
	if !slices.ContainsFunc(told, func(m obj) bool {
		return m["text"] == `/lab failed with the error "operation_timeout"` && m["user"] == slackbotID
	}) {
		t.Errorf("the person is not told: %v", told)
	}
	thread := s.read(t, "messages?channel=k8s-fundamentals&as=amir&thread_ts="+ts.(string))
	if last := thread[len(thread)-1]; last["text"] != "/lab is not supported in threads. Sorry!" {
		t.Errorf("thread = %v", thread)
	}
}

func TestDisconnectFrames(t *testing.T) {
	s := start(t, func(o *Options) { o.Timing.Warning = 20 * time.Millisecond })
	for _, reason := range []string{"warning", "refresh_requested", "link_disabled"} {
		c := s.dial(t)
		s.do(t, "disconnect", obj{"reason": reason})
		if f := c.next(); f["type"] != "disconnect" || f["reason"] != reason {
			t.Errorf("frame = %v", f)
		}
		if _, err := c.read(); err == nil {
			t.Errorf("%s: the socket stays open", reason)
		}
	}
}

func TestTicketsAndSocketLimit(t *testing.T) {
	s := start(t)
	for range maxSockets {
		s.dial(t)
	}
	s.mu.Lock()
	o, _ := connectionsOpen(s, appCall{})
	s.mu.Unlock()
	conn, _, err := websocket.Dial(t.Context(), o["url"].(string), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow() //nolint:errcheck // the end
	_, data, err := conn.Read(t.Context())
	if err != nil || !strings.Contains(string(data), "too_many_websockets") {
		t.Errorf("eleventh socket: %s, %v", data, err)
	}
	if _, r, err := websocket.Dial(t.Context(), o["url"].(string), nil); err == nil || r.StatusCode != http.StatusForbidden {
		t.Error("a ticket works twice")
	}
}

// The samples of each envelope say which fields an app may count on.
func TestEnvelopesHaveTheFieldsOfTheSamples(t *testing.T) {
	s := start(t, func(o *Options) {
		o.App.Events = []string{"app_mention", "app_home_opened", "member_joined_channel", "message.channels"}
	})
	c := s.dial(t)
	in := obj{"user": "amir", "channel": "k8s-fundamentals"}
	with := func(more obj) obj {
		o := cloneObject(in)
		for k, v := range more {
			o[k] = v
		}
		return o
	}
	got := map[string]obj{}
	next := func(name string) obj {
		f := c.next()
		c.ack(f, "")
		got[name] = f
		return f
	}
	async := func(path string, body obj) { later(func() obj { o, _ := s.act(t, path, body); return o }) }

	async("command", with(obj{"text": "/lab x"}))
	trigger := inside(next("03_slash_command"), "payload.trigger_id").(string)
	view := `{"type":"modal","callback_id":"quiz.answer","notify_on_close":true,"title":` + plainJSON(3) + `,"submit":` + plainJSON(3) + `,"close":` + plainJSON(3) + `,"blocks":[
		{"type":"input","block_id":"q","label":` + plainJSON(3) + `,"element":{"type":"radio_buttons","action_id":"answer","options":[` + option(1, 1) + `]}},
		{"type":"actions","block_id":"nav","elements":[{"type":"button","action_id":"skip","text":` + plainJSON(3) + `,"value":"3"}]}]}`
	vid := inside(s.must(t, "views.open", "trigger_id", trigger, "view", view), "view.id").(string)
	async("click", obj{"user": "amir", "view_id": vid, "action_id": "skip"})
	next("05_block_actions_modal")
	async("close", obj{"user": "amir", "view_id": vid})
	next("07_view_closed")
	async("command", with(obj{"text": "/lab x"}))
	vid = inside(s.must(t, "views.open", "trigger_id", inside(next("03_slash_command"), "payload.trigger_id").(string), "view", view), "view.id").(string)
	async("submit", obj{"user": "amir", "view_id": vid, "values": obj{"answer": long(1)}})
	next("06_view_submission")

	root := s.must(t, "chat.postMessage", "channel", s.class(), "text", "x")["ts"].(string)
	c.ack(c.next(), "")
	ts := s.must(t, "chat.postMessage", "channel", s.class(), "text", "x", "thread_ts", root, "blocks", "["+actions(`{"type":"button","action_id":"hint","text":`+plainJSON(3)+`,"value":"v"}`)+"]")["ts"].(string)
	c.ack(c.next(), "")
	async("click", with(obj{"ts": ts, "action_id": "hint"}))
	next("04_block_actions_message")
	async("message", with(obj{"text": "@labbot x", "thread_ts": root}))
	next("08_event_app_mention")
	next("09_event_message_retry")
	async("home", in)
	next("11_event_app_home_opened")

	for name, f := range got {
		raw, err := os.ReadFile(filepath.Join("testdata", "envelopes", name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var sample obj
		if err := json.Unmarshal(raw, &sample); err != nil {
			t.Fatal(err)
		}
		if missing := missingFields(sample, f, ""); len(missing) > 0 {
			t.Errorf("%s lacks %v", name, missing)
		}
	}
}

// missingFields lists the fields of want that got has not, or has as another
// JSON type; block contents and state differ by nature and are left out.
func missingFields(want, got any, at string) []string {
	w, ok := want.(obj)
	if !ok {
		return nil
	}
	g, ok := got.(obj)
	if !ok {
		return []string{at + " (not an object)"}
	}
	var out []string
	for k, v := range w {
		p := at + "/" + k
		other, has := g[k]
		if k == "blocks" || k == "values" || (k == "view" && strings.HasSuffix(at, "event")) {
			continue
		}
		if !has {
			out = append(out, p)
			continue
		}
		if v != nil && other != nil {
			out = append(out, missingFields(v, other, p)...)
		}
		if list, ok := v.([]any); ok && len(list) > 0 {
			if mine, ok := other.([]any); ok && len(mine) > 0 {
				out = append(out, missingFields(list[0], mine[0], p+"/0")...)
			}
		}
	}
	sort.Strings(out)
	return out
}

func TestWarnedSocketServesUntilAnotherComes(t *testing.T) {
	s := start(t)
	a := s.dial(t)
	s.do(t, "disconnect", obj{"reason": "warning"})
	a.next() // the warning
	say := func() { s.do(t, "message", obj{"user": "amir", "channel": "general", "text": "@labbot hi"}) }
	say()
	a.ack(a.next(), "")
	b := s.dial(t)
	for range 2 {
		say()
		b.ack(b.next(), "")
	}
}

func TestManyCommandsAtOnce(t *testing.T) {
	s := start(t, func(o *Options) { o.Timing.Ack = 10 * time.Second })
	const n = 200
	clients := []*raw{s.dial(t), s.dial(t)}
	seen := make(chan string, 2*n)
	for _, c := range clients {
		go func() {
			for {
				f, err := c.read()
				if err != nil {
					return
				}
				id, _ := f["envelope_id"].(string)
				seen <- id
				if c.conn.Write(t.Context(), websocket.MessageText, []byte(`{"envelope_id":"`+id+`","payload":{"text":"ok"}}`)) != nil {
					return
				}
			}
		}()
	}
	results := make([]<-chan obj, n)
	for i := range results {
		results[i] = later(func() obj {
			o, _ := s.act(t, "command", obj{"user": "amir", "channel": "general", "text": "/lab list"})
			return o
		})
	}
	for _, r := range results {
		if o := <-r; o["ok"] != true {
			t.Fatalf("command: %v", o)
		}
	}
	ids := map[string]bool{}
	for range n {
		ids[<-seen] = true
	}
	if len(ids) != n || len(seen) != 0 {
		t.Errorf("%d envelopes, %d more deliveries, want %d and none", len(ids), len(seen), n)
	}
}

func TestExternalSelectAsksTheApp(t *testing.T) {
	s := start(t)
	c := s.dial(t)
	ts := s.must(t, "chat.postMessage", "channel", s.class(), "text", "x", "blocks", `[{"type":"actions","block_id":"b","elements":[{"type":"external_select","action_id":"find"}]}]`)["ts"]
	res := later(func() obj {
		o, _ := s.act(t, "options", obj{"user": "amir", "channel": s.class(), "ts": ts, "action_id": "find", "value": "po"})
		return o
	})
	f := c.next()
	if inside(f, "payload.type") != "block_suggestion" || inside(f, "payload.value") != "po" || inside(f, "payload.block_id") != "b" || f["accepts_response_payload"] != true {
		t.Errorf("frame = %v", f)
	}
	c.ack(f, `{"options":[`+option(1, 1)+`]}`)
	if o := <-res; inside(o, "options.0.value") != long(1) {
		t.Errorf("options = %v", o)
	}
}
