package workspace

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func times(n int, item string) string {
	return "[" + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + "]"
}

func numbered(n int, format string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = strings.ReplaceAll(format, "#", fmt.Sprint(i))
	}
	return "[" + strings.Join(parts, ",") + "]"
}

func long(n int) string { return strings.Repeat("я", n) }

func plainJSON(n int) string { return `{"type":"plain_text","text":"` + long(n) + `"}` }

func option(text, value int) string {
	return `{"text":` + plainJSON(text) + `,"value":"` + long(value) + `"}`
}

func actions(element string) string { return `{"type":"actions","elements":[` + element + `]}` }

func input(element string) string {
	return `{"type":"input","label":` + plainJSON(1) + `,"element":` + element + `}`
}

func button(text, value, url, label int) string {
	return `{"type":"button","text":` + plainJSON(text) + `,"value":"` + long(value) + `","url":"` + long(url) + `","accessibility_label":"` + long(label) + `"}`
}

func confirm(title, text, yes, no int) string {
	return actions(`{"type":"button","text":` + plainJSON(1) + `,"confirm":{"title":` + plainJSON(title) + `,"text":` + plainJSON(text) + `,"confirm":` + plainJSON(yes) + `,"deny":` + plainJSON(no) + `}}`)
}

// Every limit: n is allowed, n+1 is refused.
func TestBlockLimits(t *testing.T) {
	opt := option(1, 1)
	for _, c := range []struct {
		name  string
		limit int
		on    surface
		block func(n int) string // one block, or a list of them
	}{
		{"blocks in a message", 50, onMessage, func(n int) string { return times(n, `{"type":"divider"}`) }},
		{"blocks in a modal", 100, onModal, func(n int) string { return times(n, `{"type":"divider"}`) }},
		{"block_id", 255, onMessage, func(n int) string { return `{"type":"divider","block_id":"` + long(n) + `"}` }},
		{"section text", 3000, onMessage, func(n int) string { return `{"type":"section","text":` + plainJSON(n) + `}` }},
		{"section fields", 10, onMessage, func(n int) string { return `{"type":"section","fields":` + times(n, plainJSON(1)) + `}` }},
		{"section field text", 2000, onMessage, func(n int) string { return `{"type":"section","fields":[` + plainJSON(n) + `]}` }},
		{"header", 150, onMessage, func(n int) string { return `{"type":"header","text":` + plainJSON(n) + `}` }},
		{"context elements", 10, onMessage, func(n int) string { return `{"type":"context","elements":` + times(n, plainJSON(1)) + `}` }},
		{"actions elements", 25, onMessage, func(n int) string { return `{"type":"actions","elements":` + times(n, button(1, 1, 0, 0)) + `}` }},
		{"action_id", 255, onMessage, func(n int) string {
			return actions(`{"type":"button","text":` + plainJSON(1) + `,"action_id":"` + long(n) + `"}`)
		}},
		{"button text", 75, onMessage, func(n int) string { return actions(button(n, 1, 0, 0)) }},
		{"button value", 2000, onMessage, func(n int) string { return actions(button(1, n, 0, 0)) }},
		{"button url", 3000, onMessage, func(n int) string { return actions(button(1, 1, n, 0)) }},
		{"button label", 75, onMessage, func(n int) string { return actions(button(1, 1, 0, n)) }},
		{"confirm title", 100, onMessage, func(n int) string { return confirm(n, 1, 1, 1) }},
		{"confirm text", 300, onMessage, func(n int) string { return confirm(1, n, 1, 1) }},
		{"confirm yes", 30, onMessage, func(n int) string { return confirm(1, 1, n, 1) }},
		{"confirm no", 30, onMessage, func(n int) string { return confirm(1, 1, 1, n) }},
		{"option text", 75, onMessage, func(n int) string { return actions(`{"type":"overflow","options":[` + option(n, 1) + `]}`) }},
		{"option value", 150, onMessage, func(n int) string { return actions(`{"type":"overflow","options":[` + option(1, n) + `]}`) }},
		{"overflow options", 5, onMessage, func(n int) string { return actions(`{"type":"overflow","options":` + times(n, opt) + `}`) }},
		{"radio options", 10, onModal, func(n int) string { return input(`{"type":"radio_buttons","options":` + times(n, opt) + `}`) }},
		{"checkboxes", 10, onModal, func(n int) string { return input(`{"type":"checkboxes","options":` + times(n, opt) + `}`) }},
		{"select options", 100, onModal, func(n int) string { return input(`{"type":"static_select","options":` + times(n, opt) + `}`) }},
		{"option groups", 100, onModal, func(n int) string {
			return input(`{"type":"static_select","option_groups":` + times(n, `{"label":`+plainJSON(1)+`,"options":[`+opt+`]}`) + `}`)
		}},
		{"group label", 75, onModal, func(n int) string {
			return input(`{"type":"static_select","option_groups":[{"label":` + plainJSON(n) + `,"options":[` + opt + `]}]}`)
		}},
		{"placeholder", 150, onModal, func(n int) string {
			return input(`{"type":"plain_text_input","placeholder":` + plainJSON(n) + `}`)
		}},
		{"input label", 2000, onModal, func(n int) string {
			return `{"type":"input","label":` + plainJSON(n) + `,"element":{"type":"plain_text_input"}}`
		}},
		{"input hint", 2000, onModal, func(n int) string {
			return `{"type":"input","label":` + plainJSON(1) + `,"hint":` + plainJSON(n) + `,"element":{"type":"plain_text_input"}}`
		}},
		{"input max_length", 3000, onModal, func(n int) string { return input(fmt.Sprintf(`{"type":"plain_text_input","max_length":%d}`, n)) }},
		{"file_input max_files", 10, onModal, func(n int) string { return input(fmt.Sprintf(`{"type":"file_input","max_files":%d}`, n)) }},
		{"image url", 3000, onMessage, func(n int) string { return `{"type":"image","alt_text":"a","image_url":"` + long(n) + `"}` }},
		{"image alt", 2000, onMessage, func(n int) string { return `{"type":"image","image_url":"u","alt_text":"` + long(n) + `"}` }},
		{"image title", 2000, onMessage, func(n int) string {
			return `{"type":"image","image_url":"u","alt_text":"a","title":` + plainJSON(n) + `}`
		}},
		{"markdown", 12_000, onMessage, func(n int) string { return `{"type":"markdown","text":"` + long(n) + `"}` }},
		{"markdown in two blocks", 12_000, onMessage, func(n int) string {
			return `[{"type":"markdown","text":"` + long(6000) + `"},{"type":"markdown","text":"` + long(n-6000) + `"}]`
		}},
		{"table rows", 100, onMessage, func(n int) string {
			return `{"type":"table","rows":` + times(n, `[{"type":"raw_text","text":"x"}]`) + `}`
		}},
		{"table cells", 20, onMessage, func(n int) string {
			return `{"type":"table","rows":[` + times(n, `{"type":"raw_text","text":"x"}`) + `]}`
		}},
		{"table characters", 10_000, onMessage, func(n int) string {
			return `{"type":"table","rows":[[{"type":"raw_text","text":"` + long(n) + `"}]]}`
		}},
		{"table columns", 20, onMessage, func(n int) string {
			return `{"type":"table","rows":[[{"type":"raw_text","text":"x"}]],"column_settings":` + times(n, `{"align":"left"}`) + `}`
		}},
		{"data_table rows", 101, onMessage, func(n int) string {
			return `{"type":"data_table","caption":"c","rows":` + times(n, `[{"type":"raw_text","text":"x"}]`) + `}`
		}},
		{"alert", 200, onMessage, func(n int) string { return `{"type":"alert","text":` + plainJSON(n) + `}` }},
		{"carousel", 10, onMessage, func(n int) string {
			return `{"type":"carousel","elements":` + times(n, `{"type":"card","title":`+plainJSON(1)+`}`) + `}`
		}},
		{"card body", 200, onMessage, func(n int) string { return `{"type":"card","body":` + plainJSON(n) + `}` }},
		{"card actions", 3, onMessage, func(n int) string { return `{"type":"card","actions":` + times(n, button(1, 1, 0, 0)) + `}` }},
		{"container children", 10, onMessage, func(n int) string {
			return `{"type":"container","title":` + plainJSON(1) + `,"child_blocks":` + times(n, `{"type":"divider"}`) + `}`
		}},
		{"context_actions", 5, onMessage, func(n int) string {
			return `{"type":"context_actions","elements":` + times(n, `{"type":"icon_button","icon":"trash","text":`+plainJSON(1)+`}`) + `}`
		}},
		{"video alt", 200, onMessage, func(n int) string {
			return `{"type":"video","alt_text":"` + long(n) + `","title":` + plainJSON(1) + `,"thumbnail_url":"u","video_url":"u"}`
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			check := func(n int) []string { return checkBlocks(blocksOf(t, c.block(n)), c.on, "/blocks") }
			if got := check(c.limit); len(got) > 0 {
				t.Errorf("%d refused: %.200q", c.limit, got)
			}
			if got := check(c.limit + 1); len(got) == 0 {
				t.Errorf("%d accepted", c.limit+1)
			}
		})
	}
}

