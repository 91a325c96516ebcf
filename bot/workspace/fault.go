package workspace

import (
	"net/http"
	"slices"
	"time"
)

// fault is one disturbance put in by a test. Those of calls and envelopes are
// used up by times; those of state last until they are cleared.
type fault struct {
	ID         int    `json:"id"`
	Kind       string `json:"kind"`
	Method     string `json:"method,omitempty"`  // calls: "" is any
	Envelope   string `json:"type,omitempty"`    // envelopes: "" is any type
	Channel    string `json:"channel,omitempty"` // calls: only on this channel; state: the channel
	Error      string `json:"error,omitempty"`
	Status     int    `json:"status,omitempty"`
	RetryAfter int    `json:"retry_after,omitempty"` // seconds
	DelayMS    int    `json:"delay_ms,omitempty"`
	Scope      string `json:"scope,omitempty"`
	TS         string `json:"ts,omitempty"`
	Socket     int    `json:"socket,omitempty"` // 0 is all
	Left       int    `json:"left"`             // uses left; -1 until cleared
	Hits       int    `json:"hits"`
}

var (
	callFaults     = []string{"error", "ratelimited", "http_error", "slow", "lost_answer", "lost_request"}
	envelopeFaults = []string{"duplicate", "reorder", "late"}
	stateFaults    = []string{"token_revoked", "scope_missing", "channel_archived", "bot_removed"}
	actFaults      = []string{"socket_cut", "socket_frozen", "message_deleted"}
)

// actFault arms a fault, or carries it out at once.
func (s *Server) actFault(r request) (obj, *controlError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := &fault{
		ID: s.nextFault + 1, Kind: r.str("kind"), Method: r.str("method"), Envelope: r.str("type"), Error: or(r.str("error"), "internal_error"),
		Status: r.number("status", http.StatusServiceUnavailable, 599), RetryAfter: r.number("retry_after", 1, 3600), DelayMS: r.number("delay_ms", 0, 600_000),
		Scope: r.str("scope"), TS: r.str("ts"), Socket: r.number("socket", 0, 1<<30), Left: max(1, r.number("times", 1, 1<<30)),
	}
	if r.channel != nil {
		f.Channel = r.channel.ID
	}
	switch {
	case slices.Contains(stateFaults, f.Kind):
		f.Left = -1
	case !slices.Contains(slices.Concat(callFaults, envelopeFaults, actFaults), f.Kind):
		return nil, badRequest("unknown_fault", "kind is one of the faults in the reference")
	}
	if f.Kind != "error" {
		f.Error = ""
	}
	if fail := s.begin(f); fail != nil {
		return nil, fail
	}
	s.nextFault = f.ID
	if !slices.Contains(actFaults, f.Kind) {
		s.faults = append(s.faults, f)
	}
	return obj{"fault": frozen(f)}, nil
}

// begin carries out what a fault does at once.
func (s *Server) begin(f *fault) *controlError {
	c := s.channelByID(f.Channel)
	if slices.Contains([]string{"channel_archived", "bot_removed", "message_deleted"}, f.Kind) && c == nil {
		return badRequest("missing_channel", "this fault needs a channel")
	}
	switch f.Kind {
	case "scope_missing":
		if !s.granted(f.Scope) {
			return badRequest("unknown_scope", "the app does not have that scope")
		}
	case "channel_archived":
		c.Archived = true
		s.emitChannel("channel_changed", c)
	case "bot_removed":
		s.removeMember(c, s.app.BotUserID)
	case "message_deleted":
		m := c.find(f.TS)
		if m == nil {
			return notFound("message", f.TS)
		}
		s.erase(c, m)
	case "socket_cut", "socket_frozen":
		for _, sock := range s.sockets {
			if f.Socket != 0 && sock.number != f.Socket {
				continue
			}
			if f.Kind == "socket_frozen" {
				sock.frozen = true
			} else {
				sock.gone = true
				go sock.conn.CloseNow() //nolint:errcheck // that is the fault
			}
		}
	}
	return nil
}

// end takes back what a state fault did.
func (s *Server) end(f *fault) {
	c := s.channelByID(f.Channel)
	switch f.Kind {
	case "channel_archived":
		c.Archived = false
		s.emitChannel("channel_changed", c)
	case "bot_removed":
		s.addMember(c, s.app.BotUserID, "")
	}
}

