package workspace

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// The tables of Block Kit. Limits are those of the block reference; where two
// sources differ the smaller one is taken.

func must(r rule) rule { r.required = true; return r }

func text(maxLen int) rule  { return rule{kind: isText, max: maxLen} }
func plain(maxLen int) rule { return rule{kind: isPlain, max: maxLen} }
func str(maxLen int) rule   { return rule{kind: isString, max: maxLen} }
func num(low, high int) rule {
	return rule{kind: isInt, min: low, max: high}
}
func list(of string, low, high int) rule {
	return rule{kind: isList, items: of, min: low, max: high}
}
func one(of string) rule                 { return rule{kind: isObject, items: of} }
func enum(values ...string) rule         { return rule{kind: isString, enum: values} }
func someText(low, high int) rule        { return rule{kind: isString, min: low, max: high} }
func anything() rule                     { return rule{kind: isAny} }
func flag() rule                         { return rule{kind: isBool} }
func id() rule                           { return rule{kind: isString, max: 255} }
func fields(more map[string]rule) *shape { return &shape{fields: more} }

// block adds block_id and its uniqueness to the fields of a block.
func block(on surface, check func(*validator, obj, string), more map[string]rule) *shape {
	more["block_id"] = id()
	return &shape{fields: more, surfaces: on, check: func(v *validator, o obj, at string) {
		if bid, _ := o["block_id"].(string); bid != "" {
			if v.blockIDs[bid] {
				v.fail(at+"/block_id", "block_id must be unique: %s", bid)
			}
			v.blockIDs[bid] = true
		}
		if check != nil {
			check(v, o, at)
		}
	}}
}

// element adds action_id, confirm and focus_on_load.
func element(check func(*validator, obj, string), more map[string]rule) *shape {
	more["action_id"] = id()
	if _, has := more["confirm"]; !has {
		more["confirm"] = one("confirm")
	}
	more["focus_on_load"] = flag()
	return &shape{fields: more, check: func(v *validator, o obj, at string) {
		if o["focus_on_load"] == true {
			if v.focused {
				v.fail(at+"/focus_on_load", "only one element can have focus_on_load set to true")
			}
			v.focused = true
		}
		if check != nil {
			check(v, o, at)
		}
	}}
}

func pick(from family, names ...string) family {
	out := family{}
	for _, name := range names {
		out[name] = from[name]
	}
	return out
}

var blockFamilies = buildFamilies()

// interactive says whether an element of this type gets an action_id.
func interactive(typ string) bool {
	return blockFamilies["element"][typ] != nil && typ != "image"
}

func buildFamilies() map[string]family {
	elements := buildElements()
	selects := []string{}
	for name := range elements {
		if strings.HasSuffix(name, "_select") {
			selects = append(selects, name)
		}
	}
	choice := append([]string{"checkboxes", "radio_buttons", "datepicker", "timepicker"}, selects...)
	families := map[string]family{
		"element":        elements,
		"accessory":      pick(elements, append([]string{"button", "image", "overflow", "workflow_button", "datetimepicker"}, choice...)...),
		"action element": pick(elements, append([]string{"button", "overflow", "datetimepicker", "workflow_button", "rich_text_input"}, choice...)...),
		"input element": pick(elements, append([]string{
			"plain_text_input", "email_text_input", "url_text_input", "number_input", "rich_text_input", "file_input", "datetimepicker",
		}, choice...)...),
		"context action": pick(elements, "feedback_buttons", "icon_button"),
		"button":         pick(elements, "button"),
		"action card":    pick(elements, "button", "icon_button"),
		"confirm": {"": fields(map[string]rule{
			"title": must(plain(100)), "text": must(text(300)), "confirm": must(plain(30)), "deny": must(plain(30)),
			"style": enum("primary", "danger"),
		})},
		"option": {"": fields(map[string]rule{
			"text": must(text(75)), "value": must(str(150)), "description": text(75), "url": str(3000),
		})},
		"option group": {"": fields(map[string]rule{"label": must(plain(75)), "options": must(list("option", 1, 100))})},
		"slack file":   {"": fields(map[string]rule{"id": id(), "url": str(3000)})},
		"feedback":     {"": fields(map[string]rule{"text": must(plain(75)), "value": must(str(2000)), "accessibility_label": str(75)})},
	}
	families["context element"] = family{
		"image":      elements["image"],
		"plain_text": fields(map[string]rule{"text": must(someText(1, 3000)), "emoji": flag()}),
		"mrkdwn":     fields(map[string]rule{"text": must(someText(1, 3000)), "verbatim": flag()}),
	}
	addRichText(families)
	addTables(families)
	addBlocks(families)
	return families
}

