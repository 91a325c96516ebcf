package runtest

import (
	"context"
	"errors"
	"sync"
	"time"

	"labbot/bot/lab"
	"labbot/bot/run"
	"labbot/scenarios/engine"
)

// Mortal is a process whose effects come one after another, and which dies after a number of them: from then on nothing
// it does has any effect, and it learns of nothing. A nil Mortal never dies.
type Mortal struct {
	mu    sync.Mutex
	left  int
	after bool
	count int
	cut   bool
	dead  chan struct{}
}

// errDead is what a dead process sees of the world.
var errDead = errors.Join(run.ErrDown, errors.New("this process is dead"))

// NewMortal returns a process that dies at its n-th effect, from 1: before the
// effect, or after it and before it knows.
func NewMortal(n int, after bool) *Mortal {
	return &Mortal{left: n, after: after, dead: make(chan struct{})}
}

// Dead is closed when the process dies.
func (m *Mortal) Dead() <-chan struct{} { return m.dead }

// Count is how many effects there were.
func (m *Mortal) Count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.count
}

// do makes one effect and tells whether the process lived to know of it.
func (m *Mortal) do(effect func()) bool {
	if m == nil {
		effect()
		return true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.left <= 0 {
		return false
	}
	m.count++
	m.left--
	if m.left == 0 {
		close(m.dead)
		if m.after {
			effect()
		}
		return false
	}
	effect()
	return true
}

// Cut takes the log, and nothing else, away from the process, or gives it back.
func (m *Mortal) Cut(cut bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cut = cut
}

// reaches tells whether the process lives and the log is not cut off.
func (m *Mortal) reaches() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.left > 0 && !m.cut
}

// MortalLog is a log as one process sees it. Reading is no effect.
type MortalLog struct {
	run.Log
	M *Mortal
}

func lived[T any](m *Mortal, call func() (T, error)) (out T, err error) {
	if m.reaches() && m.do(func() { out, err = call() }) {
		return out, err
	}
	var none T
	return none, errDead
}

func read[T any](m *Mortal, call func() (T, error)) (T, error) {
	if !m.reaches() {
		var none T
		return none, errDead
	}
	return call()
}

// Create is an effect.
func (l MortalLog) Create(ctx context.Context, r run.Record) error {
	_, err := lived(l.M, func() (int, error) { return 0, l.Log.Create(ctx, r) })
	return err
}

// Load is no effect.
func (l MortalLog) Load(ctx context.Context, id lab.RunID) (run.Record, error) {
	return read(l.M, func() (run.Record, error) { return l.Log.Load(ctx, id) })
}

// Claim is an effect.
func (l MortalLog) Claim(ctx context.Context, id lab.RunID, ver int64, owner string, ttl time.Duration) (run.Record, error) {
	return lived(l.M, func() (run.Record, error) { return l.Log.Claim(ctx, id, ver, owner, ttl) })
}

// Renew is not counted: it leaves nothing behind but time.
func (l MortalLog) Renew(ctx context.Context, id lab.RunID, owner string, ttl time.Duration) ([]engine.Input, error) {
	return read(l.M, func() ([]engine.Input, error) { return l.Log.Renew(ctx, id, owner, ttl) })
}

// Commit is an effect.
func (l MortalLog) Commit(ctx context.Context, id lab.RunID, ver int64, c run.Change) (int64, error) {
	return lived(l.M, func() (int64, error) { return l.Log.Commit(ctx, id, ver, c) })
}

// PushInput is an effect.
func (l MortalLog) PushInput(ctx context.Context, id lab.RunID, in engine.Input) (run.Brief, error) {
	return lived(l.M, func() (run.Brief, error) { return l.Log.PushInput(ctx, id, in) })
}

// Due is no effect.
func (l MortalLog) Due(ctx context.Context) ([]run.Brief, error) {
	return read(l.M, func() ([]run.Brief, error) { return l.Log.Due(ctx) })
}

// Enter is an effect.
func (l MortalLog) Enter(ctx context.Context, cluster, ns string, id lab.RunID) (int, error) {
	return lived(l.M, func() (int, error) { return l.Log.Enter(ctx, cluster, ns, id) })
}

// Leave is an effect.
func (l MortalLog) Leave(ctx context.Context, cluster, ns string, id lab.RunID) (lab.RunID, error) {
	return lived(l.M, func() (lab.RunID, error) { return l.Log.Leave(ctx, cluster, ns, id) })
}

// BeginPost is an effect.
func (l MortalLog) BeginPost(ctx context.Context, id lab.RunID, slot string) (run.Posting, error) {
	return lived(l.M, func() (run.Posting, error) { return l.Log.BeginPost(ctx, id, slot) })
}

// EndPost is an effect.
func (l MortalLog) EndPost(ctx context.Context, id lab.RunID, slot string, ts lab.TS, hash string) (run.Posting, error) {
	return lived(l.M, func() (run.Posting, error) { return l.Log.EndPost(ctx, id, slot, ts, hash) })
}

// MortalCluster is a cluster as one process sees it.
type MortalCluster struct {
	*Cluster
	M *Mortal
}

// Do is an effect.
func (c MortalCluster) Do(ctx context.Context, m run.Meta, in engine.Intent) engine.Result {
	res := engine.Result{Intent: in.ID, Status: engine.ResultUnreachable}
	var got engine.Result
	if c.M.do(func() { got = c.Cluster.Do(ctx, m, in) }) {
		return got
	}
	return res
}

// MortalQueue is a queue as one process sees it.
type MortalQueue struct {
	*Queue
	M *Mortal
}

// Enqueue is an effect.
func (q MortalQueue) Enqueue(ctx context.Context, t run.Task) error {
	_, err := lived(q.M, func() (int, error) { return 0, q.Queue.Enqueue(ctx, t) })
	return err
}

// Serve delivers nothing to the dead.
func (q MortalQueue) Serve(ctx context.Context, owner string, handle func(context.Context, run.Task) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-q.M.Dead():
			cancel()
		case <-ctx.Done():
		}
	}()
	return q.Queue.Serve(ctx, owner, handle)
}
