package workspace

import (
	"maps"
	"slices"
)

// message is one message as kept; its JSON is the state file's form.
type message struct {
	TS          string                    `json:"ts"`
	Channel     string                    `json:"channel"`
	ThreadTS    string                    `json:"thread_ts,omitempty"`
	User        string                    `json:"user"`
	Bot         bool                      `json:"bot,omitempty"`
	Text        string                    `json:"text"`
	Subtype     string                    `json:"subtype,omitempty"`
	Blocks      []any                     `json:"blocks,omitempty"`
	Attachments []any                     `json:"attachments,omitempty"`
	Metadata    obj                       `json:"metadata,omitempty"`
	Edits       int                       `json:"edits,omitempty"`
	EditedBy    string                    `json:"edited_by,omitempty"`
	EditedTS    string                    `json:"edited_ts,omitempty"`
	Reactions   []reaction                `json:"reactions,omitempty"`
	Files       []string                  `json:"files,omitempty"`
	Pinned      bool                      `json:"pinned,omitempty"`
	ClientMsgID string                    `json:"client_msg_id,omitempty"`
	State       map[string]map[string]obj `json:"state,omitempty"` // user, then block_id to action_id to value
	To          string                    `json:"-"`               // the one reader of an ephemeral message
}

type reaction struct {
	Name  string   `json:"name"`
	Users []string `json:"users"`
	Count int      `json:"count"`
}

func (m *message) root() bool { return m.ThreadTS == "" || m.ThreadTS == m.TS }

// wire is the message as Slack's methods and events give it.
func (s *Server) wire(m *message, withMetadata bool) obj {
	o := obj{"type": "message", "ts": m.TS, "user": m.User, "text": m.Text, "team": s.opt.Team.ID}
	if m.Bot {
		o["bot_id"], o["app_id"] = s.app.BotID, s.app.ID
		o["bot_profile"] = obj{"id": s.app.BotID, "app_id": s.app.ID, "user_id": s.app.BotUserID, "name": s.app.Name, "deleted": false, "team_id": s.opt.Team.ID}
	}
	put(o, "subtype", m.Subtype)
	put(o, "client_msg_id", m.ClientMsgID)
	if len(m.Blocks) > 0 {
		o["blocks"] = m.Blocks
	}
	if len(m.Attachments) > 0 {
		o["attachments"] = m.Attachments
	}
	if withMetadata && m.Metadata != nil {
		o["metadata"] = m.Metadata
	}
	if m.EditedTS != "" {
		o["edited"] = obj{"user": m.EditedBy, "ts": m.EditedTS}
	}
	if len(m.Reactions) > 0 {
		o["reactions"] = m.Reactions
	}
	if m.Pinned {
		o["pinned_to"] = []string{m.Channel}
	}
	s.wireThread(m, o)
	if files := s.wireFiles(m); len(files) > 0 {
		o["files"] = files
	}
	return o
}

func (s *Server) wireThread(m *message, o obj) {
	c := s.channelByID(m.Channel)
	if m.ThreadTS == "" || c == nil {
		return
	}
	o["thread_ts"] = m.ThreadTS
	if !m.root() {
		if root := c.find(m.ThreadTS); root != nil {
			o["parent_user_id"] = root.User
		}
		return
	}
	replies := c.replies(m.TS)
	var users []string
	for _, r := range replies {
		if !slices.Contains(users, r.User) && len(users) < 5 {
			users = append(users, r.User)
		}
	}
	o["reply_count"], o["reply_users"], o["reply_users_count"] = len(replies), users, len(users)
	o["is_locked"], o["subscribed"] = false, m.Bot
	if n := len(replies); n > 0 {
		o["latest_reply"] = replies[n-1].TS
	}
}

func (s *Server) wireFiles(m *message) []obj {
	var out []obj
	for _, id := range m.Files {
		if f := s.files[id]; f != nil {
			out = append(out, s.fileObject(f))
		}
	}
	return out
}

// screen is the message as the control API shows it to a person.
func (s *Server) screen(m *message, as string) obj {
	o := s.wire(m, true)
	delete(o, "bot_profile")
	o["channel"], o["username"] = m.Channel, s.userName(m.User)
	o["edits"], o["ephemeral"], o["pinned"] = m.Edits, m.To != "", m.Pinned
	put(o, "ephemeral_to", m.To)
	if state := m.State[as]; as != "" && len(state) > 0 {
		o["state"] = maps.Clone(state)
	}
	if files := s.screenFiles(m); len(files) > 0 {
		o["files"] = files
	}
	return o
}

func put(o obj, key, value string) {
	if value != "" {
		o[key] = value
	}
}

// refreshThread keeps thread_ts of a root in step: Slack sets it with the first
// reply and takes it away with the last.
func (c *channel) refreshThread(root *message) {
	root.ThreadTS = ""
	if len(c.replies(root.TS)) > 0 {
		root.ThreadTS = root.TS
	}
}

// post appends a message, numbers it and tells everybody who listens.
func (s *Server) post(c *channel, m *message) {
	m.Channel, m.TS = c.ID, c.nextTS(s.now())
	c.append(m)
	if !m.root() {
		if root := c.find(m.ThreadTS); root != nil {
			c.refreshThread(root)
			s.emitMessage("message_changed", root)
		}
	}
	s.emitMessage("message", m)
	s.messageEvent(c, m)
	s.dirty()
}

// postEphemeral shows a message to one person; it never enters the history.
func (s *Server) postEphemeral(c *channel, m *message) {
	m.Channel, m.TS = c.ID, c.nextTS(s.now())
	c.appendEphemeral(m)
	s.emitEphemeral("ephemeral", m)
}

// slackbot tells one person what the client itself would say.
func (s *Server) slackbot(c *channel, user, threadTS, text string) {
	s.postEphemeral(c, &message{User: slackbotID, Text: text, To: user, ThreadTS: threadTS})
}

// touch counts an edit and shows the message anew.
func (s *Server) touch(m *message) {
	if m.To != "" {
		s.emitEphemeral("ephemeral_changed", m)
		return
	}
	s.emitMessage("message_changed", m)
	s.dirty()
}

// erase takes a message away. A root with replies stays as a tombstone.
func (s *Server) erase(c *channel, m *message) {
	if m.To != "" {
		c.removeEphemeral(m)
		s.emit(event{name: "ephemeral_deleted", to: m.To, data: obj{"channel": c.ID, "user": m.To, "ts": m.TS}})
		return
	}
	s.deletedEvent(c, m)
	if m.root() && len(c.replies(m.TS)) > 0 {
		*m = message{TS: m.TS, Channel: m.Channel, ThreadTS: m.TS, User: slackbotID, Subtype: "tombstone", Text: "This message was deleted."}
		s.touch(m)
		return
	}
	c.remove(m)
	s.emit(event{name: "message_deleted", channel: c.ID, data: obj{"channel": c.ID, "ts": m.TS, "thread_ts": m.ThreadTS}})
	if root := c.find(m.ThreadTS); root != nil && !m.root() {
		c.refreshThread(root)
		if root.Subtype == "tombstone" && root.ThreadTS == "" {
			c.remove(root)
			s.emit(event{name: "message_deleted", channel: c.ID, data: obj{"channel": c.ID, "ts": root.TS, "thread_ts": ""}})
		} else {
			s.emitMessage("message_changed", root)
		}
	}
	s.dirty()
}