func addBlocks(f map[string]family) {
	f["block"] = family{
		"section": block(everywhere, checkSection, map[string]rule{
			"text": text(3000), "fields": list("*text", 1, 10), "accessory": one("accessory"), "expand": flag(),
		}),
		"header":  block(everywhere, nil, map[string]rule{"text": must(plain(150)), "level": num(1, 4)}),
		"divider": block(everywhere, nil, map[string]rule{}),
		"context": block(everywhere, nil, map[string]rule{"elements": must(list("context element", 1, 10))}),
		"actions": block(everywhere, uniqueActions, map[string]rule{"elements": must(list("action element", 1, 25))}),
		"image": block(everywhere, checkImage, map[string]rule{
			"image_url": someText(1, 3000), "slack_file": one("slack file"), "alt_text": must(someText(1, 2000)), "title": plain(2000),
		}),
		"input": block(everywhere, checkInput, map[string]rule{
			"label": must(plain(2000)), "element": must(one("input element")), "hint": plain(2000),
			"optional": flag(), "dispatch_action": flag(),
		}),
		"markdown": block(onMessage, checkMarkdown, map[string]rule{"text": must(someText(1, 12_000))}),
		"video": block(everywhere, nil, map[string]rule{
			"alt_text": must(str(200)), "title": must(plain(199)), "thumbnail_url": must(str(3000)), "video_url": must(str(3000)),
			"author_name": str(50), "provider_name": str(50), "description": plain(200), "title_url": str(3000), "provider_icon_url": str(3000),
		}),
		"file": block(onMessage, nil, map[string]rule{"external_id": must(str(255)), "source": must(enum("remote"))}),
		"rich_text": block(everywhere, nil, map[string]rule{
			"elements": must(list("rich text", 0, 0)),
		}),
		"table":      block(onMessage, checkTable, map[string]rule{"rows": must(rule{kind: isList, min: 1, max: 100}), "column_settings": {kind: isList, max: 20}}),
		"data_table": block(onMessage, checkDataTable, map[string]rule{"caption": must(someText(1, 2000)), "rows": must(rule{kind: isList, min: 2, max: 101}), "page_size": num(1, 100), "row_header_column_index": anything()}),
		"alert":      block(everywhere, nil, map[string]rule{"text": must(text(200)), "level": enum("default", "info", "warning", "error", "success")}),
		"task_card":  block(onMessage, nil, taskFields()),
		"plan":       block(onMessage, nil, map[string]rule{"title": must(someText(1, 255)), "tasks": list("task", 0, 50)}),
		"card": block(onMessage, nil, map[string]rule{
			"title": text(150), "subtitle": text(150), "body": text(200), "subtext": text(200), "icon": one("accessory"),
			"hero_image": one("accessory"), "actions": list("button", 0, 3), "slack_icon": anything(),
		}),
		"carousel":  block(onMessage, nil, map[string]rule{"elements": must(rule{kind: isList, items: "card", min: 1, max: 10})}),
		"container": block(onMessage|onModal, nil, map[string]rule{"title": must(text(150)), "subtitle": text(150), "child_blocks": must(list("block", 1, 10)), "icon": anything(), "width": enum("narrow", "standard", "wide", "full"), "is_collapsible": flag(), "default_collapsed": flag()}),
		"context_actions": block(onMessage, uniqueActions, map[string]rule{
			"elements": must(list("context action", 1, 5)),
		}),
	}
	f["card"] = pick(f["block"], "card")
	f["task"] = family{"task_card": fields(taskFields())}
}

func taskFields() map[string]rule {
	return map[string]rule{
		"block_id": id(), "task_id": must(someText(1, 255)), "title": must(someText(1, 255)), "details": one("rich block"), "output": one("rich block"),
		"sources": {kind: isList}, "status": enum("pending", "in_progress", "complete", "error"),
	}
}

func checkSection(v *validator, o obj, at string) {
	if o["text"] == nil && o["fields"] == nil {
		v.fail(at, "missing required field: text")
	}
}

func checkImage(v *validator, o obj, at string) {
	if (o["image_url"] == nil) == (o["slack_file"] == nil) {
		v.fail(at, "must provide exactly one of image_url or slack_file")
	}
}

func checkInput(v *validator, o obj, at string) {
	e, _ := o["element"].(obj)
	if e["type"] == "file_input" && v.surface != onModal {
		v.fail(at+"/element/type", "unsupported type: file_input")
	}
}

func checkMarkdown(v *validator, o obj, _ string) {
	s, _ := o["text"].(string)
	v.markdown += utf8.RuneCountInString(s)
}

func uniqueActions(v *validator, o obj, at string) {
	seen := map[string]bool{}
	elements, _ := o["elements"].([]any)
	for i, e := range elements {
		el, _ := e.(obj)
		aid, _ := el["action_id"].(string)
		if aid != "" && seen[aid] {
			v.fail(at+"/elements/"+strconv.Itoa(i)+"/action_id", "action_id must be unique within a block: %s", aid)
		}
		seen[aid] = true
	}
}
