// Package runtest has small working stand-ins for what a run needs: a log and a
// queue in memory, a simulated cluster and a simulated Slack. The log is held to
// the same suite, TestLog, as the real one.
package runtest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"labbot/bot/lab"
	"labbot/bot/run"
	"labbot/scenarios/engine"
)

// Log is a run.Log in memory. Its clock is time.Now, so it may be used inside a
// synctest bubble.
type Log struct {
	mu      sync.Mutex
	runs    map[lab.RunID]*entry
	lines   map[string][]lab.RunID
	threads map[string]lab.RunID
	down    bool
}

type entry struct {
	record run.Record
	facts  []engine.Fact
	slots  map[string]run.Posting
	seen   map[string]bool
	last   string // the last write, so that a repeated one is known
}

var _ run.Log = (*Log)(nil)

// NewLog returns an empty log.
func NewLog() *Log {
	return &Log{runs: map[lab.RunID]*entry{}, lines: map[string][]lab.RunID{}, threads: map[string]lab.RunID{}}
}

// SetDown makes every call fail with run.ErrDown, or work again.
func (l *Log) SetDown(down bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = down
}

// Peek shows a run without copying it; the caller changes nothing of it.
func (l *Log) Peek(id lab.RunID) (run.Record, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.runs[id]
	if e == nil {
		return run.Record{}, false
	}
	return e.record, true
}

// lock enters a call; the caller unlocks, whatever the error.
func (l *Log) lock(ctx context.Context) error {
	l.mu.Lock()
	if l.down {
		return run.ErrDown
	}
	if err := ctx.Err(); err != nil {
		return errors.Join(run.ErrDown, err)
	}
	return nil
}

func (l *Log) find(ctx context.Context, id lab.RunID) (*entry, error) {
	if err := l.lock(ctx); err != nil {
		return nil, err
	}
	e := l.runs[id]
	if e == nil {
		return nil, run.ErrNotFound
	}
	return e, nil
}

// Create records a new run.
func (l *Log) Create(ctx context.Context, r run.Record) error {
	err := l.lock(ctx)
	defer l.mu.Unlock()
	if err != nil {
		return err
	}
	r.Ver = max(r.Ver, 1)
	r.Owner, r.ClaimUntil, r.Closed = "", time.Time{}, false
	op := encode("create", r)
	if old := l.runs[r.ID]; old != nil {
		if old.last == op {
			return nil
		}
		return run.ErrExists
	}
	l.runs[r.ID] = &entry{record: clone(r), slots: map[string]run.Posting{}, seen: map[string]bool{}, last: op}
	return nil
}

// Load reads a run.
func (l *Log) Load(ctx context.Context, id lab.RunID) (run.Record, error) {
	e, err := l.find(ctx, id)
	defer l.mu.Unlock()
	if err != nil {
		return run.Record{}, err
	}
	return clone(e.record), nil
}

func instance(owner string) string {
	i, _, _ := strings.Cut(owner, "/")
	return i
}

// Claim makes owner the holder.
func (l *Log) Claim(ctx context.Context, id lab.RunID, ver int64, owner string, ttl time.Duration) (run.Record, error) {
	e, err := l.find(ctx, id)
	defer l.mu.Unlock()
	if err != nil {
		return run.Record{}, err
	}
	r := &e.record
	op := encode("claim", []any{ver, owner})
	if ver < 0 || e.last != op {
		switch {
		case r.Closed:
			return run.Record{}, run.ErrClosed
		case ver >= 0 && r.Ver != ver:
			return run.Record{}, run.ErrLost
		case r.Owner != "" && r.ClaimUntil.After(time.Now()) && instance(r.Owner) != instance(owner):
			return run.Record{}, run.ErrHeld
		}
		r.Ver++
		r.Owner, r.ClaimUntil = owner, time.Now().Add(ttl)
		e.last = op
	}
	return clone(*r), nil
}

// Renew prolongs the claim.
func (l *Log) Renew(ctx context.Context, id lab.RunID, owner string, ttl time.Duration) ([]engine.Input, error) {
	e, err := l.find(ctx, id)
	defer l.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if e.record.Closed {
		return nil, run.ErrClosed
	}
	if e.record.Owner != owner {
		return nil, run.ErrLost
	}
	e.record.ClaimUntil = time.Now().Add(ttl)
	return slices.Clone(e.record.Inputs), nil
}

