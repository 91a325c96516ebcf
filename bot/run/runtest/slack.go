package runtest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"labbot/bot/board"
	"labbot/bot/lab"
	"labbot/bot/run"
)

// Slack is a channel's messages, each with the run and slot that its metadata
// names. It outlives the publishers that write to it.
type Slack struct {
	mu       sync.Mutex
	messages []*Message
}

// Message is one message as it stands.
type Message struct {
	Run   lab.RunID
	Slot  string
	TS    lab.TS
	Text  string // the message with its blocks, as JSON
	Edits int
}

// Of lists the messages of a run in the order of posting.
func (s *Slack) Of(id lab.RunID) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Message
	for _, m := range s.messages {
		if m.Run == id {
			out = append(out, *m)
		}
	}
	return out
}

// Board is the text of a run's root message, empty before it stands.
func (s *Slack) Board(id lab.RunID) string {
	for _, m := range s.Of(id) {
		if m.Slot == run.RootSlot {
			return m.Text
		}
	}
	return ""
}

// Twice lists the slots of a run that stand more than once.
func (s *Slack) Twice(id lab.RunID) []string {
	seen := map[string]int{}
	var out []string
	for _, m := range s.Of(id) {
		if seen[m.Slot]++; seen[m.Slot] == 2 {
			out = append(out, m.Slot)
		}
	}
	return out
}

func (s *Slack) post(id lab.RunID, slot, text string) lab.TS {
	s.mu.Lock()
	defer s.mu.Unlock()
	ts := lab.TS(fmt.Sprintf("1900000000.%06d", len(s.messages)+1))
	s.messages = append(s.messages, &Message{Run: id, Slot: slot, TS: ts, Text: text})
	return ts
}

func (s *Slack) edit(ts lab.TS, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.messages {
		if m.TS == ts && m.Text != text {
			m.Text = text
			m.Edits++
		}
	}
}

func (s *Slack) find(id lab.RunID, slot string) lab.TS {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.messages {
		if m.Run == id && m.Slot == slot {
			return m.TS
		}
	}
	return ""
}

// Publisher is a run.Publisher that writes to Slack at once, with the record of
// each post before and after it, as the real one does.
type Publisher struct {
	slack  *Slack
	slots  run.Postings
	mortal *Mortal

	mu    sync.Mutex
	known map[string]lab.TS
}

var (
	_ run.Publisher = (*Publisher)(nil)
	_ run.Settler   = (*Publisher)(nil)
)

// NewPublisher returns one process's publisher. mortal may be nil.
func NewPublisher(s *Slack, slots run.Postings, mortal *Mortal) *Publisher {
	return &Publisher{slack: s, slots: slots, mortal: mortal, known: map[string]lab.TS{}}
}

// Publish writes the thread, root first.
func (p *Publisher) Publish(t run.Thread) {
	p.mu.Lock()
	defer p.mu.Unlock()
	root := slices.IndexFunc(t.Slots, func(s board.Slot) bool { return s.ID == run.RootSlot })
	if root < 0 || !p.write(t.Run, t.Slots[root]) {
		return // replies need something to hang from
	}
	for i, s := range t.Slots {
		if i != root {
			p.write(t.Run, s)
		}
	}
}

// write brings one slot up to date and tells whether it stands.
func (p *Publisher) write(id lab.RunID, s board.Slot) bool {
	raw, err := json.Marshal(s.Message)
	if err != nil {
		panic(err)
	}
	text := strings.ToValidUTF8(string(raw), "")
	key := string(id) + "/" + s.ID
	ctx := context.Background()
	if p.known[key] == "" {
		before, err := p.slots.BeginPost(ctx, id, s.ID)
		switch {
		case err != nil:
			return false // without the record it might stand twice
		case before.TS != "":
			p.known[key] = before.TS
		case before.Begun():
			p.known[key] = p.slack.find(id, s.ID)
		}
	}
	if ts := p.known[key]; ts != "" {
		return p.mortal.do(func() { p.slack.edit(ts, text) })
	}
	var ts lab.TS
	if !p.mortal.do(func() { ts = p.slack.post(id, s.ID, text) }) {
		return false
	}
	p.known[key] = ts
	_, err = p.slots.EndPost(ctx, id, s.ID, ts, "")
	return err == nil
}

// Posted tells whether the slot stands.
func (p *Publisher) Posted(_ context.Context, id lab.RunID, slot string) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.known[string(id)+"/"+slot] != "", nil
}

// Settled is always true once Publish has returned.
func (p *Publisher) Settled(context.Context, lab.RunID) (bool, error) { return true, nil }
