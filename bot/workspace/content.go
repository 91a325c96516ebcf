package workspace

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// Lengths in characters, from the method reference except where noted.
const (
	postTextLimit     = 40_000 // longer text is cut with the warning message_truncated
	updateTextLimit   = 4_000
	markdownTextLimit = 12_000
	blocksTextLimit   = 13_200 // msg_blocks_too_long: unpublished, reported by users for chat.postMessage
	metadataLimit     = 8_192  // bytes; the published error has no published figure
	attachmentLimit   = 100
)

// content is what a message shows, read and checked.
type content struct {
	text                        string
	blocks, attachments         []any
	metadata                    obj
	setText, setBlocks, setMeta bool
	setAttachments              bool
	warnings                    []string
}

// readContent checks the arguments that all ways of posting share.
func (s *Server) readContent(a arguments) (content, *apiError) {
	var c content
	c.text, c.setText = a.str("text"), a.has("text")
	if fail := c.readBlocks(a); fail != nil {
		return c, fail
	}
	if fail := c.readAttachments(a); fail != nil {
		return c, fail
	}
	if fail := c.readMetadata(a); fail != nil {
		return c, fail
	}
	if a.has("markdown_text") {
		if c.setText || c.setBlocks {
			return c, failed("markdown_text_conflict")
		}
		md := a.str("markdown_text")
		if utf8.RuneCountInString(md) > markdownTextLimit {
			return c, failed("msg_too_long")
		}
		c.text, c.setText = md, true
		c.blocks, c.setBlocks = []any{obj{"type": "markdown", "text": md, "block_id": randomWord(5)}}, true
	}
	if strings.TrimSpace(c.text) == "" && len(c.blocks) == 0 && len(c.attachments) == 0 {
		return c, failed("no_text")
	}
	return c, nil
}

func (c *content) readBlocks(a arguments) *apiError {
	v, err := a.value("blocks")
	if err != nil {
		return failed("invalid_blocks_format")
	}
	if v == nil {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		return failed("invalid_blocks_format")
	}
	if problems := checkBlocks(list, onMessage, "/blocks"); len(problems) > 0 {
		return invalidBlocks(problems)
	}
	c.blocks, c.setBlocks = withIDs(list), true
	return nil
}

func invalidBlocks(problems []string) *apiError {
	return &apiError{code: "invalid_blocks", extra: obj{
		"errors":            problems,
		"response_metadata": obj{"messages": prefixed(problems)},
	}}
}

func (c *content) readAttachments(a arguments) *apiError {
	v, err := a.value("attachments")
	if err != nil {
		return failed("invalid_attachments")
	}
	if v == nil {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		return failed("invalid_attachments")
	}
	if len(list) > attachmentLimit {
		return failed("too_many_attachments")
	}
	for _, item := range list {
		o, ok := item.(obj)
		if !ok {
			return failed("invalid_attachments")
		}
		blocks, has := o["blocks"]
		if !has {
			continue
		}
		inner, ok := blocks.([]any)
		if !ok {
			return failed("invalid_attachments")
		}
		if problems := checkBlocks(inner, onMessage, "/attachments/blocks"); len(problems) > 0 {
			return invalidBlocks(problems)
		}
		o["blocks"] = withIDs(inner)
	}
	c.attachments, c.setAttachments = list, true
	return nil
}

// readMetadata takes {event_type, event_payload}; {} is kept as an empty
// object, which an update reads as "remove".
func (c *content) readMetadata(a arguments) *apiError {
	v, err := a.value("metadata")
	if err != nil {
		return failed("invalid_metadata_format")
	}
	if v == nil {
		return nil
	}
	o, ok := v.(obj)
	if !ok {
		return failed("invalid_metadata_format")
	}
	c.setMeta = true
	if len(o) == 0 {
		return nil
	}
	kind, _ := o["event_type"].(string)
	if _, ok := o["event_payload"].(obj); !ok || kind == "" {
		return failed("invalid_metadata_format")
	}
	if raw, err := json.Marshal(o); err != nil || len(raw) > metadataLimit {
		return failed("metadata_too_large")
	}
	c.metadata = obj{"event_type": kind, "event_payload": o["event_payload"]}
	return nil
}

// cut shortens an overlong text as chat.postMessage does.
func (c *content) cut() {
	if utf8.RuneCountInString(c.text) > postTextLimit {
		c.text = string([]rune(c.text)[:postTextLimit])
		c.warnings = append(c.warnings, "message_truncated")
	}
}

// warn adds Slack's two forms of a warning to an answer.
func warn(o obj, warnings ...string) obj {
	if len(warnings) > 0 {
		o["warning"] = strings.Join(warnings, ",")
		o["response_metadata"] = obj{"warnings": warnings}
	}
	return o
}

// textLength counts the characters of all text in blocks, apart from markdown
// blocks, which have a limit of their own.
func textLength(v any) int {
	n := 0
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			n += textLength(item)
		}
	case obj:
		if v["type"] == "markdown" {
			return 0
		}
		for key, item := range v {
			if text, ok := item.(string); ok && key == "text" {
				n += utf8.RuneCountInString(text)
			} else if !ok {
				n += textLength(item)
			}
		}
	}
	return n
}

func hasBlock(blocks []any, kind string) bool {
	return slices.ContainsFunc(blocks, func(b any) bool {
		o, ok := b.(obj)
		return ok && o["type"] == kind
	})
}
