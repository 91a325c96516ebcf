package workspace

import (
	"io"
	"net/http"
	"time"
)

const (
	responseUses = 5
	responseLife = 30 * time.Minute
)

// responseURL is the right to answer a command or a click without a token.
type responseURL struct {
	user, channel string
	at            time.Time
	uses          int
	original      *message // the message with the component; nil after a command
}

func (s *Server) newResponseURL(kind, user string, c *channel, original *message) string {
	now := s.now()
	prune(s.responses, &s.responsesNext, func(r *responseURL) bool { return now.Sub(r.at) > 2*responseLife })
	id := kind + "-" + randomHex(32)
	s.responses[id] = &responseURL{user: user, channel: c.ID, at: now, original: original}
	return s.URL() + "/response/" + id
}

func (s *Server) handleResponseURL(w http.ResponseWriter, r *http.Request) {
	began, at := time.Now(), s.now()
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
	var args arguments
	if err == nil {
		err = decodeJSON(body, &args)
	}
	status, code := http.StatusBadRequest, "invalid_payload"
	if err == nil && args != nil {
		s.mu.Lock()
		status, code = s.respond(s.responses[r.PathValue("id")], args)
		s.mu.Unlock()
	}
	text := or(code, "ok")
	s.logCall(call{At: at, Method: "response_url", Args: args.shown(), Answer: text, Status: status, Duration: time.Since(began)})
	if status == http.StatusNotFound {
		writeJSON(w, status, obj{"ok": false, "error": code})
		return
	}
	w.WriteHeader(status)
	io.WriteString(w, text) //nolint:errcheck // the caller is gone
}

// respond carries out one use; only those that took effect count.
func (s *Server) respond(r *responseURL, args arguments) (int, string) {
	switch {
	case r == nil || s.now().Sub(r.at) > responseLife:
		return http.StatusNotFound, "expired_url"
	case r.uses >= responseUses:
		return http.StatusNotFound, "used_url"
	}
	c := s.channelByID(r.channel)
	if args.boolean("delete_original") && r.original != nil {
		if s.there(c, r.original) {
			s.erase(c, r.original)
		}
		r.uses++
		return http.StatusOK, ""
	}
	content, fail := s.readContent(args)
	if fail != nil {
		return http.StatusBadRequest, fail.code
	}
	r.uses++
	// After a command there is no original: replace_original posts another message.
	if args.boolean("replace_original") && r.original != nil && s.there(c, r.original) {
		content.setText, content.setBlocks = true, true
		s.edit(r.original, content, s.app.BotUserID)
		if r.original.To == "" {
			s.changedEvent(c, r.original)
		}
		return http.StatusOK, ""
	}
	s.answerTo(c, r.user, content, args)
	return http.StatusOK, ""
}

func (s *Server) there(c *channel, m *message) bool {
	return c.find(m.TS) == m || c.ephemeral(m.TS, m.To) == m
}

// answerTo posts a new message for response_url or an ack body: to one person
// unless response_type is in_channel; in the channel unless thread_ts is given.
func (s *Server) answerTo(c *channel, user string, content content, args arguments) {
	m := s.botMessage(content)
	if ts := args.str("thread_ts"); ts != "" && c.find(ts) != nil {
		m.ThreadTS = ts
	}
	if args.str("response_type") == "in_channel" {
		s.post(c, m)
		return
	}
	m.To = user
	s.postEphemeral(c, m)
}
