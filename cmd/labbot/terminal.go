package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"

	"labbot/bot/board"
	"labbot/bot/lab"
	"labbot/bot/run"
)

// terminal is a Publisher that draws a run's thread in a terminal: each message
// once, and of an edited one only the lines that are new.
type terminal struct {
	out    io.Writer
	posted func(lab.RunID)
	final  chan struct{}

	mu    sync.Mutex
	shown map[string]map[string]bool // slot → lines
	ended bool
}

func newTerminal(out io.Writer) *terminal {
	return &terminal{out: out, posted: func(lab.RunID) {}, final: make(chan struct{}), shown: map[string]map[string]bool{}}
}

func (t *terminal) Publish(th run.Thread) {
	fresh := t.draw(th)
	if fresh {
		// The runner may hold a lock of its own while it publishes.
		go t.posted(th.Run)
	}
}

func (t *terminal) draw(th run.Thread) (fresh bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range th.Slots {
		lines := t.shown[s.ID]
		if lines == nil {
			fresh = true
			lines = map[string]bool{}
			t.shown[s.ID] = lines
			fmt.Fprintf(t.out, "\n── %s\n", s.ID)
		}
		for _, l := range readingLines(s.Message) {
			if !lines[l] {
				lines[l] = true
				fmt.Fprintf(t.out, "   %s\n", l)
			}
		}
	}
	if th.Final && !t.ended {
		t.ended = true
		close(t.final)
	}
	return fresh
}

// Posted is true for whatever was drawn.
func (t *terminal) Posted(_ context.Context, _ lab.RunID, slot string) (bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.shown[slot] != nil, nil
}

var (
	blockText = regexp.MustCompile(`"text":"((?:[^"\\]|\\.)*)"`)
	plainText = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&", "```", "", "`", "", "*", "")
)

// readingLines is a message as lines of plain text: Slack's marks are taken off.
func readingLines(m board.Message) []string {
	raw, err := json.Marshal(m.Blocks)
	if err != nil {
		return []string{m.Text}
	}
	var lines []string
	for _, match := range blockText.FindAllSubmatch(raw, -1) {
		var s string
		if json.Unmarshal([]byte(`"`+string(match[1])+`"`), &s) != nil {
			continue
		}
		for _, l := range strings.Split(plainText.Replace(s), "\n") {
			if strings.TrimSpace(l) != "" {
				lines = append(lines, strings.TrimRight(l, " "))
			}
		}
	}
	if m.File != nil {
		lines = append(lines, strings.Split(strings.TrimRight(m.File.Body, "\n"), "\n")...)
	}
	return lines
}
