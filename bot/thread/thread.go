// Package thread keeps the messages of each run in step with its newest Thread.
//
// Publish never waits for Slack: a newer Thread replaces one still waiting, so a
// reader may miss a state in between but never the last one. Messages of one
// thread are posted in order, root first, and each is posted once: what was
// begun is recorded before Slack is called, and looked for before it is called
// again.
package thread

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"sync"
	"time"

	"go.uber.org/zap"

	"labbot/bot/board"
	"labbot/bot/lab"
	"labbot/bot/run"
)

// Slack is what a thread needs of Slack.
type Slack interface {
	Post(ctx context.Context, ch lab.ChannelID, parent lab.TS, meta map[string]any, content func() board.Message) (lab.TS, error)
	Update(ctx context.Context, ch lab.ChannelID, ts lab.TS, meta map[string]any, content func() board.Message) error
	Upload(ctx context.Context, ch lab.ChannelID, parent lab.TS, name, title, body string) (string, error)
	Find(ctx context.Context, ch lab.ChannelID, parent lab.TS, oldest time.Time, want map[string]any) (lab.TS, bool, error)
}

// rootSlot is the slot that the others are replies to.
const rootSlot = "board"

// Threads keeps the threads of all runs. OnPosted, when set before Run, is told
// of each run in which a message has just appeared.
type Threads struct {
	slack    Slack
	slots    run.Postings
	logger   *zap.Logger
	OnPosted func(lab.RunID)

	mu       sync.Mutex
	channels map[lab.ChannelID]*channel
	ctx      context.Context // of Run; nil before
	workers  sync.WaitGroup
}

// New returns Threads. Nothing is posted before Run.
func New(slack Slack, slots run.Postings, logger *zap.Logger) *Threads {
	return &Threads{slack: slack, slots: slots, logger: logger.Named("thread"),
		OnPosted: func(lab.RunID) {}, channels: map[lab.ChannelID]*channel{}}
}

// Run posts and edits until ctx ends; then it gives what is final a short while.
func (t *Threads) Run(ctx context.Context) error {
	t.mu.Lock()
	t.ctx = ctx
	for _, c := range t.channels {
		t.startLocked(c)
	}
	t.mu.Unlock()
	<-ctx.Done()
	t.workers.Wait()
	return nil
}

// Publish makes th the newest state of its run.
func (t *Threads) Publish(th run.Thread) {
	t.mu.Lock()
	c := t.channels[th.Channel]
	if c == nil {
		c = newChannel(th.Channel, t)
		t.channels[th.Channel] = c
		if t.ctx != nil {
			t.startLocked(c)
		}
	}
	t.mu.Unlock()
	c.publish(th)
}

// Posted tells whether a slot of the run stands in Slack.
func (t *Threads) Posted(ctx context.Context, id lab.RunID, slot string) (bool, error) {
	t.mu.Lock()
	for _, c := range t.channels {
		if posted, known := c.posted(id, slot); known {
			t.mu.Unlock()
			return posted, nil
		}
	}
	t.mu.Unlock()
	all, err := t.slots.Slots(ctx, id)
	if err != nil {
		return false, err
	}
	return all[slot].TS != "", nil
}

// Settled tells whether the newest Thread of the run stands in Slack as it is,
// as far as it can: messages that Slack will never take do not count.
func (t *Threads) Settled(_ context.Context, id lab.RunID) (bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.channels {
		if !c.settled(id) {
			return false, nil
		}
	}
	return true, nil
}

func (t *Threads) startLocked(c *channel) {
	if c.started || t.ctx.Err() != nil {
		return
	}
	c.started = true
	t.workers.Go(func() { c.lane(t.ctx, c.posts, c.post) })
	t.workers.Go(func() { c.lane(t.ctx, c.edits, c.edit) })
}

// hash identifies a message's content, file aside: a file is shared once.
func hash(m board.Message) string {
	raw, err := json.Marshal(struct {
		Text   string
		Blocks any
	}{m.Text, m.Blocks})
	if err != nil {
		return m.Text
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8])
}
