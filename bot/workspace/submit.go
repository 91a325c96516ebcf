package workspace

import (
	"encoding/json"
	"fmt"
	"slices"
)

const trouble = "We had some trouble connecting. Try again?"

// fillIn puts a form's contents into a view: {block_id: {action_id: …}} or the
// short form {action_id: value}.
func (s *Server) fillIn(v *view, values any) *controlError {
	o, ok := values.(obj)
	if !ok {
		if values == nil {
			return nil
		}
		return badRequest("invalid_values", "values is an object")
	}
	for key, value := range o {
		actions, nested := value.(obj)
		if blockByID(v.Blocks, key) == nil || !nested {
			if fail := s.setValue(v, "", key, value); fail != nil {
				return fail
			}
			continue
		}
		for aid, inner := range actions {
			if fail := s.setValue(v, key, aid, inner); fail != nil {
				return fail
			}
		}
	}
	return nil
}

func (s *Server) setValue(v *view, block, action string, value any) *controlError {
	bid, el := findElement(v.Blocks, block, action, func(obj) bool { return true })
	if el == nil {
		return notFound("action", action)
	}
	state, err := newState(el, value)
	if err != nil {
		return badRequest("invalid_option", fmt.Sprintf("%s: %v", action, err))
	}
	v.State = withState(v.State, bid, action, state)
	return nil
}

// formErrors is what the client refuses by itself.
func formErrors(v *view) map[string]string {
	out := map[string]string{}
	values := stateValues(v.Blocks, v.State)
	for _, b := range v.Blocks {
		block, _ := b.(obj)
		if block["type"] != "input" {
			continue
		}
		bid, _ := block["block_id"].(string)
		e, _ := block["element"].(obj)
		actions, _ := values[bid].(obj)
		aid, _ := e["action_id"].(string)
		state, _ := actions[aid].(obj)
		if text := formError(block, e, state); text != "" {
			out[bid] = text
		}
	}
	return out
}

func (s *Server) actSubmit(r request) (obj, *controlError) {
	if fail := r.needUser(); fail != nil {
		return nil, fail
	}
	s.mu.Lock()
	e, v, answer, fail := s.submit(r)
	s.mu.Unlock()
	if fail != nil || answer != nil {
		return answer, fail
	}
	res := s.wait(e)
	if res.err != "" {
		return nil, refused(res.err, trouble)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.afterSubmit(v, res.payload)
}

// submit sends view_submission, or answers at once when the form is incomplete.
func (s *Server) submit(r request) (*envelope, *view, obj, *controlError) {
	v := s.views[r.str("view_id")]
	stack := s.stacks[r.user.ID]
	if v == nil || v.User != r.user.ID || len(stack) == 0 || stack[len(stack)-1] != v {
		return nil, nil, nil, notFound("view", r.str("view_id"))
	}
	if fail := s.fillIn(v, r.arguments["values"]); fail != nil {
		return nil, nil, nil, fail
	}
	if errs := formErrors(v); len(errs) > 0 {
		return nil, nil, obj{"ok": false, "errors": errs}, nil
	}
	p := s.interaction("view_submission", r.user)
	p["view"], p["response_urls"] = s.viewObject(v), []obj{}
	return s.send("interactive", "view_submission "+v.CallbackID, p, true), v, nil, nil
}

// afterSubmit carries out the ack's response_action. A wrong one shows trouble
// to the person and nothing to the app.
func (s *Server) afterSubmit(v *view, payload json.RawMessage) (obj, *controlError) {
	var ack struct {
		Action string            `json:"response_action"`
		Errors map[string]string `json:"errors"`
		View   json.RawMessage   `json:"view"`
	}
	if len(payload) > 0 && json.Unmarshal(payload, &ack) != nil {
		return nil, refused("invalid_response", trouble)
	}
	at := s.stackIndex(v)
	if at < 0 { // closed by the app or the person meanwhile
		return s.stackAnswer(v.User, or(ack.Action, "close")), nil
	}
	switch ack.Action {
	case "":
		s.dropViews(v.User, at)
		s.rehash(v.User)
		return s.stackAnswer(v.User, "close"), nil
	case "clear":
		s.dropViews(v.User, 0)
		return s.stackAnswer(v.User, "clear"), nil
	case "errors":
		for bid, text := range ack.Errors {
			if b := blockByID(v.Blocks, bid); b == nil || b["type"] != "input" || text == "" {
				return nil, refused("invalid_response", trouble)
			}
		}
		if len(ack.Errors) == 0 {
			return nil, refused("invalid_response", trouble)
		}
		return obj{"ok": false, "errors": ack.Errors}, nil
	case "update", "push":
		return s.replaceAfterSubmit(v, ack.Action, ack.View)
	}
	return nil, refused("invalid_response", trouble)
}

func (s *Server) replaceAfterSubmit(v *view, action string, raw json.RawMessage) (obj, *controlError) {
	var value any
	if decodeJSON(raw, &value) != nil {
		return nil, refused("invalid_response", trouble)
	}
	fresh, fail := s.readView(value, false)
	if fail != nil || s.externalTaken(fresh.ExternalID, v) {
		return nil, refused("invalid_response", trouble)
	}
	if action == "push" {
		if len(s.stacks[v.User]) >= viewStackLimit {
			return nil, refused("invalid_response", trouble)
		}
		s.pushView(v.User, fresh)
	} else {
		s.replaceView(v, fresh)
	}
	return s.stackAnswer(v.User, action), nil
}

// rehash follows Slack: a submitted view changes the hash of those below it.
func (s *Server) rehash(user string) {
	for _, v := range s.stacks[user] {
		s.freshHash(v)
		s.emit(event{name: "view_updated", to: user, data: obj{"user": user, "view": s.screenView(v)}})
	}
}

func (s *Server) stackAnswer(user, action string) obj {
	views := []obj{}
	for _, v := range s.stacks[user] {
		views = append(views, s.screenView(v))
	}
	return obj{"action": action, "views": frozen(views)}
}

func (s *Server) actClose(r request) (obj, *controlError) {
	if fail := r.needUser(); fail != nil {
		return nil, fail
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.views[r.str("view_id")]
	if v == nil || v.User != r.user.ID || s.stackIndex(v) < 0 {
		return nil, notFound("view", r.str("view_id"))
	}
	at, cleared := s.stackIndex(v), r.boolean("clear") || v.ClearOnClose
	if cleared {
		at = 0
	}
	for _, gone := range slices.Backward(s.dropViews(r.user.ID, at)) {
		if gone.NotifyOnClose {
			p := s.interaction("view_closed", r.user)
			delete(p, "trigger_id")
			p["view"], p["is_cleared"] = s.viewObject(gone), cleared
			s.send("interactive", "view_closed "+gone.CallbackID, p, false)
		}
	}
	return obj{"views": s.stackAnswer(r.user.ID, "close")["views"]}, nil
}
