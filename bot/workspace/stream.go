package workspace

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

const streamBuffer = 2048

// event is one server-sent event and who may see it.
type event struct {
	name    string
	channel string // members of this channel, everybody if it is public
	to      string // this person alone
	data    any
	text    []byte
}

type stream struct {
	ring    ring[event]
	changed chan struct{} // closed and made anew with each event
}

// emit freezes an event and wakes the listeners. The mutex is held.
func (s *Server) emit(e event) {
	text, err := json.Marshal(e.data)
	if err != nil {
		s.opt.Logger.Sugar().Errorf("encode event %s: %v", e.name, err)
		return
	}
	e.text, e.data = text, nil
	s.stream.ring.size = streamBuffer
	s.stream.ring.add(e)
	close(s.stream.changed)
	s.stream.changed = make(chan struct{})
}

func (s *Server) emitMessage(name string, m *message) {
	s.emit(event{name: name, channel: m.Channel, data: obj{"channel": m.Channel, "message": s.screen(m, "")}})
}

func (s *Server) emitEphemeral(name string, m *message) {
	s.emit(event{name: name, to: m.To, data: obj{"channel": m.Channel, "user": m.To, "message": s.screen(m, m.To)}})
}

func (s *Server) emitChannel(name string, c *channel) {
	s.emit(event{name: name, channel: c.ID, data: obj{"channel": s.screenChannel(c)}})
}

func (s *Server) maySee(user string, e event) bool {
	if user == "" {
		return true
	}
	if e.to != "" {
		return e.to == user
	}
	c := s.channelByID(e.channel)
	return e.channel == "" || c == nil || c.visible(user)
}

func (s *Server) handleEvents(w http.ResponseWriter, r *http.Request) {
	user, fail := s.asUser(r)
	if fail != nil {
		fail.write(w)
		return
	}
	cursor, resume := 0, false
	for _, v := range []string{r.Header.Get("Last-Event-ID"), r.URL.Query().Get("last_event_id")} {
		if n, err := strconv.Atoi(v); err == nil && n >= 0 {
			cursor, resume = n, true
			break
		}
	}
	if !s.enter() {
		http.Error(w, "the workspace is closing", http.StatusServiceUnavailable)
		return
	}
	defer s.wg.Done()
	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	s.mu.Lock()
	last := s.stream.ring.last()
	_, _, whole := s.stream.ring.since(cursor)
	s.mu.Unlock()
	// An id from before a restart lies in the future of this ring.
	if resume && (!whole || cursor > last) {
		fmt.Fprintf(w, "id: %d\nevent: reset\ndata: {\"last_id\":%d}\n\n", last, last)
	} else {
		fmt.Fprintf(w, "event: hello\ndata: {\"last_id\":%d}\n\n", last)
	}
	if !resume || !whole || cursor > last {
		cursor = last
	}
	s.follow(w, r, user, cursor)
}

// follow writes events until the reader goes or the server stops.
func (s *Server) follow(w http.ResponseWriter, r *http.Request, user string, cursor int) {
	out := http.NewResponseController(w)
	beat := time.NewTicker(15 * time.Second)
	defer beat.Stop()
	for {
		s.mu.Lock()
		items, first, _ := s.stream.ring.since(cursor)
		var lines []byte
		for i, e := range items {
			if s.maySee(user, e) {
				lines = fmt.Appendf(lines, "id: %d\nevent: %s\ndata: %s\n\n", first+i, e.name, e.text)
			}
			cursor = first + i
		}
		changed := s.stream.changed
		s.mu.Unlock()
		out.SetWriteDeadline(time.Now().Add(10 * time.Second)) //nolint:errcheck // a recorder has no deadline
		if _, err := w.Write(lines); err != nil || out.Flush() != nil {
			return
		}
		select {
		case <-changed:
		case <-beat.C:
			if _, err := w.Write([]byte(": beat\n\n")); err != nil {
				return
			}
		case <-r.Context().Done():
			return
		case <-s.stop.Done():
			return
		}
	}
}
