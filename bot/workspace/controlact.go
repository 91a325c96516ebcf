package workspace

import (
	"regexp"
	"slices"
	"strings"
)

var (
	commandForm = regexp.MustCompile(`^/[a-z][a-z0-9_-]*$`)
	token       = regexp.MustCompile(`<(?:[@#!][^<>\s]+[^<>]*|https?://[^<>]+|mailto:[^<>]+)>`)
	mention     = regexp.MustCompile(`([@#])([\p{L}\d][\p{L}\d._-]*)`)
)

// escape turns typed text into mrkdwn: names become tokens, & < > entities,
// tokens that are there stay.
func (s *Server) escape(text string, named bool) string {
	var b strings.Builder
	plainPart := func(t string) {
		t = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(t)
		b.WriteString(mention.ReplaceAllStringFunc(t, func(m string) string { return s.reference(m, named) }))
	}
	at := 0
	for _, span := range token.FindAllStringIndex(text, -1) {
		plainPart(text[at:span[0]])
		b.WriteString(text[span[0]:span[1]])
		at = span[1]
	}
	plainPart(text[at:])
	return b.String()
}

// reference resolves @name and #name; what nobody has stays as it was typed.
// A full stop after a name belongs to the sentence.
func (s *Server) reference(m string, named bool) string {
	tail := m[len(strings.TrimRight(m, ".")):]
	name := strings.TrimRight(m[1:], ".")
	label := ""
	switch {
	case m[0] == '#':
		if c := s.channelByName(name); c != nil {
			return "<#" + c.ID + "|" + map[bool]string{false: c.Name}[c.private()] + ">" + tail
		}
	case name == "here" || name == "channel" || name == "everyone":
		return "<!" + name + ">" + tail
	default:
		uid := ""
		if u := s.person(name); u != nil {
			uid = u.ID
		} else if s.isBot(name) {
			uid = s.app.BotUserID
		}
		if named {
			label = "|" + s.userName(uid)
		}
		if uid != "" {
			return "<@" + uid + label + ">" + tail
		}
	}
	return m
}

func (s *Server) actMessage(r request) (obj, *controlError) {
	if fail := r.need(); fail != nil {
		return nil, fail
	}
	typed := strings.TrimSpace(r.str("text"))
	if word, _, _ := strings.Cut(typed, " "); commandForm.MatchString(strings.ToLower(word)) {
		return s.actCommand(r)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case typed == "":
		return nil, badRequest("no_text", "there is no text")
	case r.channel.Archived:
		return nil, refused("is_archived", "This channel is archived.")
	case !r.channel.member(r.user.ID):
		return nil, refused("not_in_channel", "Join the channel first.")
	}
	m := &message{User: r.user.ID, Text: s.escape(r.str("text"), false), ClientMsgID: randomUUID()}
	if ts := r.str("thread_ts"); ts != "" {
		root := r.channel.find(ts)
		if root == nil {
			return nil, notFound("thread", ts)
		}
		if m.ThreadTS = ts; !root.root() {
			m.ThreadTS = root.ThreadTS
		}
		if r.boolean("broadcast") {
			m.Subtype = "thread_broadcast"
		}
	}
	s.post(r.channel, m)
	return obj{"ts": m.TS, "message": frozen(s.screen(m, r.user.ID))}, nil
}

// personMessage finds the message of ts that the person may change.
func (s *Server) personMessage(r request) (*message, *controlError) {
	if fail := r.need(); fail != nil {
		return nil, fail
	}
	m := r.channel.find(r.str("ts"))
	if m == nil || m.Subtype == "tombstone" {
		return nil, notFound("message", r.str("ts"))
	}
	return m, nil
}

func (s *Server) actEdit(r request) (obj, *controlError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, fail := s.personMessage(r)
	switch {
	case fail != nil:
		return nil, fail
	case m.User != r.user.ID:
		return nil, refused("cant_update_message", "You can edit your own messages only.")
	case strings.TrimSpace(r.str("text")) == "":
		return nil, badRequest("no_text", "there is no text")
	}
	s.edit(m, content{text: s.escape(r.str("text"), false), setText: true}, r.user.ID)
	s.changedEvent(r.channel, m)
	return obj{"message": frozen(s.screen(m, r.user.ID))}, nil
}

