package board

import (
	"strings"
	"unicode/utf8"

	"github.com/slack-go/slack"
)

// page collects blocks within the limits of one message. It takes whole lines
// only, so that a cut never falls inside an entity, a token or a code span.
type page struct {
	blocks []slack.Block
	left   int // characters
	tail   []slack.Block
}

func newPage() *page { return &page{left: limitMessage} }

func (p *page) add(b slack.Block, size int) bool {
	if size > p.left || len(p.blocks)+len(p.tail) >= limitBlocks {
		return false
	}
	p.blocks, p.left = append(p.blocks, b), p.left-size
	return true
}

// header has a mark of ours in front, so that emoji codes are drawn in it.
func (p *page) header(mark, s string) {
	t := plain(mark+" "+s, limitHeader)
	*t.Emoji = true
	p.add(slack.NewHeaderBlock(t), runes(t.Text))
}

// lines fills sections with whole lines and returns how many did not fit.
func (p *page) lines(lines ...string) (dropped int) {
	var part []string
	size := 0
	flush := func() bool {
		text := strings.Trim(strings.Join(part, "\n"), "\n")
		part, size = nil, 0
		return text == "" || p.add(slack.NewSectionBlock(mrkdwn(text), nil, nil), runes(text))
	}
	for i, l := range lines {
		n := runes(l) + 1
		if n > limitSection {
			continue // no caller makes one
		}
		if size+n > limitSection && !flush() {
			return len(lines) - i
		}
		if size+n > p.left {
			flush()
			return len(lines) - i
		}
		part, size = append(part, l), size+n
	}
	flush()
	return 0
}

// context draws small grey text, each part an element of its own.
func (p *page) context(parts ...string) {
	var elements []slack.MixedElement
	size := 0
	for _, s := range parts {
		if s != "" && len(elements) < 10 {
			elements, size = append(elements, mrkdwn(s)), size+runes(s)
		}
	}
	if len(elements) > 0 {
		p.add(slack.NewContextBlock("", elements...), size)
	}
}

// reserve keeps room for blocks that must be on the page whatever comes before.
func (p *page) reserve(size int, blocks ...slack.Block) {
	p.tail, p.left = append(p.tail, blocks...), p.left-size
}

func (p *page) message(text string) Message {
	if text == "" {
		text = "–"
	}
	return Message{Text: text, Blocks: append(p.blocks, p.tail...)}
}

func runes(s string) int { return utf8.RuneCountInString(s) }
