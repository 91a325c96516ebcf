package workspace

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// controlError is a refusal of the control API.
type controlError struct {
	status int
	code   string
	detail string
}

func (e *controlError) write(w http.ResponseWriter) {
	writeJSON(w, e.status, obj{"ok": false, "error": e.code, "detail": e.detail})
}

func notFound(what, ref string) *controlError {
	return &controlError{http.StatusNotFound, what + "_not_found", "no " + what + " " + strconv.Quote(ref)}
}

func badRequest(code, detail string) *controlError {
	return &controlError{http.StatusBadRequest, code, detail}
}

// refused is an outcome a person would see: HTTP 200.
func refused(code, detail string) *controlError { return &controlError{http.StatusOK, code, detail} }

// request is one control call; Args are the fields beside those named.
type request struct {
	arguments
	user    *User
	channel *channel
}

func (s *Server) controlRoutes(mux *http.ServeMux) {
	reads := map[string]func(request) (any, *controlError){
		"users": s.readUsers, "app": s.readApp, "channels": s.readChannels, "messages": s.readMessages, "views": s.readViews,
		"home": s.readHome, "commands": s.readCommands, "calls": s.readCalls, "envelopes": s.readEnvelopes, "health": s.readHealth,
		"search": s.readSearch, "threads": s.readThreads, "faults": s.readFaults,
	}
	acts := map[string]func(request) (obj, *controlError){
		"command": s.actCommand, "click": s.actClick, "options": s.actOptions, "message": s.actMessage, "submit": s.actSubmit,
		"close": s.actClose, "edit": s.actEdit, "delete": s.actDelete, "react": s.actReact, "dismiss": s.actDismiss, "home": s.actHome,
		"channels": s.actChannel, "members": s.actMember, "archive": s.actArchive, "disconnect": s.actDisconnect, "faults": s.actFault,
	}
	for name, read := range reads {
		mux.HandleFunc("GET /_workspace/"+name, func(w http.ResponseWriter, r *http.Request) { s.serveRead(w, r, read) })
	}
	for name, act := range acts {
		mux.HandleFunc("POST /_workspace/"+name, func(w http.ResponseWriter, r *http.Request) { s.serveAct(w, r, act) })
	}
	mux.HandleFunc("DELETE /_workspace/faults", s.handleClearFaults)
}

// serveRead answers under the mutex, encoding included, as what is read may
// change right after.
func (s *Server) serveRead(w http.ResponseWriter, r *http.Request, read func(request) (any, *controlError)) {
	args := arguments{}
	for k, v := range r.URL.Query() {
		args[k] = v[0]
	}
	w.Header().Set("Cache-Control", "no-store")
	s.mu.Lock()
	req, fail := s.resolve(args)
	var answer any
	if fail == nil {
		answer, fail = read(req)
	}
	var raw []byte
	var err error
	if fail == nil {
		raw, err = json.Marshal(answer)
	}
	s.mu.Unlock()
	switch {
	case fail != nil:
		fail.write(w)
	case err != nil:
		http.Error(w, "encode the answer: "+err.Error(), http.StatusInternalServerError)
	default:
		writeJSON(w, http.StatusOK, json.RawMessage(raw))
	}
}

// serveAct reads the body and leaves locking to the act, which may wait.
func (s *Server) serveAct(w http.ResponseWriter, r *http.Request, act func(request) (obj, *controlError)) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
	args := arguments{}
	if err == nil {
		err = decodeJSON(body, &args)
	}
	if err != nil {
		badRequest("invalid_json", "the body must be one JSON object").write(w)
		return
	}
	s.mu.Lock()
	req, fail := s.resolve(args)
	s.mu.Unlock()
	var answer obj
	if fail == nil {
		answer, fail = act(req)
	}
	if fail != nil {
		fail.write(w)
		return
	}
	if _, said := answer["ok"]; !said {
		answer["ok"] = true
	}
	writeJSON(w, http.StatusOK, answer)
}

// resolve turns the names of the user (or as) and channel into themselves.
func (s *Server) resolve(args arguments) (request, *controlError) {
	req := request{arguments: args}
	if ref := or(args.str("user"), args.str("as")); ref != "" {
		if req.user = s.person(ref); req.user == nil && !s.isBot(ref) {
			return req, notFound("user", ref)
		}
	}
	if ref := args.str("channel"); ref != "" {
		uid := ""
		if req.user != nil {
			uid = req.user.ID
		}
		if req.channel = s.conversation(ref, uid); req.channel == nil || (uid != "" && !req.channel.visible(uid)) {
			return req, notFound("channel", ref)
		}
	}
	return req, nil
}

