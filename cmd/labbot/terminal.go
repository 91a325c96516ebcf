package main

import (
	"context"
	"fmt"
	"io"
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
		for _, l := range board.Lines(s.Message) {
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
