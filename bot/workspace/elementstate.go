package workspace

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// valueKeys says under which key an element's state holds its value; "s" forms
// hold lists.
var valueKeys = map[string]string{
	"plain_text_input": "value", "email_text_input": "value", "url_text_input": "value", "number_input": "value",
	"rich_text_input": "rich_text_value", "file_input": "files",
	"static_select": "selected_option", "external_select": "selected_option", "radio_buttons": "selected_option", "overflow": "selected_option",
	"checkboxes": "selected_options", "multi_static_select": "selected_options", "multi_external_select": "selected_options",
	"users_select": "selected_user", "multi_users_select": "selected_users",
	"conversations_select": "selected_conversation", "multi_conversations_select": "selected_conversations",
	"channels_select": "selected_channel", "multi_channels_select": "selected_channels",
	"datepicker": "selected_date", "timepicker": "selected_time", "datetimepicker": "selected_date_time",
}

// stateful elements appear in state.values; buttons and overflow menus do not.
func stateful(typ string) bool { return valueKeys[typ] != "" && typ != "overflow" }

var initialKeys = map[string]string{
	"value": "initial_value", "rich_text_value": "initial_value", "selected_option": "initial_option", "selected_options": "initial_options",
	"selected_user": "initial_user", "selected_users": "initial_users", "selected_conversation": "initial_conversation",
	"selected_conversations": "initial_conversations", "selected_channel": "initial_channel", "selected_channels": "initial_channels",
	"selected_date": "initial_date", "selected_time": "initial_time", "selected_date_time": "initial_date_time",
}

// stateValues is Slack's state.values: every stateful element of the surface,
// with what was chosen, what it began with, or null.
func stateValues(blocks []any, chosen map[string]obj) obj {
	out := obj{}
	eachElement(blocks, func(block string, e obj) {
		typ, _ := e["type"].(string)
		if !stateful(typ) {
			return
		}
		aid, _ := e["action_id"].(string)
		inner, _ := out[block].(obj)
		if inner == nil {
			inner = obj{}
			out[block] = inner
		}
		if v, ok := chosen[block][aid]; ok {
			inner[aid] = v
			return
		}
		inner[aid] = initialState(typ, e)
	})
	return out
}

func initialState(typ string, e obj) obj {
	key := valueKeys[typ]
	value := e[initialKeys[key]]
	if value == nil && listKey(key) {
		value = []any{}
	}
	return obj{"type": typ, key: value}
}

func listKey(key string) bool { return strings.HasSuffix(key, "s") }

// newState turns what a person chose into the element's state. raw is Slack's
// own form, or the bare value: a text, an option's value, a list of those, an id.
func newState(e obj, raw any) (obj, error) {
	typ, _ := e["type"].(string)
	key := valueKeys[typ]
	if key == "" {
		return nil, fmt.Errorf("a %s holds no value", typ)
	}
	if o, ok := raw.(obj); ok {
		if inner, has := o[key]; has {
			raw = inner
		} else if _, isOption := o["value"]; !isOption || key == "value" {
			raw = o["value"]
		}
	}
	if raw == nil {
		return initialState(typ, obj{}), nil
	}
	switch key {
	case "selected_option":
		opt, err := chosenOption(e, raw)
		if err != nil {
			return nil, err
		}
		return obj{"type": typ, key: opt}, nil
	case "selected_options":
		list, err := chosenOptions(e, raw)
		if err != nil {
			return nil, err
		}
		return obj{"type": typ, key: list}, nil
	}
	if listKey(key) {
		if _, ok := raw.([]any); !ok {
			raw = []any{raw}
		}
	} else if key == "value" {
		raw = fmt.Sprint(raw)
		if raw == "" {
			raw = nil
		}
	}
	return obj{"type": typ, key: raw}, nil
}

