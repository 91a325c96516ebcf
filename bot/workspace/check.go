package workspace

import "encoding/json"

// CheckBlocks says in Slack's words what it would refuse in the blocks of a
// chat.postMessage call, nothing when they are fine. It lets a test hold what
// an app renders to the same rules without a server.
func CheckBlocks(blocks json.RawMessage) []string {
	var c content
	fail := c.readBlocks(arguments{"blocks": string(blocks)})
	switch {
	case fail == nil && textLength(c.blocks) > blocksTextLimit:
		return []string{"msg_blocks_too_long"}
	case fail == nil:
		return nil
	}
	if problems, ok := fail.extra["errors"].([]string); ok {
		return problems
	}
	return []string{fail.code}
}

// CheckView is CheckBlocks for the view of a views.open call.
func CheckView(view json.RawMessage) []string {
	var o obj
	if err := decodeJSON(view, &o); err != nil || o == nil {
		return []string{"must provide an object [json-pointer:/view]"}
	}
	if len(view) > viewSizeLimit {
		return []string{"view_too_large"}
	}
	return checkView(o, o["type"] == "home")
}
