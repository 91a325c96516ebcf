package workspace

import (
	"encoding/json"
	"regexp"
	"slices"
	"time"
	"unicode/utf8"
)

const (
	viewSizeLimit  = 250_000 // bytes of JSON
	viewStackLimit = 3
	metadataText   = 3000 // characters of private_metadata
)

var triggerForm = regexp.MustCompile(`^\d+\.\d+\.[0-9a-f]+$`)

// view is a modal on a person's screen, or a published Home tab.
type view struct {
	ID, Type, User   string
	Title            obj
	Submit, Close    obj
	Blocks           []any
	CallbackID       string
	ExternalID       string
	PrivateMetadata  string
	ClearOnClose     bool
	NotifyOnClose    bool
	Hash             string
	RootID, Previous string
	State            map[string]obj // block_id to action_id to value
}

// trigger is the right to open one view soon after a person's act.
type trigger struct {
	user string
	at   time.Time
	used bool
}

// newTrigger starts the 3 s from now: the act, before its delivery.
func (s *Server) newTrigger(user string) string {
	now := s.now()
	prune(s.triggers, &s.triggersNext, func(t *trigger) bool { return now.Sub(t.at) > time.Minute })
	id := stampNumber(now) + ".70020." + randomHex(32)
	s.triggers[id] = &trigger{user: user, at: now}
	return id
}

// prune drops what is old once a map has grown to next, then moves next to
// twice what is left: each item is looked at a few times in its life, not with
// every new one.
func prune[T any](m map[string]T, next *int, old func(T) bool) {
	if len(m) < *next {
		return
	}
	for id, item := range m {
		if old(item) {
			delete(m, id)
		}
	}
	*next = max(64, 2*len(m))
}

func stampNumber(at time.Time) string {
	return stamp(at.UnixMicro())[:10] + randomFrom("0123456789", 3)
}

func (s *Server) spendTrigger(a appCall) (string, *apiError) {
	id := a.str("trigger_id")
	if id == "" {
		return "", invalidArguments("missing required field: trigger_id")
	}
	if !triggerForm.MatchString(id) {
		return "", failed("invalid_trigger_id")
	}
	t := s.triggers[id]
	switch {
	case t == nil:
		return "", failed("invalid_trigger_id")
	case t.used:
		return "", failed("exchanged_trigger_id")
	case s.now().Sub(t.at) > s.opt.Timing.Trigger:
		return "", failed("expired_trigger_id")
	}
	t.used = true
	return t.user, nil
}

// readView checks the view argument. The trigger is looked at after it, so a
// bad view does not cost the trigger.
func (s *Server) readView(value any, home bool) (*view, *apiError) {
	o, ok := value.(obj)
	if !ok {
		return nil, invalidArguments("must provide an object [json-pointer:/view]")
	}
	if raw, err := json.Marshal(o); err != nil || len(raw) > viewSizeLimit {
		return nil, failed("view_too_large")
	}
	if problems := checkView(o, home); len(problems) > 0 {
		return nil, invalidArguments(problems...)
	}
	get := func(name string) string { t, _ := o[name].(string); return t }
	v := &view{
		Type: get("type"), CallbackID: get("callback_id"), ExternalID: get("external_id"), PrivateMetadata: get("private_metadata"),
		ClearOnClose: o["clear_on_close"] == true, NotifyOnClose: o["notify_on_close"] == true,
	}
	v.Blocks = withIDs(o["blocks"].([]any))
	v.Title, v.Submit, v.Close = filledObject(o["title"]), filledObject(o["submit"]), filledObject(o["close"])
	return v, nil
}

func filledObject(value any) obj {
	o, ok := filled(value).(obj)
	if !ok {
		return nil
	}
	return o
}

func checkView(o obj, home bool) []string {
	on, typ := onModal, "modal"
	fields := map[string]rule{
		"title": must(plain(24)), "submit": plain(24), "close": plain(24),
		"blocks": must(rule{kind: isList, min: 1, max: 100}), "private_metadata": str(metadataText), "callback_id": id(), "external_id": id(),
		"clear_on_close": flag(), "notify_on_close": flag(), "submit_disabled": flag(),
	}
	if home {
		on, typ = onHome, "home"
		fields["title"] = plain(24)
	}
	v := &validator{families: blockFamilies, surface: on, blockIDs: map[string]bool{}}
	if o["type"] != typ {
		v.fail("/view/type", "unsupported type: %v", o["type"])
		return v.problems
	}
	v.object(&shape{fields: fields}, o, "/view")
	blocks, _ := o["blocks"].([]any)
	problems := slices.Concat(v.problems, checkBlocks(blocks[:min(len(blocks), 100)], on, "/view/blocks"))
	if hasBlock(blocks, "input") && o["submit"] == nil && !home {
		problems = append(problems, "missing required field: submit [json-pointer:/view]")
	}
	return problems
}