func chosenOptions(e obj, raw any) ([]any, error) {
	list, ok := raw.([]any)
	if !ok {
		list = []any{raw}
	}
	out := []any{}
	for _, item := range list {
		opt, err := chosenOption(e, item)
		if err != nil {
			return nil, err
		}
		out = append(out, opt)
	}
	return out, nil
}

// chosenOption finds the option of an element by its value; an external select
// takes any option, as its list lives in the app.
func chosenOption(e obj, raw any) (any, error) {
	o, whole := raw.(obj)
	value := fmt.Sprint(raw)
	if whole {
		value, _ = o["value"].(string)
	}
	for _, opt := range optionsOf(e) {
		if option := opt.(obj); option["value"] == value && (!whole || o["text"] == nil || same(o) == same(option)) {
			return option, nil
		}
	}
	if typ, _ := e["type"].(string); strings.HasSuffix(typ, "external_select") && whole {
		return filled(o), nil
	}
	return nil, fmt.Errorf("no option with value %q", value)
}

// formError is what a client says about a field before it sends the form, or "".
func formError(block, e, state obj) string {
	typ, _ := e["type"].(string)
	value := state[valueKeys[typ]]
	list, isList := value.([]any)
	if value == nil || value == "" || (isList && len(list) == 0) {
		if block["optional"] == true {
			return ""
		}
		return "Please complete this required field."
	}
	text, _ := value.(string)
	n := utf8.RuneCountInString(text)
	low, hasLow := integer(e["min_length"])
	high, hasHigh := integer(e["max_length"])
	switch {
	case typ == "plain_text_input" && hasLow && n < low:
		return fmt.Sprintf("Please enter at least %d characters.", low)
	case typ == "plain_text_input" && n > 3000:
		return "Please enter at most 3000 characters."
	case typ == "plain_text_input" && hasHigh && n > high:
		return fmt.Sprintf("Please enter at most %d characters.", high)
	case typ == "number_input":
		return numberError(e, text)
	case typ == "email_text_input" && !strings.Contains(text, "@"):
		return "Please enter a valid email address."
	case typ == "url_text_input" && !strings.Contains(text, "://"):
		return "Please enter a valid URL."
	}
	if most, ok := integer(e["max_selected_items"]); ok && len(list) > most {
		return fmt.Sprintf("Please choose at most %d.", most)
	}
	return ""
}

func numberError(e obj, text string) string {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || (e["is_decimal_allowed"] != true && strings.ContainsAny(text, ".eE")) {
		return "Please enter a number."
	}
	bound := func(name string) (float64, bool) {
		s, _ := e[name].(string)
		f, err := strconv.ParseFloat(s, 64)
		return f, err == nil
	}
	if low, ok := bound("min_value"); ok && n < low {
		return fmt.Sprintf("Please enter %s or more.", e["min_value"])
	}
	if high, ok := bound("max_value"); ok && n > high {
		return fmt.Sprintf("Please enter %s or less.", e["max_value"])
	}
	return ""
}

// findElement gives the block and element of an action. Without a block_id the
// first element that pick accepts is taken.
func findElement(blocks []any, blockID, actionID string, pick func(e obj) bool) (block string, e obj) {
	eachElement(blocks, func(b string, el obj) {
		if e == nil && el["action_id"] == actionID && (blockID == "" || b == blockID) && pick(el) {
			block, e = b, el
		}
	})
	return block, e
}

func blockByID(blocks []any, id string) obj {
	i := slices.IndexFunc(blocks, func(b any) bool { o, _ := b.(obj); return o["block_id"] == id })
	if i < 0 {
		return nil
	}
	return blocks[i].(obj)
}

// withState is a copy of a surface's state with one value set: copies, because
// answers under way may hold the old maps.
func withState(state map[string]obj, block, action string, value obj) map[string]obj {
	out := map[string]obj{}
	for b, actions := range state {
		inner := obj{}
		for a, v := range actions {
			inner[a] = v
		}
		out[b] = inner
	}
	if out[block] == nil {
		out[block] = obj{}
	}
	out[block][action] = value
	return out
}
