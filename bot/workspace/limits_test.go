package workspace

import (
	"testing"
	"time"
)

func TestPostingRate(t *testing.T) {
	now := newClock()
	s := start(t, func(o *Options) { o.RateLimits, o.Clock = RateLimits{}, now.now })
	post := func(channel string) (obj, int, string) {
		o, r := s.apiResponse(t, "chat.postMessage", "channel", channel, "text", "x")
		return o, r.StatusCode, r.Header.Get("Retry-After")
	}
	for range 3 {
		if o, _, _ := post(s.class()); o["ok"] != true {
			t.Fatalf("within the burst: %v", o)
		}
	}
	o, status, after := post(s.class())
	if status != 429 || o["error"] != "ratelimited" || after != "1" {
		t.Errorf("fourth at once: %d %v, Retry-After %q", status, o, after)
	}
	if o, _, _ := post(s.opt.Channels[1].ID); o["ok"] != true {
		t.Errorf("another channel has its own bucket: %v", o)
	}
	now.advance(time.Second)
	if o, _, _ := post(s.class()); o["ok"] != true {
		t.Errorf("after Retry-After: %v", o)
	}
	if _, status, _ = post(s.class()); status != 429 {
		t.Error("one second is worth one post")
	}
}

func TestTierRate(t *testing.T) {
	now := newClock()
	s := start(t, func(o *Options) { o.RateLimits, o.Clock = RateLimits{}, now.now })
	call := func() (int, string) {
		_, r := s.apiResponse(t, "users.list")
		return r.StatusCode, r.Header.Get("Retry-After")
	}
	for i := range 4 {
		if status, _ := call(); status != 200 {
			t.Fatalf("call %d of a burst of 4: %d", i+1, status)
		}
	}
	if status, after := call(); status != 429 || after != "3" {
		t.Errorf("fifth call of tier 2: %d, Retry-After %q, want 429 and 3", status, after)
	}
	if o := s.api(t, "team.info"); o["ok"] != true {
		t.Errorf("a 429 stops only its own method: %v", o)
	}
	served := 0
	for range 60 {
		now.advance(time.Second)
		if status, _ := call(); status == 200 {
			served++
		}
	}
	if served != 20 {
		t.Errorf("%d calls in a minute, want 20", served)
	}
}

func TestTimestampsGrowWhileTheClockStands(t *testing.T) {
	s := start(t, func(o *Options) { o.Clock = newClock().now })
	last := "0"
	for range 20 {
		ts := s.must(t, "chat.postMessage", "channel", s.class(), "text", "x")["ts"].(string)
		if !after(ts, last) || !tsForm.MatchString(ts) {
			t.Fatalf("%s after %s", ts, last)
		}
		last = ts
	}
}

func TestEventsCeiling(t *testing.T) {
	now := newClock()
	s := start(t, func(o *Options) { o.RateLimits, o.Clock = RateLimits{}, now.now })
	s.mu.Lock()
	s.eventHour, s.eventCount = now.now(), eventsPerHour
	s.mu.Unlock()
	c := s.dial(t)
	for range 3 {
		s.do(t, "message", obj{"user": "amir", "channel": "general", "text": "@labbot hi"})
	}
	f := c.next()
	if inside(f, "payload.type") != "app_rate_limited" || inside(f, "payload.event") != nil {
		t.Errorf("frame = %v", f)
	}
	c.ack(f, "")
	now.advance(time.Hour)
	s.do(t, "message", obj{"user": "amir", "channel": "general", "text": "@labbot again"})
	if f := c.next(); inside(f, "payload.event.type") != "app_mention" {
		t.Errorf("in the next hour: %v", f)
	}
}

func TestTextLengths(t *testing.T) {
	s := start(t)
	o := s.must(t, "chat.postMessage", "channel", s.class(), "text", long(40_001))
	if o["warning"] != "message_truncated" || len([]rune(inside(o, "message.text").(string))) != 40_000 {
		t.Errorf("40,001 characters: warning %v", o["warning"])
	}
	if o := s.must(t, "chat.postMessage", "channel", s.class(), "text", long(40_000)); o["warning"] != nil {
		t.Errorf("40,000 characters: warning %v", o["warning"])
	}
	amir := s.person("amir").ID
	if o := s.api(t, "chat.postEphemeral", "channel", s.class(), "user", amir, "text", long(40_001)); o["error"] != "msg_too_long" {
		t.Errorf("ephemeral of 40,001: %v", o["error"])
	}
	s.must(t, "chat.postMessage", "channel", s.class(), "markdown_text", long(12_000))
	if o := s.api(t, "chat.postMessage", "channel", s.class(), "markdown_text", long(12_001)); o["error"] != "msg_too_long" {
		t.Errorf("markdown_text of 12,001: %v", o["error"])
	}
	if o := s.api(t, "chat.postMessage", "channel", s.class(), "attachments", times(101, `{"text":"x"}`)); o["error"] != "too_many_attachments" {
		t.Errorf("101 attachments: %v", o["error"])
	}
}
