package workspace

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var channelName = regexp.MustCompile(`^[\p{Ll}\p{Lo}\d_-]+$`)

func (s *Server) conversationObject(c *channel) obj {
	o := obj{
		"id": c.ID, "created": c.Created, "creator": c.Creator, "is_archived": c.Archived,
		"is_channel": c.Type == "channel", "is_group": c.Type == "private", "is_im": c.Type == "im", "is_mpim": c.Type == "mpim",
		"is_private": c.private(), "is_general": c.Name == "general", "is_shared": false, "is_ext_shared": false, "is_org_shared": false,
		"context_team_id": s.opt.Team.ID, "updated": c.Created * 1000,
	}
	if c.Type == "im" {
		o["user"], o["is_open"] = c.User, true
		return o
	}
	o["name"], o["name_normalized"] = c.Name, c.Name
	o["is_member"], o["num_members"] = c.member(s.app.BotUserID), len(c.Members)
	o["topic"] = obj{"value": c.Topic, "creator": c.Creator, "last_set": c.Created}
	o["purpose"] = obj{"value": c.Purpose, "creator": c.Creator, "last_set": c.Created}
	return o
}

func conversationsInfo(s *Server, a appCall) (obj, *apiError) {
	c, fail := s.findChannel(a.str("channel"))
	if fail == nil {
		fail = s.needTypeScope(c, "read")
	}
	if fail != nil {
		return nil, fail
	}
	o := s.conversationObject(c)
	if !a.boolean("include_num_members") {
		delete(o, "num_members")
	}
	return obj{"channel": o}, nil
}

var typeNames = map[string]string{"public_channel": "channel", "private_channel": "private", "im": "im", "mpim": "mpim"}

func conversationsList(s *Server, a appCall) (obj, *apiError) {
	return s.listConversations(a, func(c *channel) bool { return c.visible(s.app.BotUserID) })
}

func usersConversations(s *Server, a appCall) (obj, *apiError) {
	user := or(a.str("user"), s.app.BotUserID)
	if !s.known(user) {
		return nil, failed("user_not_found")
	}
	return s.listConversations(a, func(c *channel) bool { return c.member(user) && c.visible(s.app.BotUserID) })
}

func (s *Server) listConversations(a appCall, keep func(*channel) bool) (obj, *apiError) {
	kinds := a.list("types")
	if len(kinds) == 0 {
		kinds = []string{"public_channel"}
	}
	var wanted []string
	for _, k := range kinds {
		t, ok := typeNames[k]
		if !ok {
			return nil, failed("invalid_types")
		}
		if fail := s.needScope(scopeFamily[t] + ":read"); fail != nil {
			return nil, fail
		}
		wanted = append(wanted, t)
	}
	var all []obj
	for _, c := range s.channels {
		if slices.Contains(wanted, c.Type) && keep(c) && (!c.Archived || !a.boolean("exclude_archived")) {
			all = append(all, s.conversationObject(c))
		}
	}
	return page(a, all, "channels", 100, 999)
}

// page cuts a list at the cursor, which is an offset nobody may rely on.
func page[T any](a appCall, all []T, name string, fallback, most int) (obj, *apiError) {
	limit, fail := a.limit(fallback, most)
	if fail != nil {
		return nil, fail
	}
	from, ok := readCursor(a.str("cursor"))
	if !ok || from > len(all) {
		return nil, failed("invalid_cursor")
	}
	to := min(len(all), from+limit)
	next := ""
	if to < len(all) {
		next = makeCursor(to)
	}
	part := append([]T{}, all[from:to]...)
	return obj{name: part, "response_metadata": obj{"next_cursor": next}}, nil
}

func makeCursor(n int) string {
	return base64.StdEncoding.EncodeToString([]byte("next:" + strconv.Itoa(n)))
}

func readCursor(cursor string) (int, bool) {
	if cursor == "" {
		return 0, true
	}
	raw, err := base64.StdEncoding.DecodeString(cursor)
	text, ok := strings.CutPrefix(string(raw), "next:")
	n, bad := strconv.Atoi(text)
	return n, err == nil && ok && bad == nil && n >= 0
}

func conversationsMembers(s *Server, a appCall) (obj, *apiError) {
	c, fail := s.findChannel(a.str("channel"))
	if fail == nil {
		fail = s.needTypeScope(c, "read")
	}
	if fail != nil {
		return nil, fail
	}
	return page(a, c.Members, "members", 100, 999)
}

