package workspace

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
)

var (
	dateForm = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)
	timeForm = regexp.MustCompile(`^\d{2}:\d{2}$`)
)

func buildElements() family {
	input := func(more map[string]rule) *shape {
		more["placeholder"] = plain(150)
		more["dispatch_action_config"] = anything()
		return element(checkBounds, more)
	}
	f := family{
		"image": {fields: map[string]rule{"image_url": someText(1, 3000), "slack_file": one("slack file"), "alt_text": must(someText(1, 2000))}, check: checkImage},
		"button": element(nil, map[string]rule{
			"text": must(plain(75)), "value": str(2000), "url": str(3000), "style": enum("primary", "danger"), "accessibility_label": str(75),
		}),
		"workflow_button": element(nil, map[string]rule{"text": must(plain(75)), "workflow": must(anything()), "style": enum("primary", "danger"), "accessibility_label": str(75)}),
		"overflow":        element(nil, map[string]rule{"options": must(list("option", 1, 5))}),
		"radio_buttons":   element(checkInitial, map[string]rule{"options": must(list("option", 1, 10)), "initial_option": one("option")}),
		"checkboxes":      element(checkInitial, map[string]rule{"options": must(list("option", 1, 10)), "initial_options": list("option", 1, 10)}),
		"datepicker":      element(checkForms, map[string]rule{"initial_date": str(0), "placeholder": plain(150)}),
		"timepicker":      element(checkForms, map[string]rule{"initial_time": str(0), "placeholder": plain(150), "timezone": str(0)}),
		"datetimepicker":  element(nil, map[string]rule{"initial_date_time": num(1_000_000_000, 9_999_999_999)}),
		"plain_text_input": input(map[string]rule{
			"initial_value": str(3000), "multiline": flag(), "min_length": num(0, 3000), "max_length": num(1, 3000),
		}),
		"email_text_input": input(map[string]rule{"initial_value": str(3000)}),
		"url_text_input":   input(map[string]rule{"initial_value": str(3000)}),
		"number_input":     input(map[string]rule{"is_decimal_allowed": must(flag()), "initial_value": str(0), "min_value": str(0), "max_value": str(0)}),
		"rich_text_input":  input(map[string]rule{"initial_value": anything(), "min_lines": anything(), "max_lines": anything()}),
		"file_input":       element(nil, map[string]rule{"filetypes": list("*string", 0, 0), "max_files": num(1, 10)}),
		"feedback_buttons": element(nil, map[string]rule{"positive_button": must(one("feedback")), "negative_button": must(one("feedback"))}),
		"icon_button": element(nil, map[string]rule{
			"icon": must(str(255)), "text": must(plain(75)), "value": str(2000), "accessibility_label": str(75), "visible_to_user_ids": list("*string", 0, 0),
		}),
	}
	addSelects(f)
	return f
}

func addSelects(f family) {
	specific := map[string][2]map[string]rule{
		"static":        {{"initial_option": one("option")}, {"initial_options": list("option", 1, 100)}},
		"external":      {{"initial_option": one("option"), "min_query_length": num(0, 0)}, {"initial_options": list("option", 1, 100), "min_query_length": num(0, 0)}},
		"users":         {{"initial_user": str(0)}, {"initial_users": list("*string", 0, 0)}},
		"conversations": {{"initial_conversation": str(0)}, {"initial_conversations": list("*string", 0, 0)}},
		"channels":      {{"initial_channel": str(0)}, {"initial_channels": list("*string", 0, 0)}},
	}
	for source, variants := range specific {
		for i, more := range variants {
			name := source + "_select"
			if i == 1 {
				name = "multi_" + name
				more["max_selected_items"] = num(1, 0)
			} else if source == "conversations" || source == "channels" {
				more["response_url_enabled"] = flag()
			}
			if source == "conversations" {
				more["default_to_current_conversation"], more["filter"] = flag(), anything()
			}
			more["placeholder"] = plain(150)
			var check func(*validator, obj, string)
			if source == "static" {
				more["options"], more["option_groups"] = list("option", 1, 100), list("option group", 1, 100)
				check = checkStatic
			}
			f[name] = element(check, more)
		}
	}
}

func checkStatic(v *validator, o obj, at string) {
	if (o["options"] == nil) == (o["option_groups"] == nil) {
		v.fail(at, "must provide exactly one of options or option_groups")
	}
	checkInitial(v, o, at)
}

// checkInitial wants what is chosen at first to be among the options, exactly.
func checkInitial(v *validator, o obj, at string) {
	have := map[string]bool{}
	for _, opt := range optionsOf(o) {
		have[same(opt)] = true
	}
	if first, ok := o["initial_option"]; ok && first != nil && !have[same(first)] {
		v.fail(at+"/initial_option", "must exactly match one of the options")
	}
	firsts, _ := o["initial_options"].([]any)
	for i, first := range firsts {
		if !have[same(first)] {
			v.fail(at+"/initial_options/"+strconv.Itoa(i), "must exactly match one of the options")
		}
	}
}

// same names an option by its value and text, whatever was filled in since.
func same(option any) string {
	o, _ := option.(obj)
	t, _ := o["text"].(obj)
	raw, _ := json.Marshal([]any{o["value"], t["type"], t["text"]})
	return string(raw)
}

// optionsOf gives all options of an element, groups flattened.
func optionsOf(o obj) []any {
	all, _ := o["options"].([]any)
	groups, _ := o["option_groups"].([]any)
	for _, g := range groups {
		if group, ok := g.(obj); ok {
			inner, _ := group["options"].([]any)
			all = append(all[:len(all):len(all)], inner...)
		}
	}
	return all
}

func checkForms(v *validator, o obj, at string) {
	if d, ok := o["initial_date"].(string); ok && !dateForm.MatchString(d) {
		v.fail(at+"/initial_date", "must be in the format YYYY-MM-DD")
	}
	if t, ok := o["initial_time"].(string); ok && !timeForm.MatchString(t) {
		v.fail(at+"/initial_time", "must be in the format HH:mm")
	}
}

func checkBounds(v *validator, o obj, at string) {
	low, hasLow := integer(o["min_length"])
	high, hasHigh := integer(o["max_length"])
	if hasLow && hasHigh && low > high {
		v.fail(at+"/min_length", "min_length must be less than or equal to max_length")
	}
	for _, name := range []string{"initial_value", "min_value", "max_value"} {
		s, ok := o[name].(string)
		if o["type"] != "number_input" || !ok {
			continue
		}
		if _, err := strconv.ParseFloat(s, 64); err != nil || (o["is_decimal_allowed"] == false && strings.Contains(s, ".")) {
			v.fail(at+"/"+name, "must be a number")
		}
	}
}
