package thread

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"labbot/bot/board"
	"labbot/bot/lab"
	"labbot/bot/run"
)

// channel is one Slack channel. Posts and edits have a lane each, since Slack
// counts them apart; within a lane calls follow one another.
type channel struct {
	id           lab.ChannelID
	of           *Threads
	posts, edits chan struct{} // capacity 1: "look again"
	started      bool          // guarded by Threads.mu

	mu   sync.Mutex
	runs []*live // in the order of their first Thread
}

// live is the thread of one run.
type live struct {
	id     lab.RunID
	thread run.Thread
	loaded bool
	slots  map[string]*slot
}

// slot is one message as it stands in Slack.
type slot struct {
	ts       lab.TS
	hash     string
	busy     bool // a lane is at it
	failed   string
	attempts int
	after    time.Time // no attempt before
}

const (
	// editEvery is the shortest time between two edits of one message.
	editEvery = time.Second
	// maxAttempts bounds the tries at one message in a row.
	maxAttempts = 8
	storeWait   = 2 * time.Second
	slackWait   = 90 * time.Second // several waits for the rate limit
	// drainFor is how long final messages may still be written at the end.
	drainFor = 5 * time.Second
)

func newChannel(id lab.ChannelID, of *Threads) *channel {
	return &channel{id: id, of: of, posts: make(chan struct{}, 1), edits: make(chan struct{}, 1)}
}

func (c *channel) publish(th run.Thread) {
	c.mu.Lock()
	i := slices.IndexFunc(c.runs, func(l *live) bool { return l.id == th.Run })
	if i < 0 {
		c.runs = append(c.runs, &live{id: th.Run, thread: th, slots: map[string]*slot{}})
	} else {
		c.runs[i].thread = th
	}
	c.mu.Unlock()
	c.look()
}

func (c *channel) look() {
	for _, lane := range []chan struct{}{c.posts, c.edits} {
		select {
		case lane <- struct{}{}:
		default:
		}
	}
}

func (c *channel) posted(id lab.RunID, name string) (posted, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.runs {
		if l.id == id && l.loaded {
			s := l.slots[name]
			return s != nil && s.ts != "", true
		}
	}
	return false, false
}

// lane calls step until it has nothing to do, then waits for news. step returns
// how long to wait before the next look, 0 for at once, negative for news only.
func (c *channel) lane(ctx context.Context, news <-chan struct{}, step func(context.Context) time.Duration) {
	for {
		wait := step(ctx)
		if wait == 0 && ctx.Err() == nil {
			continue
		}
		if wait < 0 {
			wait = time.Hour
		}
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			t.Stop()
			c.drain(step)
			return
		case <-news:
			t.Stop()
		case <-t.C:
		}
	}
}

// drain writes what is still waiting, so that a thread does not end on an old
// state when the bot is stopped.
func (c *channel) drain(step func(context.Context) time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), drainFor)
	defer cancel()
	for ctx.Err() == nil {
		wait := step(ctx)
		if wait < 0 {
			return
		}
		if wait > 0 {
			pause(ctx, wait)
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// calm bounds a call to Slack. When ctx ends, the call under way may still
// finish: cut off, nobody would know whether the message stands.
func calm(ctx context.Context) (context.Context, context.CancelFunc) {
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), slackWait)
	stop := context.AfterFunc(ctx, func() {
		pause(call, drainFor)
		cancel()
	})
	return call, func() { stop(); cancel() }
}

// job is one message to write.
type job struct {
	l      *live
	name   string
	s      *slot
	parent lab.TS
}

// pick finds the next slot that want accepts. Urgent slots go first.
func (c *channel) pick(now time.Time, want func(s *slot, sl board.Slot) bool) (j job, wait time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	wait = -1
	for _, urgent := range []bool{true, false} {
		for _, l := range c.runs {
			if !l.loaded {
				continue
			}
			root := l.slot(rootSlot)
			for _, sl := range l.thread.Slots {
				s := l.slot(sl.ID)
				if (sl.Urgent || sl.ID == rootSlot) != urgent || s.busy || !want(s, sl) {
					continue
				}
				if sl.ID != rootSlot && root.ts == "" {
					continue
				}
				if d := s.after.Sub(now); d > 0 {
					if wait < 0 || d < wait {
						wait = d
					}
					continue
				}
				s.busy = true
				return job{l: l, name: sl.ID, s: s, parent: root.ts}, 0
			}
		}
	}
	return job{}, wait
}

func (l *live) slot(name string) *slot {
	s := l.slots[name]
	if s == nil {
		s = &slot{}
		l.slots[name] = s
	}
	return s
}

// content returns the newest message of a slot and notes its hash in h.
func (c *channel) content(j job, h *string) func() board.Message {
	return func() board.Message {
		c.mu.Lock()
		defer c.mu.Unlock()
		m := board.Message{Text: "…"}
		for _, sl := range j.l.thread.Slots {
			if sl.ID == j.name {
				m = sl.Message
			}
		}
		*h = hash(m)
		return m
	}
}

func meta(id lab.RunID, slot string) map[string]any {
	return map[string]any{"run": string(id), "slot": slot}
}

// load reads what earlier processes have posted for the runs that are new here.
func (c *channel) load(ctx context.Context) {
	c.mu.Lock()
	var todo []*live
	for _, l := range c.runs {
		if !l.loaded {
			todo = append(todo, l)
		}
	}
	c.mu.Unlock()
	for _, l := range todo {
		sctx, cancel := context.WithTimeout(ctx, storeWait)
		known, err := c.of.slots.Slots(sctx, l.id)
		cancel()
		if err != nil {
			// Without the store a repeated message is possible; silence is worse.
			c.of.logger.Warn("slots not readable", zap.String("run", string(l.id)), zap.Error(err))
		}
		c.mu.Lock()
		for name, s := range known {
			l.slot(name).ts, l.slot(name).hash = s.TS, s.Hash
		}
		l.loaded = true
		c.mu.Unlock()
	}
}