// Commit applies a change.
func (l *Log) Commit(ctx context.Context, id lab.RunID, ver int64, c run.Change) (int64, error) {
	e, err := l.find(ctx, id)
	defer l.mu.Unlock()
	if err != nil {
		return 0, err
	}
	op := encode("commit", []any{ver, c})
	r := &e.record
	switch {
	case e.last == op:
		return r.Ver, nil
	case r.Closed:
		return 0, run.ErrClosed
	case r.Ver != ver:
		return 0, run.ErrLost
	}
	c = clone(c)
	if c.State != nil {
		r.State = *c.State
	}
	if c.Position != nil {
		r.Position = *c.Position
	}
	if c.Hops != nil {
		r.Hops = c.Hops
	}
	for step, x := range c.Exhibits {
		if r.Exhibits == nil {
			r.Exhibits = clone(c.Exhibits)
		}
		r.Exhibits[step] = x
	}
	e.facts = append(e.facts, c.Facts...)
	r.Inputs = slices.DeleteFunc(r.Inputs, func(in engine.Input) bool { return slices.Contains(c.Consumed, in.ID) })
	if c.Release || c.Close {
		r.Owner, r.ClaimUntil = "", time.Time{}
	}
	r.Closed = r.Closed || c.Close
	r.Ver++
	e.last = op
	return r.Ver, nil
}

// PushInput leaves an act for the next step.
func (l *Log) PushInput(ctx context.Context, id lab.RunID, in engine.Input) (run.Brief, error) {
	e, err := l.find(ctx, id)
	defer l.mu.Unlock()
	if err != nil {
		return run.Brief{}, err
	}
	if !e.seen[in.ID] {
		if e.record.Closed {
			return run.Brief{}, run.ErrClosed
		}
		if len(e.record.Inputs) >= 200 {
			return run.Brief{}, run.ErrFull
		}
		e.seen[in.ID] = true
		e.record.Inputs = append(e.record.Inputs, clone(in))
	}
	b := brief(e.record)
	if b.Free(time.Now()) {
		b.Owner, b.ClaimUntil = "", time.Time{}
	}
	return b, nil
}

func brief(r run.Record) run.Brief {
	return run.Brief{
		ID: r.ID, Cluster: r.Cluster, Namespace: r.State.Namespace, Channel: r.Channel, Ver: r.Ver,
		Owner: r.Owner, ClaimUntil: r.ClaimUntil, Inputs: len(r.Inputs),
	}
}

// Facts is the run's event log.
func (l *Log) Facts(ctx context.Context, id lab.RunID) ([]engine.Fact, error) {
	err := l.lock(ctx)
	defer l.mu.Unlock()
	if err != nil || l.runs[id] == nil {
		return nil, err
	}
	return clone(l.runs[id].facts), nil
}

// Active lists the live runs of a cluster.
func (l *Log) Active(ctx context.Context, cluster string) ([]run.Brief, error) {
	return l.list(ctx, func(b run.Brief) bool { return b.Cluster == cluster })
}

// Due lists the live runs that nobody holds.
func (l *Log) Due(ctx context.Context) ([]run.Brief, error) {
	return l.list(ctx, func(b run.Brief) bool { return b.Free(time.Now()) })
}

func (l *Log) list(ctx context.Context, keep func(run.Brief) bool) ([]run.Brief, error) {
	err := l.lock(ctx)
	defer l.mu.Unlock()
	if err != nil {
		return nil, err
	}
	var out []run.Brief
	for _, e := range l.newest() {
		if b := brief(e.record); !e.record.Closed && keep(b) {
			out = append(out, b)
		}
	}
	slices.Reverse(out)
	return out, nil
}

// newest lists all runs, the last command first.
func (l *Log) newest() []*entry {
	var all []*entry
	for _, e := range l.runs {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b *entry) int {
		if c := b.record.CommandAt.Compare(a.record.CommandAt); c != 0 {
			return c
		}
		return strings.Compare(string(b.record.ID), string(a.record.ID))
	})
	return all
}

