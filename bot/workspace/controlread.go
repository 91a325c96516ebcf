package workspace

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

func (r request) as() string {
	if r.user == nil {
		return ""
	}
	return r.user.ID
}

func (s *Server) readMessages(r request) (any, *controlError) {
	if r.channel == nil {
		return nil, badRequest("missing_channel", "say which channel")
	}
	root := r.str("thread_ts")
	if root != "" {
		m := r.channel.find(root)
		if m == nil {
			return nil, notFound("thread", root)
		}
		if !m.root() {
			root = m.ThreadTS
		}
	}
	wanted := func(m *message) bool {
		if before := r.str("before"); before != "" && !after(before, m.TS) {
			return false
		}
		if root != "" {
			return m.TS == root || m.ThreadTS == root
		}
		return m.root() || m.Subtype == "thread_broadcast"
	}
	var found []*message
	for _, m := range r.channel.Messages {
		if wanted(m) {
			found = append(found, m)
		}
	}
	for _, m := range r.channel.ephemerals {
		if m.To == r.as() && wanted(m) {
			found = append(found, m)
		}
	}
	slices.SortStableFunc(found, func(a, b *message) int {
		switch {
		case after(a.TS, b.TS):
			return 1
		case after(b.TS, a.TS):
			return -1
		}
		return 0
	})
	limit := max(1, r.number("limit", 200, 1000))
	found = found[max(0, len(found)-limit):]
	out := []obj{}
	for _, m := range found {
		out = append(out, s.screen(m, r.as()))
	}
	return out, nil
}

func (s *Server) readSearch(r request) (any, *controlError) {
	if r.channel == nil {
		return nil, badRequest("missing_channel", "say which channel")
	}
	words := strings.Fields(strings.ToLower(r.str("q")))
	out := []obj{}
	for _, m := range slices.Backward(r.channel.Messages) {
		text := strings.ToLower(m.Text + " " + blockText(m.Blocks))
		missing := slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
		if len(words) > 0 && !missing && len(out) < 100 {
			out = append(out, s.screen(m, r.as()))
		}
	}
	return out, nil
}

// readThreads gives the roots that have replies, the latest reply first: of one
// channel, or of all that the person can see.
func (s *Server) readThreads(r request) (any, *controlError) {
	var roots []*message
	for _, c := range s.channels {
		if (r.channel != nil && c != r.channel) || (r.user != nil && !c.visible(r.user.ID)) {
			continue
		}
		for root := range c.threads {
			if m := c.find(root); m != nil {
				roots = append(roots, m)
			}
		}
	}
	latest := func(m *message) string { l := s.channelByID(m.Channel).replies(m.TS); return l[len(l)-1].TS }
	slices.SortFunc(roots, func(a, b *message) int {
		if after(latest(a), latest(b)) {
			return -1
		}
		return 1
	})
	out := []obj{}
	for _, m := range roots[:min(len(roots), r.number("limit", 50, 200))] {
		out = append(out, s.screen(m, r.as()))
	}
	return out, nil
}

// blockText is all text in blocks, for search.
func blockText(value any) string {
	var b strings.Builder
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			b.WriteString(blockText(item) + " ")
		}
	case obj:
		for key, item := range v {
			if t, ok := item.(string); ok && key == "text" {
				b.WriteString(t + " ")
			} else if !ok {
				b.WriteString(blockText(item))
			}
		}
	}
	return b.String()
}

func (s *Server) readViews(r request) (any, *controlError) {
	if fail := r.needUser(); fail != nil {
		return nil, fail
	}
	out := []obj{}
	for _, v := range s.stacks[r.user.ID] {
		out = append(out, s.screenView(v))
	}
	return out, nil
}

func (s *Server) readHome(r request) (any, *controlError) {
	if fail := r.needUser(); fail != nil {
		return nil, fail
	}
	if v := s.homes[r.user.ID]; v != nil {
		return s.screenView(v), nil
	}
	return nil, nil //nolint:nilnil // null is the documented answer
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func (s *Server) readCalls(r request) (any, *controlError) {
	items, first, _ := s.calls.since(r.number("since", 0, 1<<40))
	out := []obj{}
	for i, c := range items {
		if name := r.str("method"); name == "" || name == c.Method {
			out = append(out, obj{
				"seq": first + i, "at": c.At.UTC(), "method": c.Method, "args": c.Args, "answer": c.Answer,
				"status": c.Status, "duration_ms": millis(c.Duration),
			})
		}
	}
	return out[max(0, len(out)-r.number("limit", len(out), len(out))):], nil
}

func (s *Server) readEnvelopes(r request) (any, *controlError) {
	items, first, _ := s.sent.since(r.number("since", 0, 1<<40))
	out := []obj{}
	for i, e := range items {
		o := obj{
			"seq": first + i, "at": e.At.UTC(), "envelope_id": e.ID, "type": e.Type, "kind": e.Kind,
			"socket": e.Socket, "attempt": e.Attempt, "acked": e.Acked,
		}
		if e.Acked {
			o["ack_ms"] = millis(e.AckTime)
			if json.Valid(e.Ack) {
				o["ack"] = e.Ack
			}
		}
		out = append(out, o)
	}
	return out, nil
}
