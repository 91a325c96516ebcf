package workspace

import (
	"math"
	"slices"
)

// readable finds a channel whose history the bot may read: it must be a member.
func (s *Server) readable(a appCall) (*channel, *apiError) {
	c, fail := s.findChannel(a.str("channel"))
	if fail == nil {
		fail = s.needTypeScope(c, "history")
	}
	if fail == nil && !c.member(s.app.BotUserID) {
		fail = failed("not_in_channel")
	}
	return c, fail
}

// span is the window of oldest and latest, in microseconds; bounds are outside
// unless inclusive.
type span struct{ low, high int64 }

func readSpan(a appCall) (span, *apiError) {
	w := span{low: -1, high: math.MaxInt64}
	if a.has("oldest") && a.str("oldest") != "0" {
		n, ok := parseStamp(a.str("oldest"))
		if !ok {
			return w, failed("invalid_ts_oldest")
		}
		w.low = n
	}
	if a.has("latest") && a.str("latest") != "now" {
		n, ok := parseStamp(a.str("latest"))
		if !ok {
			return w, failed("invalid_ts_latest")
		}
		w.high = n
	}
	if !a.boolean("inclusive") {
		return w, nil
	}
	w.low--
	if w.high < math.MaxInt64 {
		w.high++
	}
	return w, nil
}

func (w span) holds(m *message) bool {
	at, _ := parseStamp(m.TS)
	return at > w.low && at < w.high
}

func conversationsHistory(s *Server, a appCall) (obj, *apiError) {
	c, fail := s.readable(a)
	if fail != nil {
		return nil, fail
	}
	w, fail := readSpan(a)
	if fail != nil {
		return nil, fail
	}
	var all []obj
	for _, m := range slices.Backward(c.Messages) {
		if (m.root() || m.Subtype == "thread_broadcast") && w.holds(m) {
			all = append(all, s.wire(m, a.boolean("include_all_metadata")))
		}
	}
	o, fail := page(a, all, "messages", 100, 999)
	if fail != nil {
		return nil, fail
	}
	o["has_more"], o["pin_count"] = hasMore(o), s.pinCount(c)
	return o, nil
}

func conversationsReplies(s *Server, a appCall) (obj, *apiError) {
	c, fail := s.readable(a)
	if fail != nil {
		return nil, fail
	}
	w, fail := readSpan(a)
	if fail != nil {
		return nil, fail
	}
	m := c.find(a.str("ts"))
	if m == nil {
		return nil, failed("thread_not_found")
	}
	root := m
	if !m.root() {
		if root = c.find(m.ThreadTS); root == nil {
			return nil, failed("thread_not_found")
		}
	}
	all := []obj{s.wire(root, a.boolean("include_all_metadata"))} // the parent comes whatever the window is
	for _, r := range c.replies(root.TS) {
		if w.holds(r) {
			all = append(all, s.wire(r, a.boolean("include_all_metadata")))
		}
	}
	o, fail := page(a, all, "messages", 1000, 1000)
	if fail != nil {
		return nil, fail
	}
	o["has_more"] = hasMore(o)
	return o, nil
}

func hasMore(o obj) bool { return o["response_metadata"].(obj)["next_cursor"] != "" }

func (s *Server) pinCount(c *channel) int {
	n := 0
	for _, m := range c.Messages {
		if m.Pinned {
			n++
		}
	}
	return n
}