func (s *Server) readFaults(request) (any, *controlError) {
	return append([]*fault{}, s.faults...), nil
}

// handleClearFaults ends all faults, or the one with ?id=.
func (s *Server) handleClearFaults(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	req := request{arguments: arguments{"id": r.URL.Query().Get("id")}}
	only, cleared := req.number("id", 0, 1<<30), 0
	s.faults = slices.DeleteFunc(s.faults, func(f *fault) bool {
		if only != 0 && f.ID != only {
			return false
		}
		s.end(f)
		cleared++
		return true
	})
	s.mu.Unlock()
	writeJSON(w, http.StatusOK, obj{"ok": true, "cleared": cleared})
}

// use spends one use of the first fault that fits. The mutex is held.
func (s *Server) use(fits func(*fault) bool) *fault {
	for i, f := range s.faults {
		if !fits(f) {
			continue
		}
		f.Hits++
		if f.Left > 0 {
			if f.Left--; f.Left == 0 {
				s.faults = slices.Delete(s.faults, i, i+1)
			}
		}
		copied := *f
		return &copied
	}
	return nil
}

// takeFault gives the fault for this call, nil when there is none.
func (s *Server) takeFault(method string, args arguments) *fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.use(func(f *fault) bool {
		return slices.Contains(callFaults, f.Kind) && (f.Method == "" || f.Method == method) && (f.Channel == "" || f.Channel == args.str("channel"))
	})
}

// before delays the call; true means that it never arrived.
func (f *fault) before(call, stop <-chan struct{}) bool {
	if f == nil {
		return false
	}
	if f.DelayMS > 0 {
		wait := time.NewTimer(time.Duration(f.DelayMS) * time.Millisecond)
		defer wait.Stop()
		select {
		case <-wait.C:
		case <-stop:
		case <-call: // the caller gave up: Slack would go on
		}
	}
	return f.Kind == "lost_request"
}

func (f *fault) refusal() *apiError {
	if f == nil {
		return nil
	}
	switch f.Kind {
	case "error":
		return failed(f.Error)
	case "ratelimited":
		return rateLimited(time.Duration(f.RetryAfter) * time.Second)
	case "http_error":
		return &apiError{code: "service_unavailable", status: f.Status, html: true}
	}
	return nil
}

// after says that the effect is there and the answer is not.
func (f *fault) after() bool { return f != nil && f.Kind == "lost_answer" }

// revoked says whether a fault has taken the tokens away.
func (s *Server) revoked() bool {
	return slices.ContainsFunc(s.faults, func(f *fault) bool { return f.Kind == "token_revoked" })
}

// scopes are those granted, without what faults have taken.
func (s *Server) scopes() []string {
	return slices.DeleteFunc(slices.Clone(s.app.Scopes), func(scope string) bool {
		return slices.ContainsFunc(s.faults, func(f *fault) bool { return f.Kind == "scope_missing" && f.Scope == scope })
	})
}

// disturbed puts one envelope's frame on its way with the faults armed.
func (s *Server) disturbed(e *envelope, sock *socket, o obj) {
	f := s.use(func(f *fault) bool {
		return slices.Contains(envelopeFaults, f.Kind) && (f.Envelope == "" || f.Envelope == e.typ)
	})
	later := func(d time.Duration, sock *socket, o obj) {
		time.AfterFunc(d, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.stop.Err() == nil {
				s.frame(sock, o)
			}
		})
	}
	switch {
	case f == nil:
		s.frame(sock, o)
	case f.Kind == "duplicate":
		s.frame(sock, o)
		s.frame(sock, o)
	case f.Kind == "late":
		later(time.Duration(f.DelayMS)*time.Millisecond, sock, o)
		return
	case f.Kind == "reorder": // let the next one pass; alone it comes half a second late
		held := &heldFrame{sock: sock, frame: o}
		s.held = held
		time.AfterFunc(500*time.Millisecond, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.held == held {
				s.held = nil
				s.frame(held.sock, held.frame)
			}
		})
		return
	}
	if h := s.held; h != nil {
		s.held = nil
		s.frame(h.sock, h.frame)
	}
}

// heldFrame waits for another to overtake it.
type heldFrame struct {
	sock  *socket
	frame obj
}
