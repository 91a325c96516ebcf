package board

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/slack-go/slack"

	"labbot/bot/lab"
)

// Slack's limits in characters, and ours where Slack's own is not documented:
// a message is refused with msg_blocks_too_long somewhere above 11,000
// characters over all blocks, so a whole message stays below limitMessage.
const (
	limitBlocks  = 50
	limitSection = 3000
	limitHeader  = 150
	limitButton  = 75
	limitMessage = 9500
	limitText    = 1000 // of the notification; chat.update refuses more than 4,000
)

// ellipsis marks a cut.
const ellipsis = "…"

// Escape makes a text from the cluster or a person safe as mrkdwn outside of
// code: no control, bidirectional or invisible characters, no mention, no link,
// at most max characters with a cut that leaves no half entity. Line breaks
// become spaces.
func Escape(s string, max int) string {
	return escape(oneLine(s, max), max)
}

// Code is Escape inside an inline code span. The marks count in max. An empty
// text becomes a dash, as Slack does not draw an empty span.
func Code(s string, max int) string {
	if s = oneLine(s, max); s == "" {
		s = "–"
	}
	return "`" + escape(s, max-2) + "`"
}

// Fence is Escape inside a code block that keeps its lines. The fence counts in
// max.
func Fence(s string, max int) string {
	s = strings.Trim(clean(head(s, max)), "\n")
	if strings.TrimSpace(s) == "" {
		s = "–"
	}
	return "```\n" + escape(s, max-8) + "\n```"
}

// Mention names a person so that Slack links the profile. What is not a user id
// is shown as code.
func Mention(id lab.UserID) string {
	if !userID.MatchString(string(id)) {
		return Code(string(id), 40)
	}
	return "<@" + string(id) + ">"
}

var userID = regexp.MustCompile(`^[UW][A-Z0-9]{2,20}$`)

// broadcast finds words that some clients turn into a mention of everybody even
// without Slack's own <!…> form.
var broadcast = regexp.MustCompile(`(?i)@(channel|here|everyone)\b`)

// head bounds the work on a text of which only max characters will be shown.
// What is left leaves room for what clean drops.
func head(s string, max int) string {
	if most := 4*max + 256; len(s) > most {
		return s[:most] + ellipsis
	}
	return s
}

func oneLine(s string, max int) string {
	return strings.Join(strings.Fields(clean(head(s, max))), " ")
}

// clean drops what is invisible or reorders text, and replaces backticks, which
// would end a code span.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == ' ':
			return r
		case r == '`':
			return 'ˋ'
		case r == utf8.RuneError:
			return '?'
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Co, r), unicode.Is(invisible, r):
			return -1
		}
		return r
	}, s)
	return broadcast.ReplaceAllString(s, "＠$1")
}

// invisible are letters and marks that show nothing though they are no format
// characters: Hangul fillers, variation selectors, the Braille blank.
var invisible = &unicode.RangeTable{R16: []unicode.Range16{
	{Lo: 0x034f, Hi: 0x034f, Stride: 1},
	{Lo: 0x115f, Hi: 0x1160, Stride: 1},
	{Lo: 0x17b4, Hi: 0x17b5, Stride: 1},
	{Lo: 0x2800, Hi: 0x2800, Stride: 1},
	{Lo: 0x3164, Hi: 0x3164, Stride: 1},
	{Lo: 0xffa0, Hi: 0xffa0, Stride: 1},
}}

// escape writes the three entities and cuts before the text would exceed max.
func escape(s string, max int) string {
	var b strings.Builder
	used, cutAt := 0, 0
	for _, r := range s {
		piece := string(r)
		switch r {
		case '&':
			piece = "&amp;"
		case '<':
			piece = "&lt;"
		case '>':
			piece = "&gt;"
		}
		n := utf8.RuneCountInString(piece)
		if used+n > max {
			return b.String()[:cutAt] + ellipsis
		}
		b.WriteString(piece)
		used += n
		if used < max {
			cutAt = b.Len()
		}
	}
	return b.String()
}

// cut shortens a text that holds no entity or token, such as a header.
func cut(s string, max int) string {
	if utf8.RuneCountInString(s) <= max {
		return s
	}
	return string([]rune(s)[:max-1]) + ellipsis
}

// plain makes a plain_text object. It is not parsed by Slack but for emoji
// codes, which are switched off: Kubernetes text such as a:b:c is none.
func plain(s string, max int) *slack.TextBlockObject {
	s = cut(oneLine(s, max), max)
	if s == "" {
		s = "–"
	}
	return slack.NewTextBlockObject(slack.PlainTextType, s, false, false)
}

// mrkdwn makes a text object whose parts are escaped already. Verbatim keeps
// Slack from making links and mentions of its own.
func mrkdwn(s string) *slack.TextBlockObject {
	return slack.NewTextBlockObject(slack.MarkdownType, s, false, true)
}