// Enter puts the run at the end of the line.
func (l *Log) Enter(ctx context.Context, cluster, namespace string, id lab.RunID) (int, error) {
	err := l.lock(ctx)
	defer l.mu.Unlock()
	if err != nil {
		return 0, err
	}
	key := cluster + "/" + namespace
	if i := slices.Index(l.lines[key], id); i >= 0 {
		return i, nil
	}
	if len(l.lines[key]) >= 20 {
		return 0, run.ErrFull
	}
	l.lines[key] = append(l.lines[key], id)
	return len(l.lines[key]) - 1, nil
}

// Leave takes the run out of the line.
func (l *Log) Leave(ctx context.Context, cluster, namespace string, id lab.RunID) (lab.RunID, error) {
	err := l.lock(ctx)
	defer l.mu.Unlock()
	if err != nil {
		return "", err
	}
	key := cluster + "/" + namespace
	line := slices.DeleteFunc(l.lines[key], func(x lab.RunID) bool { return x == id })
	l.lines[key] = line
	if len(line) == 0 {
		return "", nil
	}
	return line[0], nil
}

// Latest lists the newest runs of a channel.
func (l *Log) Latest(ctx context.Context, channel lab.ChannelID, n int) ([]lab.RunID, error) {
	err := l.lock(ctx)
	defer l.mu.Unlock()
	if err != nil {
		return nil, err
	}
	var out []lab.RunID
	for _, e := range l.newest() {
		if e.record.Channel == channel && len(out) < n {
			out = append(out, e.record.ID)
		}
	}
	return out, nil
}

// InThread finds the run whose board is ts.
func (l *Log) InThread(ctx context.Context, channel lab.ChannelID, ts lab.TS) (lab.RunID, error) {
	err := l.lock(ctx)
	defer l.mu.Unlock()
	if err != nil {
		return "", err
	}
	id, ok := l.threads[string(channel)+"/"+string(ts)]
	if !ok {
		return "", run.ErrNotFound
	}
	return id, nil
}

// BeginPost records that the slot is about to be posted.
func (l *Log) BeginPost(ctx context.Context, id lab.RunID, slot string) (run.Posting, error) {
	e, err := l.find(ctx, id)
	defer l.mu.Unlock()
	if err != nil {
		return run.Posting{}, err
	}
	if p, ok := e.slots[slot]; ok {
		return p, nil
	}
	e.slots[slot] = run.Posting{Slot: slot, Since: time.Now()}
	return run.Posting{Slot: slot}, nil
}

// EndPost records the message.
func (l *Log) EndPost(ctx context.Context, id lab.RunID, slot string, ts lab.TS, hash string) (run.Posting, error) {
	e, err := l.find(ctx, id)
	defer l.mu.Unlock()
	if err != nil {
		return run.Posting{}, err
	}
	p, ok := e.slots[slot]
	if !ok {
		p = run.Posting{Slot: slot, Since: time.Now()}
	}
	if p.TS == "" || p.TS == ts {
		p.TS, p.Hash = ts, hash
		e.slots[slot] = p
	}
	if slot == run.RootSlot {
		l.threads[string(e.record.Channel)+"/"+string(p.TS)] = id
	}
	return p, nil
}

// Slots reads the run's thread.
func (l *Log) Slots(ctx context.Context, id lab.RunID) (map[string]run.Posting, error) {
	err := l.lock(ctx)
	defer l.mu.Unlock()
	out := map[string]run.Posting{}
	if e := l.runs[id]; e != nil {
		for k, v := range e.slots {
			out[k] = v
		}
	}
	return out, err
}

func encode(op string, v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // all of it is plain data
	}
	return op + string(raw)
}

// clone copies by way of JSON, as the real log does, so that nothing is shared
// and nothing survives that Redis would lose.
func clone[T any](v T) T {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	var out T
	if err := json.Unmarshal(raw, &out); err != nil {
		panic(err)
	}
	return out
}

// Forget empties the log, as a Redis without persistence does when it restarts.
func (l *Log) Forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.runs)
	clear(l.lines)
	clear(l.threads)
}
