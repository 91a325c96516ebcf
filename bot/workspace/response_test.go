package workspace

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// clicked gives the response_url of a click on a new message.
func clicked(t *testing.T, s *Server, c *raw, user, ts string) string {
	t.Helper()
	res := later(func() obj {
		o, _ := s.act(t, "click", obj{"user": user, "channel": s.class(), "ts": ts, "action_id": "go"})
		return o
	})
	f := c.next()
	c.ack(f, "")
	if o := <-res; o["ok"] != true {
		t.Fatalf("click: %v", o)
	}
	return inside(f, "payload.response_url").(string)
}

func commanded(t *testing.T, s *Server, c *raw) string {
	t.Helper()
	res := later(func() obj {
		o, _ := s.act(t, "command", obj{"user": "amir", "channel": s.class(), "text": "/lab x"})
		return o
	})
	f := c.next()
	c.ack(f, "")
	<-res
	return inside(f, "payload.response_url").(string)
}

func answer(t *testing.T, link, body string) (int, string) {
	t.Helper()
	r, err := http.Post(link, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	raw, _ := io.ReadAll(r.Body)
	return r.StatusCode, string(raw)
}

const goButton = `[{"type":"actions","block_id":"b","elements":[{"type":"button","action_id":"go","text":{"type":"plain_text","text":"Go"},"value":"v"}]}]`

func TestResponseURLAfterClick(t *testing.T) {
	s := start(t)
	c := s.dial(t)
	ts := s.must(t, "chat.postMessage", "channel", s.class(), "text", "old", "blocks", goButton)["ts"].(string)
	link := clicked(t, s, c, "amir", ts)
	if code, body := answer(t, link, `{"replace_original":true,"text":"new"}`); code != 200 || body != "ok" {
		t.Fatalf("%d %s", code, body)
	}
	m := s.read(t, "messages?channel="+s.class())[0]
	if m["text"] != "new" || m["blocks"] != nil || m["edits"] != 1.0 {
		t.Errorf("replaced: %v", m)
	}
	answer(t, link, `{"response_type":"in_channel","text":"side"}`)
	answer(t, link, `{"text":"whisper","thread_ts":"`+ts+`"}`)
	answer(t, link, `{"delete_original":true}`)
	left := s.read(t, "messages?channel="+s.class()+"&as=amir")
	var texts []string
	for _, m := range left {
		texts = append(texts, m["text"].(string))
	}
	if got := strings.Join(texts, ","); got != "side" {
		t.Errorf("left in the channel: %s, want only side", got)
	}
}

func TestResponseURLOnEphemeral(t *testing.T) {
	s := start(t)
	c := s.dial(t)
	amir := s.person("amir").ID
	ts := s.must(t, "chat.postEphemeral", "channel", s.class(), "user", amir, "text", "only you", "blocks", goButton)["message_ts"].(string)
	if o := s.api(t, "chat.update", "channel", s.class(), "ts", ts, "text", "x"); o["error"] != "message_not_found" {
		t.Errorf("chat.update on an ephemeral: %v", o)
	}
	if o, status := s.act(t, "click", obj{"user": "lena", "channel": s.class(), "ts": ts, "action_id": "go"}); status != 404 {
		t.Errorf("lena pressed amir's button: %v", o)
	}
	link := clicked(t, s, c, "amir", ts)
	answer(t, link, `{"replace_original":true,"text":"still only you"}`)
	if m := s.read(t, "messages?channel="+s.class()+"&as=amir")[0]; m["text"] != "still only you" || m["ephemeral"] != true {
		t.Errorf("replaced: %v", m)
	}
	answer(t, link, `{"delete_original":true}`)
	if n := len(s.read(t, "messages?channel="+s.class()+"&as=amir")); n != 0 {
		t.Errorf("%d messages left", n)
	}
}

func TestResponseURLRules(t *testing.T) {
	now := newClock()
	s := start(t, func(o *Options) { o.Clock = now.now })
	c := s.dial(t)
	link := commanded(t, s, c)
	for _, bad := range []struct {
		body string
		code int
		want string
	}{
		{`{`, 400, "invalid_payload"},
		{`{}`, 400, "no_text"},
		{`{"text":"x","blocks":[{}]}`, 400, "invalid_blocks"},
	} {
		if code, body := answer(t, link, bad.body); code != bad.code || body != bad.want {
			t.Errorf("%s: %d %s, want %d %s", bad.body, code, body, bad.code, bad.want)
		}
	}
	for range responseUses {
		if code, body := answer(t, link, `{"replace_original":true,"text":"again"}`); code != 200 {
			t.Fatalf("%d %s", code, body)
		}
	}
	if code, body := answer(t, link, `{"text":"x"}`); code != 404 || !strings.Contains(body, "used_url") {
		t.Errorf("sixth use: %d %s", code, body)
	}
	if n := len(s.read(t, "messages?channel="+s.class()+"&as=amir")); n != responseUses {
		t.Errorf("replace_original after a command gave %d messages, want %d", n, responseUses)
	}
	link = commanded(t, s, c)
	now.advance(responseLife + time.Second)
	if code, body := answer(t, link, `{"text":"x"}`); code != 404 || !strings.Contains(body, "expired_url") {
		t.Errorf("after 30 minutes: %d %s", code, body)
	}
}

func TestPruneLooksAtEachItemAFewTimes(t *testing.T) {
	m, next, looked := map[string]int{}, 0, 0
	for i := range 10_000 {
		m[randomHex(16)] = i
		prune(m, &next, func(n int) bool { looked++; return n < i-100 })
	}
	if len(m) > 400 || looked > 40_000 {
		t.Errorf("%d items left after %d looks", len(m), looked)
	}
}