func blocksOf(t *testing.T, text string) []any {
	t.Helper()
	if !strings.HasPrefix(text, "[") {
		text = "[" + text + "]"
	}
	var list []any
	if err := decodeJSON([]byte(text), &list); err != nil {
		t.Fatalf("%v in %.200s", err, text)
	}
	return list
}

// The words and pointers, as far as they are known from Slack.
func TestBlockMessages(t *testing.T) {
	for _, c := range []struct {
		name, blocks, want string
		on                 surface
	}{
		{"too long", `{"type":"section","text":` + plainJSON(3001) + `}`, "must be less than 3001 characters [json-pointer:/blocks/0/text/text]", onMessage},
		{"empty", `{"type":"section","text":` + plainJSON(0) + `}`, "must be more than 0 characters [json-pointer:/blocks/0/text/text]", onMessage},
		{"many", `{"type":"actions","elements":` + times(26, button(1, 1, 0, 0)) + `}`, "no more than 25 items allowed [json-pointer:/blocks/0/elements]", onMessage},
		{"nothing in a section", `{"type":"section"}`, "missing required field: text [json-pointer:/blocks/0]", onMessage},
		{"type", `{"type":"foo"}`, "unsupported type: foo [json-pointer:/blocks/0/type]", onMessage},
		{"no type", `{}`, "missing required field: type [json-pointer:/blocks/0]", onMessage},
		{"not an object", `[1]`, "must provide an object [json-pointer:/blocks/0]", onMessage},
		{"unknown field", `{"type":"divider","colour":"red"}`, "invalid additional property: colour [json-pointer:/blocks/0]", onMessage},
		{"emoji in mrkdwn", `{"type":"section","text":{"type":"mrkdwn","text":"x","emoji":true}}`, "invalid additional property: emoji [json-pointer:/blocks/0/text]", onMessage},
		{"mrkdwn in a header", `{"type":"header","text":{"type":"mrkdwn","text":"x"}}`, "unsupported type: mrkdwn [json-pointer:/blocks/0/text/type]", onMessage},
		{"default style", actions(`{"type":"button","text":` + plainJSON(1) + `,"style":"default"}`), "must be a valid enum value [json-pointer:/blocks/0/elements/0/style]", onMessage},
		{"same block_id", `[{"type":"divider","block_id":"a"},{"type":"divider","block_id":"a"}]`, "block_id must be unique: a [json-pointer:/blocks/1/block_id]", onMessage},
		{"same action_id", `{"type":"actions","elements":` + times(2, `{"type":"button","text":`+plainJSON(1)+`,"action_id":"a"}`) + `}`, "action_id must be unique within a block: a [json-pointer:/blocks/0/elements/1/action_id]", onMessage},
		{"no alt", `{"type":"image","image_url":"u"}`, "missing required field: alt_text [json-pointer:/blocks/0]", onMessage},
		{"stranger chosen", input(`{"type":"radio_buttons","options":[` + option(1, 1) + `],"initial_option":` + option(2, 2) + `}`), "must exactly match one of the options [json-pointer:/blocks/0/element/initial_option]", onModal},
		{"both kinds of options", input(`{"type":"static_select"}`), "must provide exactly one of options or option_groups [json-pointer:/blocks/0/element]", onModal},
		{"two tables", times(2, `{"type":"table","rows":[[{"type":"raw_text","text":"x"}]]}`), "only_one_table_allowed [json-pointer:/blocks/1]", onMessage},
		{"uneven data_table", `{"type":"data_table","caption":"c","rows":[[{"type":"raw_text","text":"a"}],[{"type":"raw_text","text":"a"},{"type":"raw_text","text":"b"}]]}`, "all rows must have the same number of cells [json-pointer:/blocks/0/rows/1]", onMessage},
		{"completed task", `{"type":"task_card","task_id":"1","title":"t","status":"completed"}`, "must be a valid enum value [json-pointer:/blocks/0/status]", onMessage},
		{"table in a modal", `{"type":"table","rows":[[{"type":"raw_text","text":"x"}]]}`, "unsupported type: table [json-pointer:/blocks/0/type]", onModal},
		{"file_input in a message", input(`{"type":"file_input"}`), "unsupported type: file_input [json-pointer:/blocks/0/element/type]", onMessage},
		{"two focused", numbered(2, `{"type":"input","label":`+plainJSON(1)+`,"element":{"type":"plain_text_input","action_id":"a#","focus_on_load":true}}`), "only one element can have focus_on_load set to true [json-pointer:/blocks/1/element/focus_on_load]", onModal},
		{"a string for a list", `{"type":"context","elements":"x"}`, "must provide an array [json-pointer:/blocks/0/elements]", onMessage},
		{"a number for text", `{"type":"section","text":{"type":"mrkdwn","text":5}}`, "must provide a string [json-pointer:/blocks/0/text/text]", onMessage},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := checkBlocks(blocksOf(t, c.blocks), c.on, "/blocks"); !slices.Contains(got, c.want) {
				t.Errorf("problems = %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestInvalidBlocksForm(t *testing.T) {
	s := start(t)
	o := s.api(t, "chat.postMessage", "channel", s.class(), "text", "x", "blocks", `[{"type":"divider"},{"type":"actions","elements":`+times(26, button(1, 1, 0, 0))+`}]`)
	text := "no more than 25 items allowed [json-pointer:/blocks/1/elements]"
	if o["error"] != "invalid_blocks" || inside(o, "errors.0") != text || inside(o, "response_metadata.messages.0") != "[ERROR] "+text {
		t.Errorf("answer = %v", o)
	}
	if n := len(s.read(t, "messages?channel=k8s-fundamentals")); n != 0 {
		t.Errorf("%d messages were posted", n)
	}
	big := times(5, `{"type":"section","text":`+plainJSON(2700)+`}`)
	if o := s.api(t, "chat.postMessage", "channel", s.class(), "text", "x", "blocks", big); o["error"] != "msg_blocks_too_long" {
		t.Errorf("13,500 characters of blocks: %v", o)
	}
}

func TestRichTextPasses(t *testing.T) {
	rich := `{"type":"rich_text","block_id":"r","elements":[
		{"type":"rich_text_section","elements":[{"type":"text","text":"a","style":{"bold":true}},{"type":"user","user_id":"U1"},{"type":"emoji","name":"eyes"},{"type":"link","url":"u"}]},
		{"type":"rich_text_list","style":"bullet","indent":1,"elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"x"}]}]},
		{"type":"rich_text_preformatted","elements":[{"type":"text","text":"kubectl"}],"border":0},
		{"type":"rich_text_quote","elements":[{"type":"text","text":"q"}]}]}`
	if got := checkBlocks(blocksOf(t, rich), onMessage, "/blocks"); len(got) > 0 {
		t.Errorf("refused: %q", got)
	}
	bad := strings.Replace(rich, `"bullet"`, `"stars"`, 1)
	if got := checkBlocks(blocksOf(t, bad), onMessage, "/blocks"); len(got) != 1 {
		t.Errorf("problems = %q", got)
	}
}

// FuzzCheckBlocks holds that no JSON makes the checker fail otherwise than with
// a list of problems, and that what it accepts can be filled in and kept.
func FuzzCheckBlocks(f *testing.F) {
	f.Add(`[{"type":"section","text":{"type":"mrkdwn","text":"x"}}]`)
	f.Add(`[{"type":"table","rows":[null,[1],[{"type":"rich_text"}]]}]`)
	f.Add(`[{"type":"input","element":{"type":"static_select","option_groups":[1]}}]`)
	f.Fuzz(func(t *testing.T, text string) {
		var list []any
		if decodeJSON([]byte(text), &list) != nil {
			return
		}
		if len(checkBlocks(list, onMessage, "/blocks")) == 0 {
			if _, err := json.Marshal(stateValues(withIDs(list), nil)); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestChecksWithoutAServer(t *testing.T) {
	for blocks, want := range map[string]string{
		`[{"type":"divider"}]`: "",
		`[{"type":"foo"}]`:     "unsupported type: foo [json-pointer:/blocks/0/type]",
		`{}`:                   "invalid_blocks_format",
		times(5, `{"type":"section","text":`+plainJSON(2700)+`}`): "msg_blocks_too_long",
	} {
		if got := strings.Join(CheckBlocks(json.RawMessage(blocks)), ";"); got != want {
			t.Errorf("CheckBlocks(%.60s) = %q, want %q", blocks, got, want)
		}
	}
	for view, want := range map[string]string{
		oneView:                               "",
		`5`:                                   "must provide an object [json-pointer:/view]",
		`{"type":"home","blocks":[]}`:         "no fewer than 1 items allowed [json-pointer:/view/blocks]",
		`{"type":"modal","blocks":[{"a":1}]}`: "missing required field: title [json-pointer:/view];missing required field: type [json-pointer:/view/blocks/0]",
	} {
		if got := strings.Join(CheckView(json.RawMessage(view)), ";"); got != want {
			t.Errorf("CheckView(%.60s) = %q, want %q", view, got, want)
		}
	}
}