func (s *Server) actDelete(r request) (obj, *controlError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, fail := s.personMessage(r)
	if fail != nil {
		return nil, fail
	}
	if m.User != r.user.ID && r.user.Title != "Instructor" {
		return nil, refused("cant_delete_message", "You can delete your own messages only.")
	}
	s.erase(r.channel, m)
	return obj{}, nil
}

func (s *Server) actReact(r request) (obj, *controlError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, fail := s.personMessage(r)
	if fail != nil {
		return nil, fail
	}
	name := strings.Trim(r.str("name"), ":")
	if !emojiName.MatchString(name) {
		return nil, badRequest("invalid_name", "name is an emoji's name")
	}
	if r.boolean("remove") {
		if m.unreact(r.user.ID, name) {
			s.reacted(r.channel, m, r.user.ID, name, "reaction_removed")
		}
	} else if m.react(r.user.ID, name) {
		s.reacted(r.channel, m, r.user.ID, name, "reaction_added")
	}
	return obj{}, nil
}

func (s *Server) actDismiss(r request) (obj, *controlError) {
	if fail := r.need(); fail != nil {
		return nil, fail
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m := r.channel.ephemeral(r.str("ts"), r.user.ID)
	if m == nil {
		return nil, notFound("message", r.str("ts"))
	}
	s.erase(r.channel, m)
	return obj{}, nil
}

func (s *Server) actHome(r request) (obj, *controlError) {
	if fail := r.needUser(); fail != nil {
		return nil, fail
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.homeEvent(r.user.ID, or(r.str("tab"), "home"))
	return obj{}, nil
}

func (s *Server) actChannel(r request) (obj, *controlError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := strings.TrimPrefix(r.str("name"), "#")
	if code := s.badChannelName(name); code != "" {
		return nil, refused(code, "a channel cannot be named "+name)
	}
	var members []string
	if r.user != nil {
		members = append(members, r.user.ID)
	}
	for _, ref := range r.list("members") {
		u := s.person(ref)
		if u == nil {
			return nil, notFound("user", ref)
		}
		if !slices.Contains(members, u.ID) {
			members = append(members, u.ID)
		}
	}
	if r.boolean("bot") {
		members = append(members, s.app.BotUserID)
	}
	if len(members) == 0 {
		return nil, badRequest("no_members", "a channel needs a member")
	}
	kind := map[bool]string{true: "private", false: "channel"}[r.boolean("is_private")]
	return obj{"channel": frozen(s.screenChannel(s.createChannel(name, kind, members)))}, nil
}

func (s *Server) actMember(r request) (obj, *controlError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.channel == nil || r.str("user") == "" {
		return nil, badRequest("missing_channel", "say channel and user")
	}
	id := s.app.BotUserID
	if r.user != nil {
		id = r.user.ID
	}
	if r.boolean("remove") {
		s.removeMember(r.channel, id)
	} else {
		s.addMember(r.channel, id, "")
	}
	return obj{"channel": frozen(s.screenChannel(r.channel))}, nil
}

func (s *Server) actArchive(r request) (obj, *controlError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.channel == nil || r.channel.Type == "im" {
		return nil, badRequest("missing_channel", "say which channel")
	}
	r.channel.Archived = !r.boolean("undo")
	s.emitChannel("channel_changed", r.channel)
	s.dirty()
	return obj{"channel": frozen(s.screenChannel(r.channel))}, nil
}

func (s *Server) actDisconnect(r request) (obj, *controlError) {
	reason := or(r.str("reason"), "refresh_requested")
	if !slices.Contains([]string{"warning", "refresh_requested", "link_disabled"}, reason) {
		return nil, badRequest("invalid_reason", "reason is warning, refresh_requested or link_disabled")
	}
	number := r.number("socket", 0, 1<<30)
	s.mu.Lock()
	chosen := slices.Clone(s.sockets)
	s.mu.Unlock()
	told := 0
	for _, sock := range chosen {
		if number == 0 || sock.number == number {
			s.disconnect(sock, reason)
			told++
		}
	}
	return obj{"sockets": told}, nil
}