// freshHash gives the view a new hash, as each change does.
func (s *Server) freshHash(v *view) { v.Hash = stamp(s.now().UnixMicro())[:10] + "." + randomWord(8) }

func (s *Server) viewObject(v *view) obj {
	nullable := func(o obj) any {
		if o == nil {
			return nil
		}
		return o
	}
	var previous any
	if v.Previous != "" {
		previous = v.Previous
	}
	title := nullable(v.Title)
	if title == nil {
		title = obj{"type": "plain_text", "text": "View Title", "emoji": true}
	}
	return obj{
		"id": v.ID, "team_id": s.opt.Team.ID, "type": v.Type, "blocks": v.Blocks, "private_metadata": v.PrivateMetadata,
		"callback_id": v.CallbackID, "state": obj{"values": stateValues(v.Blocks, v.State)}, "hash": v.Hash, "title": title,
		"clear_on_close": v.ClearOnClose, "notify_on_close": v.NotifyOnClose, "close": nullable(v.Close), "submit": nullable(v.Submit),
		"previous_view_id": previous, "root_view_id": v.RootID, "app_id": s.app.ID, "external_id": v.ExternalID,
		"app_installed_team_id": s.opt.Team.ID, "bot_id": s.app.BotID,
	}
}

func (s *Server) screenView(v *view) obj {
	o := s.viewObject(v)
	o["user_id"] = v.User
	return o
}

func (s *Server) externalTaken(external string, not *view) bool {
	for _, v := range s.views {
		if external != "" && v.ExternalID == external && v != not {
			return true
		}
	}
	return false
}

// pushView puts a view on top of a person's stack.
func (s *Server) pushView(user string, v *view) {
	stack := s.stacks[user]
	v.ID, v.User = randomID("V"), user
	v.RootID = v.ID
	if n := len(stack); n > 0 {
		v.RootID, v.Previous = stack[0].ID, stack[n-1].ID
	}
	s.freshHash(v)
	s.views[v.ID] = v
	s.stacks[user] = append(slices.Clone(stack), v)
	s.emit(event{name: "view_opened", to: user, data: obj{"user": user, "view": s.screenView(v)}})
}

// replaceView puts new content into an open view. What was typed stays where
// block_id and action_id stay.
func (s *Server) replaceView(v, fresh *view) {
	state := map[string]obj{}
	ids := elementIDs(fresh.Blocks)
	for block, actions := range v.State {
		for action, value := range actions {
			if ids[block+"\x00"+action] {
				if state[block] == nil {
					state[block] = obj{}
				}
				state[block][action] = value
			}
		}
	}
	fresh.ID, fresh.User, fresh.RootID, fresh.Previous, fresh.State = v.ID, v.User, v.RootID, v.Previous, state
	*v = *fresh
	s.freshHash(v)
	name := "view_updated"
	if v.Type == "home" {
		name = "home_published"
	}
	s.emit(event{name: name, to: v.User, data: obj{"user": v.User, "view": s.screenView(v)}})
}

// dropViews closes a person's views from index from upwards.
func (s *Server) dropViews(user string, from int) []*view {
	stack := s.stacks[user]
	gone := slices.Clone(stack[from:])
	s.stacks[user] = slices.Clone(stack[:from])
	for _, v := range slices.Backward(gone) {
		delete(s.views, v.ID)
		s.emit(event{name: "view_closed", to: user, data: obj{"user": user, "view_id": v.ID}})
	}
	return gone
}

func (s *Server) stackIndex(v *view) int { return slices.Index(s.stacks[v.User], v) }

func elementIDs(blocks []any) map[string]bool {
	out := map[string]bool{}
	eachElement(blocks, func(block string, e obj) {
		aid, _ := e["action_id"].(string)
		out[block+"\x00"+aid] = true
	})
	return out
}

// eachElement visits every interactive element with the id of its block.
func eachElement(blocks []any, visit func(block string, e obj)) {
	for _, b := range blocks {
		o, _ := b.(obj)
		bid, _ := o["block_id"].(string)
		inside := []any{o["element"], o["accessory"]}
		more, _ := o["elements"].([]any)
		actions, _ := o["actions"].([]any)
		for _, e := range append(append(inside, more...), actions...) {
			el, _ := e.(obj)
			if typ, _ := el["type"].(string); interactive(typ) {
				visit(bid, el)
			} else if typ == "card" {
				eachElement([]any{el}, visit)
			}
		}
		if children, ok := o["child_blocks"].([]any); ok {
			eachElement(children, visit)
		}
	}
}

func tooLong(s string, limit int) bool { return utf8.RuneCountInString(s) > limit }
