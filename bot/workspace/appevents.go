package workspace

import (
	"slices"
	"strings"
	"time"
)

func (s *Server) subscribed(name string) bool { return slices.Contains(s.app.Events, name) }

// eventsPerHour is Slack's ceiling per workspace and app; above it the inner
// events are dropped and the app is told once a minute.
const eventsPerHour = 30_000

// overRate counts an event and says whether it is one too many.
func (s *Server) overRate() bool {
	now := s.now()
	if now.Sub(s.eventHour) >= time.Hour {
		s.eventHour, s.eventCount = now, 0
	}
	if s.eventCount++; s.eventCount <= eventsPerHour {
		return false
	}
	if minute := now.Unix() / 60 * 60; minute != s.eventTold {
		s.eventTold = minute
		s.send("events_api", "app_rate_limited", obj{
			"token": "local-verification-token", "type": "app_rate_limited", "team_id": s.opt.Team.ID, "minute_rate_limited": minute, "api_app_id": s.app.ID,
		}, false)
	}
	return true
}

// appEvent sends one Events API event.
func (s *Server) appEvent(inner obj) {
	if !s.opt.RateLimits.Off && s.overRate() {
		return
	}
	kind, _ := inner["type"].(string)
	eventID := "Ev0" + randomFrom(upperAlnum, 8)
	s.send("events_api", kind, obj{
		"token": "local-verification-token", "team_id": s.opt.Team.ID, "context_team_id": s.opt.Team.ID, "context_enterprise_id": nil,
		"api_app_id": s.app.ID, "event": inner, "type": "event_callback", "event_id": eventID, "event_time": s.now().Unix(),
		"authorizations":        []obj{{"enterprise_id": nil, "team_id": s.opt.Team.ID, "user_id": s.app.BotUserID, "is_bot": true, "is_enterprise_install": false}},
		"is_ext_shared_channel": false, "event_context": "4-" + eventID,
	}, false)
}

var messageEvents = map[string]string{"channel": "message.channels", "private": "message.groups", "im": "message.im", "mpim": "message.mpim"}
var channelTypes = map[string]string{"channel": "channel", "private": "group", "im": "im", "mpim": "mpim"}

// hears says whether message events of this channel go to the app.
func (s *Server) hears(c *channel) bool {
	return c.member(s.app.BotUserID) && s.subscribed(messageEvents[c.Type]) && s.granted(scopeFamily[c.Type]+":history")
}

// messageEvent sends message and app_mention: both fire for one text.
func (s *Server) messageEvent(c *channel, m *message) {
	o := s.wire(m, true)
	for _, name := range []string{"reply_count", "reply_users", "reply_users_count", "latest_reply", "is_locked", "subscribed"} {
		delete(o, name)
	}
	o["channel"], o["event_ts"] = c.ID, m.TS
	if s.mentioned(c, m) {
		mention := cloneObject(o)
		mention["type"] = "app_mention"
		s.appEvent(mention)
	}
	if s.hears(c) {
		o["channel_type"] = channelTypes[c.Type]
		s.appEvent(o)
	}
}

func (s *Server) mentioned(c *channel, m *message) bool {
	return !m.Bot && m.Subtype == "" && c.Type != "im" && c.member(s.app.BotUserID) && s.subscribed("app_mention") && s.granted("app_mentions:read") &&
		(strings.Contains(m.Text, "<@"+s.app.BotUserID+">") || strings.Contains(m.Text, "<@"+s.app.BotUserID+"|"))
}

func (s *Server) changedEvent(c *channel, m *message) {
	if s.hears(c) {
		s.appEvent(obj{"type": "message", "subtype": "message_changed", "hidden": true, "channel": c.ID, "channel_type": channelTypes[c.Type], "ts": stampOf(s.now()), "event_ts": stampOf(s.now()), "message": s.wire(m, true)})
	}
}

func (s *Server) deletedEvent(c *channel, m *message) {
	if s.hears(c) {
		s.appEvent(obj{"type": "message", "subtype": "message_deleted", "hidden": true, "channel": c.ID, "channel_type": channelTypes[c.Type], "ts": stampOf(s.now()), "event_ts": stampOf(s.now()), "deleted_ts": m.TS, "previous_message": s.wire(m, true)})
	}
}

func (s *Server) memberEvent(c *channel, user, inviter string) {
	if !s.subscribed("member_joined_channel") || !c.member(s.app.BotUserID) {
		return
	}
	letter := "C"
	if c.Type == "private" {
		letter = "G"
	}
	o := obj{"type": "member_joined_channel", "user": user, "channel": c.ID, "channel_type": letter, "team": s.opt.Team.ID, "event_ts": stampOf(s.now())}
	put(o, "inviter", inviter)
	s.appEvent(o)
}

func (s *Server) reactionEvent(c *channel, m *message, user, name, kind string) {
	if !s.subscribed(kind) || !c.member(s.app.BotUserID) {
		return
	}
	s.appEvent(obj{"type": kind, "user": user, "reaction": name, "item_user": m.User, "item": obj{"type": "message", "channel": c.ID, "ts": m.TS}, "event_ts": stampOf(s.now())})
}

func (s *Server) homeEvent(user, tab string) {
	if !s.subscribed("app_home_opened") {
		return
	}
	o := obj{"type": "app_home_opened", "user": user, "channel": s.dm(user).ID, "tab": tab, "event_ts": stampOf(s.now())}
	if v := s.homes[user]; v != nil {
		o["view"] = s.viewObject(v)
	}
	s.appEvent(o)
}

func cloneObject(o obj) obj {
	out := make(obj, len(o))
	for k, v := range o {
		out[k] = v
	}
	return out
}