func (s *Server) isBot(ref string) bool {
	ref = strings.TrimPrefix(ref, "@")
	return ref == s.app.BotUserID || strings.EqualFold(ref, s.app.Name)
}

func (r request) needUser() *controlError {
	if r.user == nil {
		return badRequest("missing_user", "say who acts: user")
	}
	return nil
}

func (r request) need() *controlError {
	if fail := r.needUser(); fail != nil {
		return fail
	}
	if r.channel == nil {
		return badRequest("missing_channel", "say where: channel")
	}
	return nil
}

func (s *Server) asUser(r *http.Request) (string, *controlError) {
	ref := r.URL.Query().Get("as")
	if ref == "" {
		return "", nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.person(ref)
	if u == nil {
		return "", notFound("user", ref)
	}
	return u.ID, nil
}

func (r request) number(name string, fallback, most int) int {
	n, err := strconv.Atoi(r.str(name))
	if err != nil || n < 0 {
		return fallback
	}
	return min(n, most)
}

func initials(name string) string {
	out := ""
	for _, w := range strings.Fields(name) {
		out += string([]rune(w)[:1])
	}
	return strings.ToUpper(string([]rune(out)[:min(2, len([]rune(out)))]))
}

func (s *Server) screenUser(u *User) obj {
	return obj{
		"id": u.ID, "name": u.Name, "real_name": u.RealName, "title": u.Title, "color": u.Color,
		"initials": initials(u.RealName), "tz": u.TZ, "locale": u.Locale, "is_bot": false,
	}
}

func (s *Server) readUsers(request) (any, *controlError) {
	out := []obj{}
	for _, instructors := range []bool{true, false} {
		for i := range s.opt.Users {
			if u := &s.opt.Users[i]; (u.Title == "Instructor") == instructors {
				out = append(out, s.screenUser(u))
			}
		}
	}
	return out, nil
}

func (s *Server) readApp(request) (any, *controlError) {
	return obj{
		"id": s.app.ID, "name": s.app.Name, "bot_user_id": s.app.BotUserID, "bot_id": s.app.BotID, "color": s.app.Color,
		"description": s.app.Description, "connected": len(s.sockets) > 0 || s.app.RequestURL != "", "sockets": len(s.sockets), "home_enabled": !s.app.NoHome,
		"team": obj{"id": s.opt.Team.ID, "name": s.opt.Team.Name, "domain": s.opt.Team.Domain},
	}, nil
}

func (s *Server) screenChannel(c *channel) obj {
	o := obj{
		"id": c.ID, "name": c.Name, "type": c.Type, "is_im": c.Type == "im", "is_private": c.Type == "private", "is_archived": c.Archived,
		"topic": c.Topic, "purpose": c.Purpose, "members": c.Members, "bot_member": c.member(s.app.BotUserID), "latest": "", "message_count": len(c.Messages),
	}
	put(o, "user", c.User)
	if n := len(c.Messages); n > 0 {
		o["latest"] = c.Messages[n-1].TS
	}
	return o
}

func (s *Server) readChannels(r request) (any, *controlError) {
	rest := slices.Clone(s.channels[1:])
	slices.SortStableFunc(rest, func(a, b *channel) int {
		direct := func(c *channel) int { return map[bool]int{true: 1}[c.Type == "im" || c.Type == "mpim"] }
		if d := direct(a) - direct(b); d != 0 {
			return d
		}
		return strings.Compare(a.Name, b.Name)
	})
	out := []obj{}
	for _, c := range append([]*channel{s.channels[0]}, rest...) {
		if r.user == nil || c.visible(r.user.ID) {
			out = append(out, s.screenChannel(c))
		}
	}
	return out, nil
}

func (s *Server) readCommands(request) (any, *controlError) {
	out := []obj{}
	for _, c := range s.app.Commands {
		completions := c.Completions
		if completions == nil {
			completions = []Completion{}
		}
		out = append(out, obj{"command": c.Name, "description": c.Description, "usage_hint": c.UsageHint, "completions": completions})
	}
	return out, nil
}

func (s *Server) readHealth(request) (any, *controlError) {
	return obj{"ok": true, "app_connected": len(s.sockets) > 0 || s.app.RequestURL != "", "sockets": len(s.sockets), "url": s.URL()}, nil
}
