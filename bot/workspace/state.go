package workspace

import (
	"slices"
	"strings"
	"time"
)

// obj is a JSON object whose shape Slack defines.
type obj = map[string]any

const (
	channelHistory   = 5000 // messages kept per channel
	channelEphemeral = 500  // ephemeral messages kept per channel
	slackbotID       = "USLACKBOT"
)

// channel is one conversation with its history, oldest first.
type channel struct {
	ID         string     `json:"id"`
	Name       string     `json:"name"`
	Type       string     `json:"type"` // channel, private, im, mpim
	Archived   bool       `json:"archived,omitempty"`
	Topic      string     `json:"topic,omitempty"`
	Purpose    string     `json:"purpose,omitempty"`
	Creator    string     `json:"creator"`
	Created    int64      `json:"created"` // unix seconds
	User       string     `json:"user,omitempty"`
	Members    []string   `json:"members"`
	Messages   []*message `json:"messages"`
	LastMicros int64      `json:"last_micros"`

	ephemerals []*message
	byTS       map[string]*message
	threads    map[string][]*message // replies by thread_ts
}

func (c *channel) member(user string) bool { return slices.Contains(c.Members, user) }

func (c *channel) private() bool { return c.Type != "channel" }

// visible says whether a person or the bot can see that the channel exists.
func (c *channel) visible(user string) bool { return !c.private() || c.member(user) }

// nextTS is strictly later than any ts given before in this channel.
func (c *channel) nextTS(now time.Time) string {
	c.LastMicros = max(now.UnixMicro(), c.LastMicros+1)
	return stamp(c.LastMicros)
}

func (c *channel) append(m *message) {
	c.index(m)
	c.Messages = append(c.Messages, m)
	for len(c.Messages) > channelHistory {
		c.remove(c.Messages[0])
	}
}

// index makes a message found by its ts and by its thread.
func (c *channel) index(m *message) {
	if c.byTS == nil {
		c.byTS, c.threads = map[string]*message{}, map[string][]*message{}
	}
	c.byTS[m.TS] = m
	if !m.root() {
		c.threads[m.ThreadTS] = append(c.threads[m.ThreadTS], m)
	}
}

func (c *channel) remove(m *message) {
	same := func(x *message) bool { return x == m }
	delete(c.byTS, m.TS)
	c.Messages = slices.DeleteFunc(c.Messages, same)
	if m.root() {
		return
	}
	if c.threads[m.ThreadTS] = slices.DeleteFunc(c.threads[m.ThreadTS], same); len(c.threads[m.ThreadTS]) == 0 {
		delete(c.threads, m.ThreadTS)
	}
}

func (c *channel) find(ts string) *message { return c.byTS[ts] }

func (c *channel) ephemeral(ts, user string) *message {
	for _, m := range c.ephemerals {
		if m.TS == ts && (user == "" || m.To == user) {
			return m
		}
	}
	return nil
}

func (c *channel) appendEphemeral(m *message) {
	c.ephemerals = append(c.ephemerals, m)
	if n := len(c.ephemerals) - channelEphemeral; n > 0 {
		c.ephemerals = slices.Delete(c.ephemerals, 0, n)
	}
}

func (c *channel) removeEphemeral(m *message) {
	c.ephemerals = slices.DeleteFunc(c.ephemerals, func(x *message) bool { return x == m })
}

func (c *channel) replies(root string) []*message { return c.threads[root] }

func (s *Server) userByID(id string) *User {
	for i := range s.opt.Users {
		if s.opt.Users[i].ID == id {
			return &s.opt.Users[i]
		}
	}
	return nil
}

// person finds a user by id or handle.
func (s *Server) person(ref string) *User {
	ref = strings.TrimPrefix(strings.TrimSpace(ref), "@")
	for i := range s.opt.Users {
		if u := &s.opt.Users[i]; u.ID == ref || strings.EqualFold(u.Name, ref) {
			return u
		}
	}
	return nil
}

// userName is the handle for an id, the bot's and Slackbot's too.
func (s *Server) userName(id string) string {
	if id == s.app.BotUserID {
		return s.app.Name
	}
	if id == slackbotID {
		return "Slackbot"
	}
	if u := s.userByID(id); u != nil {
		return u.Name
	}
	return id
}

func (s *Server) known(id string) bool { return id == s.app.BotUserID || s.userByID(id) != nil }

func (s *Server) channelByID(id string) *channel {
	for _, c := range s.channels {
		if c.ID == id {
			return c
		}
	}
	return nil
}

func (s *Server) channelByName(name string) *channel {
	name = strings.TrimPrefix(name, "#")
	for _, c := range s.channels {
		if (c.Type == "channel" || c.Type == "private") && strings.EqualFold(c.Name, name) {
			return c
		}
	}
	return nil
}

// conversation finds a channel by id or name as a person would name it; the
// bot's name is that person's direct message.
func (s *Server) conversation(ref, user string) *channel {
	ref = strings.TrimSpace(ref)
	if c := s.channelByID(ref); c != nil {
		return c
	}
	bare := strings.TrimPrefix(ref, "@")
	if strings.EqualFold(bare, s.app.Name) || bare == s.app.BotUserID {
		return s.dm(user)
	}
	return s.channelByName(ref)
}

// dm is the direct message of a person with the bot.
func (s *Server) dm(user string) *channel {
	for _, c := range s.channels {
		if c.Type == "im" && c.User == user {
			return c
		}
	}
	return nil
}
