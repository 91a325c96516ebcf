package workspace

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// frozen encodes now what may change once the mutex is free.
func frozen(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return raw
}

func (s *Server) commandByName(name string) *Command {
	for i := range s.app.Commands {
		if strings.EqualFold(s.app.Commands[i].Name, name) {
			return &s.app.Commands[i]
		}
	}
	return nil
}

// tell shows the person what Slack's client would, and answers the caller the same.
func (s *Server) tell(r request, code, text string) *controlError {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slackbot(r.channel, r.user.ID, r.str("thread_ts"), text)
	return refused(code, text)
}

func (s *Server) actCommand(r request) (obj, *controlError) {
	if fail := r.need(); fail != nil {
		return nil, fail
	}
	word, rest, _ := strings.Cut(strings.TrimSpace(r.str("text")), " ")
	s.mu.Lock()
	cmd, member := s.commandByName(word), r.channel.member(r.user.ID)
	s.mu.Unlock()
	switch {
	case !member:
		return nil, refused("not_in_channel", "Join the channel first.")
	case cmd == nil:
		return nil, s.tell(r, "unknown_command", fmt.Sprintf("%s is not a valid command. In Slack, all messages that start with the \"/\" character are interpreted as commands.", s.escape(word, false)))
	case r.str("thread_ts") != "":
		return nil, s.tell(r, "command_in_thread", cmd.Name+" is not supported in threads. Sorry!")
	}
	s.mu.Lock()
	e := s.send("slash_commands", cmd.Name, s.commandPayload(r, cmd, strings.TrimSpace(rest)), true)
	s.mu.Unlock()
	res := s.wait(e)
	if res.err != "" {
		return nil, s.tell(r, res.err, fmt.Sprintf("%s failed with the error \"%s\"", cmd.Name, res.err))
	}
	ack, code := s.showAck(r, res.payload)
	if code != "" {
		return nil, s.tell(r, code, fmt.Sprintf("%s failed with the error \"%s\"", cmd.Name, code))
	}
	return obj{"ack": ack}, nil
}

func (s *Server) commandPayload(r request, cmd *Command, text string) obj {
	name := r.channel.Name
	switch r.channel.Type {
	case "im":
		name = "directmessage"
	case "private", "mpim":
		name = "privategroup"
	}
	if cmd.Escape {
		text = s.escape(text, true)
	}
	return obj{
		"token": "local-verification-token", "team_id": s.opt.Team.ID, "team_domain": s.opt.Team.Domain, "channel_id": r.channel.ID, "channel_name": name,
		"user_id": r.user.ID, "user_name": r.user.Name, "command": cmd.Name, "text": text, "api_app_id": s.app.ID, "is_enterprise_install": "false",
		"response_url": s.newResponseURL("commands", r.user.ID, r.channel, nil), "trigger_id": s.newTrigger(r.user.ID),
	}
}