// post writes one message that does not stand yet.
func (c *channel) post(ctx context.Context) time.Duration {
	c.load(ctx)
	c.forget()
	j, wait := c.pick(time.Now(), func(s *slot, _ board.Slot) bool { return s.ts == "" && s.failed == "" })
	if j.l == nil {
		return wait
	}
	cctx, cancel := calm(ctx)
	defer cancel()
	var h string
	ts, err := c.postOnce(cctx, j, &h)
	if err == nil {
		c.share(cctx, j, ts)
	}
	c.done(j, ts, h, err)
	if err == nil {
		c.of.OnPosted(j.l.id)
		c.look()
	}
	return 0
}

// postOnce records the intent, looks for a message that an earlier try may have
// left, and posts.
func (c *channel) postOnce(ctx context.Context, j job, h *string) (lab.TS, error) {
	id := j.l.id
	parent := j.parent
	if j.name == rootSlot {
		parent = ""
	}
	sctx, cancel := context.WithTimeout(ctx, storeWait)
	before, err := c.of.slots.BeginPost(sctx, id, j.name)
	cancel()
	if err != nil {
		c.of.logger.Warn("posting without a record", zap.String("run", string(id)), zap.String("slot", j.name), zap.Error(err))
	}
	if before.TS != "" {
		return before.TS, nil
	}
	if before.Begun() || j.s.attempts > 0 {
		oldest := time.Now().Add(-time.Hour)
		if before.Begun() {
			oldest = before.Since.Add(-time.Minute)
		}
		if ts, found, err := c.of.slack.Find(ctx, c.id, parent, oldest, meta(id, j.name)); err == nil && found {
			c.record(ctx, id, j.name, ts, "")
			return ts, nil
		}
	}
	ts, err := c.of.slack.Post(ctx, c.id, parent, meta(id, j.name), c.content(j, h))
	if err != nil {
		return "", err
	}
	if ts == "" {
		return "", errors.New("slack gave no timestamp")
	}
	c.record(ctx, id, j.name, ts, *h)
	return ts, nil
}

func (c *channel) record(ctx context.Context, id lab.RunID, name string, ts lab.TS, h string) {
	sctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeWait)
	defer cancel()
	if _, err := c.of.slots.EndPost(sctx, id, name, ts, h); err != nil {
		c.of.logger.Warn("message not recorded", zap.String("run", string(id)), zap.String("slot", name), zap.Error(err))
	}
}

// share uploads the slot's file, once. A file that cannot be shared is logged:
// the message itself says what it says.
func (c *channel) share(ctx context.Context, j job, ts lab.TS) {
	c.mu.Lock()
	var f *board.File
	for _, sl := range j.l.thread.Slots {
		if sl.ID == j.name {
			f = sl.Message.File
		}
	}
	c.mu.Unlock()
	if f == nil {
		return
	}
	parent := j.parent
	if parent == "" {
		parent = ts
	}
	if _, err := c.of.slack.Upload(ctx, c.id, parent, f.Name, f.Title, f.Body); err != nil {
		c.of.logger.Warn("file not shared", zap.String("run", string(j.l.id)), zap.String("file", f.Name), zap.Error(err))
	}
}

// edit brings one message that stands up to date.
func (c *channel) edit(ctx context.Context) time.Duration {
	j, wait := c.pick(time.Now(), func(s *slot, sl board.Slot) bool {
		return s.ts != "" && s.failed == "" && s.hash != hash(sl.Message)
	})
	if j.l == nil {
		return wait
	}
	cctx, cancel := calm(ctx)
	defer cancel()
	var h string
	err := c.of.slack.Update(cctx, c.id, j.s.ts, meta(j.l.id, j.name), c.content(j, &h))
	if err == nil {
		c.record(cctx, j.l.id, j.name, j.s.ts, h)
	}
	c.done(j, j.s.ts, h, err)
	return 0
}

// refusal is an error of Slack's own.
type refusal interface {
	error
	// Lasting tells that the same call can never succeed.
	Lasting() bool
}

func (c *channel) done(j job, ts lab.TS, h string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	j.s.busy = false
	if err == nil {
		j.s.ts, j.s.hash, j.s.attempts = ts, h, 0
		j.s.after = time.Now().Add(editEvery)
		return
	}
	j.s.attempts++
	j.s.after = time.Now().Add(min(time.Second<<j.s.attempts, 30*time.Second))
	var no refusal
	// A message that somebody deleted by hand is lasting too: it stays deleted.
	if errors.As(err, &no) && no.Lasting() || j.s.attempts >= maxAttempts {
		j.s.failed = err.Error()
		c.of.logger.Error("message given up", zap.String("run", string(j.l.id)), zap.String("slot", j.name), zap.Error(err))
		return
	}
	c.of.logger.Warn("message not written yet", zap.String("run", string(j.l.id)), zap.String("slot", j.name),
		zap.Int("attempt", j.s.attempts), zap.Error(err))
}

// forget drops the threads that are final and stand as they should.
func (c *channel) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.runs = slices.DeleteFunc(c.runs, func(l *live) bool { return l.thread.Final && l.settled() })
}

func (c *channel) settled(id lab.RunID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.runs {
		if l.id == id {
			return l.settled()
		}
	}
	return true
}

func (l *live) settled() bool {
	return l.loaded && !slices.ContainsFunc(l.thread.Slots, func(sl board.Slot) bool {
		s := l.slot(sl.ID)
		return s.failed == "" && (s.ts == "" || s.hash != hash(sl.Message))
	})
}