func conversationsOpen(s *Server, a appCall) (obj, *apiError) {
	if a.has("channel") {
		c, fail := s.findChannel(a.str("channel"))
		if fail == nil && c.Type != "im" && c.Type != "mpim" {
			fail = failed("method_not_supported_for_channel_type")
		}
		if fail != nil {
			return nil, fail
		}
		return s.opened(a, c, true)
	}
	users := a.list("users")
	switch {
	case len(users) == 0:
		return nil, failed("users_list_not_supplied")
	case len(users) > 8:
		return nil, failed("too_many_users")
	}
	for _, u := range users {
		if s.userByID(u) == nil {
			return nil, failed("user_not_found")
		}
	}
	if len(users) == 1 {
		if fail := s.needScope("im:write"); fail != nil {
			return nil, fail
		}
		return s.opened(a, s.dm(users[0]), true)
	}
	if fail := s.needScope("mpim:write"); fail != nil {
		return nil, fail
	}
	members := append(slices.Clone(users), s.app.BotUserID)
	slices.Sort(members)
	for _, c := range s.channels {
		if have := slices.Sorted(slices.Values(c.Members)); c.Type == "mpim" && slices.Equal(have, members) {
			return s.opened(a, c, true)
		}
	}
	if a.boolean("prevent_creation") {
		return nil, failed("channel_not_found")
	}
	return s.opened(a, s.createChannel("mpdm-"+strings.ToLower(strings.Join(members, "--")), "mpim", members), false)
}

func (s *Server) opened(a appCall, c *channel, already bool) (obj, *apiError) {
	o := obj{"channel": obj{"id": c.ID}}
	if a.boolean("return_im") {
		o["channel"] = s.conversationObject(c)
	}
	if already {
		o["no_op"], o["already_open"] = true, true
	}
	return o, nil
}

func (s *Server) createChannel(name, kind string, members []string) *channel {
	c := &channel{ID: randomID("C"), Name: name, Type: kind, Created: s.now().Unix(), Creator: members[0], Members: members}
	s.channels = append(s.channels, c)
	s.emitChannel("channel_created", c)
	s.dirty()
	return c
}

// badChannelName gives Slack's code for a name it would refuse, or "".
func (s *Server) badChannelName(name string) string {
	switch {
	case name == "":
		return "invalid_name_required"
	case len([]rune(name)) > 80:
		return "invalid_name_maxlength"
	case strings.Trim(name, "-_.") == "":
		return "invalid_name_punctuation"
	case !channelName.MatchString(name):
		return "invalid_name_specials"
	case s.channelByName(name) != nil: // archived ones keep their name
		return "name_taken"
	}
	return ""
}

func conversationsCreate(s *Server, a appCall) (obj, *apiError) {
	name, private := a.str("name"), a.boolean("is_private")
	kind, scopes := "channel", []string{"channels:manage", "channels:write"}
	if private {
		kind, scopes = "private", []string{"groups:write"}
	}
	if fail := s.needScope(scopes...); fail != nil {
		return nil, fail
	}
	if code := s.badChannelName(name); code != "" {
		return nil, failed(code)
	}
	return obj{"channel": s.conversationObject(s.createChannel(name, kind, []string{s.app.BotUserID}))}, nil
}

func conversationsJoin(s *Server, a appCall) (obj, *apiError) {
	c, fail := s.findChannel(a.str("channel"))
	switch {
	case fail != nil:
		return nil, fail
	case c.Type != "channel":
		return nil, failed("method_not_supported_for_channel_type")
	case c.Archived:
		return nil, failed("is_archived")
	case c.member(s.app.BotUserID):
		return warn(obj{"channel": s.conversationObject(c)}, "already_in_channel"), nil
	}
	s.addMember(c, s.app.BotUserID, "")
	return obj{"channel": s.conversationObject(c)}, nil
}

func conversationsInvite(s *Server, a appCall) (obj, *apiError) {
	c, fail := s.findChannel(a.str("channel"))
	users := a.list("users")
	switch {
	case fail != nil:
		return nil, fail
	case c.Type == "im" || c.Type == "mpim":
		return nil, failed("method_not_supported_for_channel_type")
	case c.Archived:
		return nil, failed("is_archived")
	case !c.member(s.app.BotUserID):
		return nil, failed("not_in_channel")
	case len(users) == 0:
		return nil, failed("no_user")
	}
	var problems []obj
	var good []string
	for _, u := range users {
		code := ""
		switch {
		case u == s.app.BotUserID:
			code = "cant_invite_self"
		case s.userByID(u) == nil:
			code = "user_not_found"
		case c.member(u):
			code = "already_in_channel"
		}
		if code == "" {
			good = append(good, u)
			continue
		}
		problems = append(problems, obj{"user": u, "ok": false, "error": code})
	}
	if len(problems) > 0 && (!a.boolean("force") || len(good) == 0) {
		e := failed(problems[0]["error"].(string))
		e.extra = obj{"errors": problems}
		return nil, e
	}
	for _, u := range good {
		s.addMember(c, u, s.app.BotUserID)
	}
	o := obj{"channel": s.conversationObject(c)}
	if len(problems) > 0 {
		o["errors"] = problems
	}
	return o, nil
}

func (s *Server) addMember(c *channel, user, inviter string) {
	if c.member(user) {
		return
	}
	c.Members = append(slices.Clone(c.Members), user)
	s.emitChannel("channel_changed", c)
	s.memberEvent(c, user, inviter)
	s.dirty()
}

func (s *Server) removeMember(c *channel, user string) {
	c.Members = slices.DeleteFunc(slices.Clone(c.Members), func(u string) bool { return u == user })
	s.emitChannel("channel_changed", c)
	s.dirty()
}
