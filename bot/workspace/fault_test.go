package workspace

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

func (s *Server) clearFaults(t *testing.T) {
	t.Helper()
	req, _ := http.NewRequest(http.MethodDelete, s.URL()+"/_workspace/faults", nil)
	r, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	decode(t, r)
}

func TestCallFaults(t *testing.T) {
	s := start(t)
	post := func() (*http.Response, error) {
		return http.PostForm(s.APIURL()+"chat.postMessage", url.Values{"token": {s.app.BotToken}, "channel": {s.class()}, "text": {"x"}})
	}
	count := func() int { return len(s.read(t, "messages?channel=k8s-fundamentals")) }

	s.do(t, "faults", obj{"kind": "error", "method": "chat.postMessage", "error": "fatal_error", "times": 2})
	for range 2 {
		if o := s.api(t, "chat.postMessage", "channel", s.class(), "text", "x"); o["error"] != "fatal_error" {
			t.Errorf("error fault: %v", o)
		}
	}
	s.must(t, "chat.postMessage", "channel", s.class(), "text", "x")
	if n := len(s.read(t, "faults")); n != 0 || count() != 1 {
		t.Errorf("%d faults left, %d messages", n, count())
	}

	s.do(t, "faults", obj{"kind": "ratelimited", "retry_after": 7})
	r, err := post()
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if r.StatusCode != http.StatusTooManyRequests || r.Header.Get("Retry-After") != "7" {
		t.Errorf("%d, Retry-After %q", r.StatusCode, r.Header.Get("Retry-After"))
	}
	s.do(t, "faults", obj{"kind": "http_error", "status": 502})
	if r, err = post(); err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if r.StatusCode != http.StatusBadGateway || strings.Contains(r.Header.Get("Content-Type"), "json") {
		t.Errorf("%d %s", r.StatusCode, r.Header.Get("Content-Type"))
	}

	s.do(t, "faults", obj{"kind": "lost_request"})
	if r, err = post(); err == nil {
		r.Body.Close()
		t.Error("a lost request was answered")
	}
	if count() != 1 {
		t.Error("a lost request took effect")
	}
	s.do(t, "faults", obj{"kind": "lost_answer", "method": "chat.postMessage"})
	if r, err = post(); err == nil {
		r.Body.Close()
		t.Error("a lost answer came")
	}
	if count() != 2 {
		t.Errorf("%d messages, want the effect of the lost answer", count())
	}
	if o, status := s.act(t, "faults", obj{"kind": "nonsense"}); status != 400 {
		t.Errorf("unknown kind: %v", o)
	}
}

func TestSlowAnswer(t *testing.T) {
	s := start(t)
	s.do(t, "faults", obj{"kind": "slow", "delay_ms": 60})
	began := time.Now()
	s.must(t, "auth.test")
	if took := time.Since(began); took < 60*time.Millisecond {
		t.Errorf("answered after %s", took)
	}
}

func TestStateFaults(t *testing.T) {
	s := start(t)
	post := func() any { return s.api(t, "chat.postMessage", "channel", s.class(), "text", "x")["error"] }
	for _, c := range []struct {
		fault obj
		want  string
	}{
		{obj{"kind": "token_revoked"}, "token_revoked"},
		{obj{"kind": "scope_missing", "scope": "chat:write"}, "missing_scope"},
		{obj{"kind": "channel_archived", "channel": "k8s-fundamentals"}, "is_archived"},
		{obj{"kind": "bot_removed", "channel": "k8s-fundamentals"}, "not_in_channel"},
	} {
		s.do(t, "faults", c.fault)
		if got := post(); got != c.want {
			t.Errorf("%v: %v, want %s", c.fault, got, c.want)
		}
		s.clearFaults(t)
		if got := post(); got != nil {
			t.Errorf("after clearing %v: %v", c.fault, got)
		}
	}
	ts := s.must(t, "chat.postMessage", "channel", s.class(), "text", "x")["ts"]
	s.do(t, "faults", obj{"kind": "message_deleted", "channel": "k8s-fundamentals", "ts": ts})
	if o := s.api(t, "chat.update", "channel", s.class(), "ts", ts.(string), "text", "y"); o["error"] != "message_not_found" {
		t.Errorf("deleted by hand: %v", o)
	}
}

func TestEnvelopeFaults(t *testing.T) {
	s := start(t)
	c := s.dial(t)
	say := func(text string) {
		s.do(t, "message", obj{"user": "amir", "channel": "general", "text": "@labbot " + text})
	}
	text := func(f obj) string { return inside(f, "payload.event.text").(string) }
	s.do(t, "faults", obj{"kind": "duplicate"})
	say("1")
	first, second := c.next(), c.next()
	if first["envelope_id"] != second["envelope_id"] || second["retry_attempt"] != 0.0 {
		t.Errorf("duplicate: %v and %v", first, second)
	}
	c.ack(first, "")
	s.do(t, "faults", obj{"kind": "reorder"})
	say("2")
	say("3")
	if f := c.next(); !strings.HasSuffix(text(f), "3") {
		t.Errorf("reorder: first came %s", text(f))
	} else {
		c.ack(f, "")
	}
	c.ack(c.next(), "")
	s.do(t, "faults", obj{"kind": "late", "delay_ms": 50, "type": "events_api"})
	say("4")
	say("5")
	if f := c.next(); !strings.HasSuffix(text(f), "5") {
		t.Errorf("late: first came %s", text(f))
	} else {
		c.ack(f, "")
	}
	c.ack(c.next(), "")
	s.do(t, "faults", obj{"kind": "socket_cut"})
	if _, err := c.read(); err == nil {
		t.Error("the socket lives on")
	}
}

func TestFrozenSocket(t *testing.T) {
	s := start(t, func(o *Options) { o.Timing.Ack = 30 * time.Millisecond })
	s.dial(t)
	s.do(t, "faults", obj{"kind": "socket_frozen"})
	if o, _ := s.act(t, "command", obj{"user": "amir", "channel": "general", "text": "/lab x"}); o["error"] != "operation_timeout" {
		t.Errorf("command over a frozen socket: %v", o)
	}
	if n := len(s.read(t, "envelopes")); n != 1 {
		t.Errorf("%d envelopes sent", n)
	}
}