// showAck posts what the ack carries. With in_channel Slack shows the typed
// command as well.
func (s *Server) showAck(r request, payload json.RawMessage) (any, string) {
	if len(payload) == 0 {
		return obj{}, ""
	}
	args := arguments{}
	if decodeJSON(payload, &args) != nil {
		return nil, "invalid_command_response"
	}
	if len(args) == 0 {
		return obj{}, ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	content, fail := s.readContent(args)
	if fail != nil {
		return nil, "invalid_command_response"
	}
	if args.str("response_type") == "in_channel" {
		s.post(r.channel, &message{User: r.user.ID, Text: s.escape(strings.TrimSpace(r.str("text")), false)})
	}
	s.answerTo(r.channel, r.user.ID, content, args)
	return payload, ""
}

// interaction is the part all interactive payloads share.
func (s *Server) interaction(typ string, u *User) obj {
	return obj{
		"type": typ, "team": obj{"id": s.opt.Team.ID, "domain": s.opt.Team.Domain}, "enterprise": nil, "is_enterprise_install": false,
		"user":       obj{"id": u.ID, "username": u.Name, "name": u.Name, "team_id": s.opt.Team.ID},
		"api_app_id": s.app.ID, "token": "local-verification-token", "trigger_id": s.newTrigger(u.ID),
	}
}

// surfaceOf finds what a click is on: a view, a message or an ephemeral one.
func (s *Server) surfaceOf(r request) (*view, *message, *controlError) {
	if fail := r.needUser(); fail != nil {
		return nil, nil, fail
	}
	if vid := r.str("view_id"); vid != "" {
		v := s.views[vid]
		if v == nil || v.User != r.user.ID {
			return nil, nil, notFound("view", vid)
		}
		return v, nil, nil
	}
	if fail := r.need(); fail != nil {
		return nil, nil, fail
	}
	m := r.channel.find(r.str("ts"))
	if m == nil {
		m = r.channel.ephemeral(r.str("ts"), r.user.ID)
	}
	if m == nil {
		return nil, nil, notFound("message", r.str("ts"))
	}
	return nil, m, nil
}

func (s *Server) actClick(r request) (obj, *controlError) {
	s.mu.Lock()
	e, fail := s.click(r)
	s.mu.Unlock()
	if fail != nil {
		return nil, fail
	}
	if res := s.wait(e); res.err != "" {
		return nil, refused(res.err, "The app did not answer in time. Try again?")
	}
	return obj{"ack": obj{}}, nil
}

// click builds and sends block_actions. The mutex is held.
func (s *Server) click(r request) (*envelope, *controlError) {
	v, m, fail := s.surfaceOf(r)
	if fail != nil {
		return nil, fail
	}
	var blocks []any
	if v != nil {
		blocks = v.Blocks
		if fail := s.fillIn(v, r.arguments["values"]); fail != nil {
			return nil, fail
		}
	} else {
		blocks = m.allBlocks()
	}
	value := r.str("value")
	block, el := findElement(blocks, r.str("block_id"), r.str("action_id"), func(e obj) bool {
		return value == "" || e["type"] != "button" || e["value"] == value
	})
	if el == nil {
		if _, other := findElement(blocks, r.str("block_id"), r.str("action_id"), func(obj) bool { return true }); other != nil {
			return nil, &controlError{http.StatusConflict, "value_mismatch", "the button has another value now"}
		}
		return nil, notFound("action", r.str("action_id"))
	}
	action, state, fail := s.action(r, block, el)
	if fail != nil {
		return nil, fail
	}
	p := s.interaction("block_actions", r.user)
	p["actions"] = []obj{action}
	if v != nil {
		if state != nil {
			v.State = withState(v.State, block, r.str("action_id"), state)
		}
		o := s.viewObject(v)
		p["container"], p["view"], p["state"] = obj{"type": "view", "view_id": v.ID}, o, o["state"]
		return s.send("interactive", "block_actions "+r.str("action_id"), p, false), nil
	}
	if state != nil {
		all := map[string]map[string]obj{}
		for u, st := range m.State {
			all[u] = st
		}
		all[r.user.ID] = withState(all[r.user.ID], block, r.str("action_id"), state)
		m.State = all
	}
	s.messageClick(p, r, m)
	return s.send("interactive", "block_actions "+r.str("action_id"), p, false), nil
}

func (s *Server) messageClick(p obj, r request, m *message) {
	container := obj{"type": "message", "message_ts": m.TS, "channel_id": r.channel.ID, "is_ephemeral": m.To != ""}
	put(container, "thread_ts", m.ThreadTS)
	name := r.channel.Name
	if r.channel.Type == "im" {
		name = "directmessage"
	} else if r.channel.private() {
		name = "privategroup"
	}
	p["container"], p["channel"] = container, obj{"id": r.channel.ID, "name": name}
	p["state"] = obj{"values": stateValues(m.allBlocks(), m.State[r.user.ID])}
	p["response_url"] = s.newResponseURL("actions", r.user.ID, r.channel, m)
	if m.To == "" {
		p["message"] = s.wire(m, true)
	}
}

func (m *message) allBlocks() []any {
	all := m.Blocks
	for _, a := range m.Attachments {
		o, _ := a.(obj)
		inner, _ := o["blocks"].([]any)
		all = append(all[:len(all):len(all)], inner...)
	}
	return all
}

// action is the actions[] item, and the element's new state if it keeps one.
func (s *Server) action(r request, block string, el obj) (obj, obj, *controlError) {
	typ, _ := el["type"].(string)
	a := obj{"type": typ, "action_id": el["action_id"], "block_id": block, "action_ts": stampOf(s.now())}
	key := valueKeys[typ]
	if key == "" {
		for _, name := range []string{"text", "value", "style", "url"} {
			if el[name] != nil {
				a[name] = el[name]
			}
		}
		return a, nil, nil
	}
	raw, given := r.arguments[key]
	if !given {
		raw = r.arguments["value"]
	}
	state, err := newState(el, raw)
	if err != nil {
		return nil, nil, badRequest("invalid_option", err.Error())
	}
	a[key] = state[key]
	if el["placeholder"] != nil {
		a["placeholder"] = el["placeholder"]
	}
	if !stateful(typ) {
		state = nil
	}
	return a, state, nil
}

// actOptions asks the app for an external select's options.
func (s *Server) actOptions(r request) (obj, *controlError) {
	s.mu.Lock()
	v, m, fail := s.surfaceOf(r)
	if fail != nil {
		s.mu.Unlock()
		return nil, fail
	}
	p := s.interaction("block_suggestion", r.user)
	delete(p, "trigger_id")
	p["action_id"], p["value"] = r.str("action_id"), r.str("value")
	var blocks []any
	if v != nil {
		blocks = v.Blocks
		p["container"], p["view"] = obj{"type": "view", "view_id": v.ID}, s.viewObject(v)
	} else {
		blocks = m.allBlocks()
		s.messageClick(p, r, m)
		delete(p, "response_url")
	}
	block, el := findElement(blocks, r.str("block_id"), r.str("action_id"), func(obj) bool { return true })
	if el == nil {
		s.mu.Unlock()
		return nil, notFound("action", r.str("action_id"))
	}
	p["block_id"] = block
	e := s.send("interactive", "block_suggestion "+r.str("action_id"), p, true)
	s.mu.Unlock()
	res := s.wait(e)
	if res.err != "" {
		return nil, refused(res.err, "Could not load the options.")
	}
	out := obj{}
	if len(res.payload) == 0 || decodeJSON(res.payload, &out) != nil {
		return nil, refused("invalid_response", "Could not load the options.")
	}
	return obj{"options": out["options"], "option_groups": out["option_groups"]}, nil
}
