package workspace

import (
	"regexp"
	"slices"
)

var emojiName = regexp.MustCompile(`^[a-z0-9_+'-]+(::skin-tone-[2-6])?$`)

func (s *Server) item(a appCall) (*channel, *message, *apiError) {
	c, fail := s.findChannel(a.str("channel"))
	if fail != nil {
		return nil, nil, fail
	}
	if !tsForm.MatchString(a.str("timestamp")) {
		return nil, nil, failed("bad_timestamp")
	}
	m := c.find(a.str("timestamp"))
	if m == nil || m.Subtype == "tombstone" {
		return nil, nil, failed("message_not_found")
	}
	return c, m, nil
}

func reactionsAdd(s *Server, a appCall) (obj, *apiError) {
	c, m, fail := s.item(a)
	switch {
	case fail != nil:
		return nil, fail
	case c.Archived:
		return nil, failed("is_archived")
	case !emojiName.MatchString(a.str("name")):
		return nil, failed("invalid_name")
	case !m.react(s.app.BotUserID, a.str("name")):
		return nil, failed("already_reacted")
	}
	s.reacted(c, m, s.app.BotUserID, a.str("name"), "reaction_added")
	return obj{}, nil
}

func reactionsRemove(s *Server, a appCall) (obj, *apiError) {
	c, m, fail := s.item(a)
	if fail != nil {
		return nil, fail
	}
	if !m.unreact(s.app.BotUserID, a.str("name")) {
		return nil, failed("no_reaction")
	}
	s.reacted(c, m, s.app.BotUserID, a.str("name"), "reaction_removed")
	return obj{}, nil
}

func (s *Server) reacted(c *channel, m *message, user, name, kind string) {
	s.touch(m)
	s.reactionEvent(c, m, user, name, kind)
}

// react adds a person's emoji; false when it is there already. The list is
// copied, as answers under way may still hold the old one.
func (m *message) react(user, name string) bool {
	list := slices.Clone(m.Reactions)
	i := slices.IndexFunc(list, func(r reaction) bool { return r.Name == name })
	if i < 0 {
		list = append(list, reaction{Name: name, Users: []string{user}, Count: 1})
		m.Reactions = list
		return true
	}
	if slices.Contains(list[i].Users, user) {
		return false
	}
	list[i].Users = append(slices.Clone(list[i].Users), user)
	list[i].Count++
	m.Reactions = list
	return true
}

func (m *message) unreact(user, name string) bool {
	list := slices.Clone(m.Reactions)
	i := slices.IndexFunc(list, func(r reaction) bool { return r.Name == name })
	if i < 0 || !slices.Contains(list[i].Users, user) {
		return false
	}
	list[i].Users = slices.DeleteFunc(slices.Clone(list[i].Users), func(u string) bool { return u == user })
	if list[i].Count--; list[i].Count == 0 {
		list = slices.Delete(list, i, i+1)
	}
	m.Reactions = list
	return true
}

func pinsAdd(s *Server, a appCall) (obj, *apiError) {
	if !a.has("timestamp") {
		return nil, failed("no_item_specified")
	}
	c, m, fail := s.item(a)
	switch {
	case fail != nil:
		return nil, fail
	case !c.member(s.app.BotUserID):
		return nil, failed("not_in_channel")
	case m.Pinned:
		return nil, failed("already_pinned")
	case s.pinCount(c) >= 100:
		return nil, failed("too_many_pins")
	}
	m.Pinned = true
	s.touch(m)
	return obj{}, nil
}
