package workspace

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// findChannel resolves the channel argument as the bot sees it: what it may not
// see does not exist.
func (s *Server) findChannel(ref string) (*channel, *apiError) {
	c := s.channelByID(ref)
	if c == nil || !c.visible(s.app.BotUserID) {
		return nil, failed("channel_not_found")
	}
	return c, nil
}

// postTarget also takes a name, or a person's id for the direct message, as
// chat.postMessage does.
func (s *Server) postTarget(ref string) (*channel, *apiError) {
	c := s.channelByID(ref)
	if c == nil && s.userByID(ref) != nil {
		c = s.dm(ref)
	}
	if c == nil && !strings.HasPrefix(ref, "@") {
		c = s.channelByName(ref)
	}
	switch {
	case c == nil || !c.visible(s.app.BotUserID):
		return nil, failed("channel_not_found")
	case c.Archived:
		return nil, failed("is_archived")
	case !c.member(s.app.BotUserID) && !s.granted("chat:write.public"):
		return nil, failed("not_in_channel")
	}
	return c, nil
}

func chatPostMessage(s *Server, a appCall) (obj, *apiError) {
	c, fail := s.postTarget(a.str("channel"))
	if fail != nil {
		return nil, fail
	}
	if wait := s.limits.post(c.ID, s.now()); wait > 0 {
		return nil, rateLimited(wait)
	}
	content, fail := s.readContent(a.arguments)
	if fail != nil {
		return nil, fail
	}
	if textLength(content.blocks) > blocksTextLimit {
		return nil, failed("msg_blocks_too_long")
	}
	content.cut()
	m := s.botMessage(content)
	if fail := s.intoThread(c, m, a.arguments); fail != nil {
		return nil, fail
	}
	s.post(c, m)
	return warn(obj{"channel": c.ID, "ts": m.TS, "message": s.wire(m, true)}, content.warnings...), nil
}

func (s *Server) botMessage(c content) *message {
	return &message{User: s.app.BotUserID, Bot: true, Text: c.text, Blocks: c.blocks, Attachments: c.attachments, Metadata: c.metadata}
}

// intoThread sets thread_ts. When the parent is gone Slack posts into the
// channel without a word: only thread_ts in the answer tells.
func (s *Server) intoThread(c *channel, m *message, a arguments) *apiError {
	ts := a.str("thread_ts")
	if ts == "" {
		return nil
	}
	if !tsForm.MatchString(ts) {
		return failed("invalid_thread_ts")
	}
	parent := c.find(ts)
	if parent == nil || parent.Subtype == "tombstone" {
		return nil
	}
	if parent.Subtype == "channel_join" {
		return failed("cannot_reply_to_message")
	}
	m.ThreadTS = ts
	if a.boolean("reply_broadcast") {
		m.Subtype = "thread_broadcast"
	}
	return nil
}

func chatPostEphemeral(s *Server, a appCall) (obj, *apiError) {
	c, fail := s.findChannel(a.str("channel"))
	switch {
	case fail != nil:
		return nil, fail
	case c.Archived:
		return nil, failed("is_archived")
	case !c.member(s.app.BotUserID) && !s.granted("chat:write.public"):
		return nil, failed("not_in_channel")
	case !c.member(a.str("user")):
		return nil, failed("user_not_in_channel")
	}
	delete(a.arguments, "metadata") // ignored by this method
	content, fail := s.readContent(a.arguments)
	if fail != nil {
		return nil, fail
	}
	if utf8.RuneCountInString(content.text) > postTextLimit {
		return nil, failed("msg_too_long")
	}
	m := s.botMessage(content)
	m.To = a.str("user")
	if fail := s.intoThread(c, m, a.arguments); fail != nil {
		return nil, fail
	}
	s.postEphemeral(c, m)
	return obj{"message_ts": m.TS}, nil
}

// ownMessage finds a message of the bot in a channel that it sees.
func (s *Server) ownMessage(a appCall, notOwn string) (*channel, *message, *apiError) {
	c, fail := s.findChannel(a.str("channel"))
	if fail != nil {
		return nil, nil, fail
	}
	m := c.find(a.str("ts"))
	if m == nil || m.Subtype == "tombstone" {
		return nil, nil, failed("message_not_found")
	}
	if !m.Bot {
		return nil, nil, failed(notOwn)
	}
	return c, m, nil
}

func chatUpdate(s *Server, a appCall) (obj, *apiError) {
	c, m, fail := s.ownMessage(a, "cant_update_message")
	if fail != nil {
		return nil, fail
	}
	if c.Archived {
		return nil, failed("is_inactive")
	}
	content, fail := s.readContent(a.arguments)
	if fail != nil {
		return nil, fail
	}
	if utf8.RuneCountInString(content.text) > updateTextLimit {
		return nil, failed("msg_too_long")
	}
	if len(content.blocks) > 0 && hasBlock(m.Blocks, "rich_text") && !hasBlock(content.blocks, "rich_text") {
		return nil, failed("block_mismatch")
	}
	s.edit(m, content, s.app.BotUserID)
	s.changedEvent(c, m)
	return obj{"channel": c.ID, "ts": m.TS, "text": m.Text, "message": s.wire(m, true)}, nil
}

// edit puts new content into a message. Absent blocks keep the old ones, an
// empty list clears them; the "(edited)" mark comes with new text only.
func (s *Server) edit(m *message, c content, by string) {
	if c.setText && c.text != m.Text {
		m.Text, m.EditedBy, m.EditedTS = c.text, by, stampOf(s.now())
	}
	if c.setBlocks {
		m.Blocks = c.blocks
	}
	if c.setAttachments {
		m.Attachments = c.attachments
	}
	if c.setMeta {
		m.Metadata = c.metadata
	}
	m.Edits++
	s.touch(m)
}

func chatDelete(s *Server, a appCall) (obj, *apiError) {
	c, m, fail := s.ownMessage(a, "cant_delete_message")
	if fail != nil {
		return nil, fail
	}
	ts := m.TS
	s.erase(c, m)
	return obj{"channel": c.ID, "ts": ts}, nil
}

func chatGetPermalink(s *Server, a appCall) (obj, *apiError) {
	c, fail := s.findChannel(a.str("channel"))
	if fail != nil {
		return nil, fail
	}
	m := c.find(a.str("message_ts"))
	if m == nil {
		return nil, failed("message_not_found")
	}
	return obj{"channel": c.ID, "permalink": s.permalink(m)}, nil
}

func (s *Server) permalink(m *message) string {
	link := fmt.Sprintf("%s/archives/%s/p%s", s.URL(), m.Channel, strings.Replace(m.TS, ".", "", 1))
	if m.ThreadTS != "" && !m.root() {
		link += fmt.Sprintf("?thread_ts=%s&cid=%s", m.ThreadTS, m.Channel)
	}
	return link
}
