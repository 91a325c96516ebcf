package runtest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"labbot/bot/run"
)

// Queue is a run.Queue in memory. It outlives the runners that serve it.
type Queue struct {
	mu    sync.Mutex
	tasks []queued
	lost  bool
	news  chan struct{} // closed at the next Enqueue; nil when nobody waits
}

type queued struct {
	id string
	t  run.Task
	at time.Time
}

var _ run.Queue = (*Queue)(nil)

// poll is how often a served queue looks for delayed and refused tasks.
const poll = time.Second

// Lose makes the queue forget all tasks from now on without an error: the sweep
// has to do.
func (q *Queue) Lose() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lost, q.tasks = true, nil
}

// Enqueue accepts a task; the same run, version and try count once.
func (q *Queue) Enqueue(_ context.Context, t run.Task) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	t.To = instance(t.To)
	id := fmt.Sprintf("%s:%d:%d:%s", t.Run, t.Ver, t.Try, t.To)
	for _, x := range q.tasks {
		if x.id == id {
			return nil
		}
	}
	if !q.lost {
		q.tasks = append(q.tasks, queued{id: id, t: t, at: time.Now().Add(t.After)})
	}
	if q.news != nil {
		close(q.news)
		q.news = nil
	}
	return nil
}

// changed is closed at the next Enqueue.
func (q *Queue) changed() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.news == nil {
		q.news = make(chan struct{})
	}
	return q.news
}

// Serve delivers tasks until ctx ends.
func (q *Queue) Serve(ctx context.Context, owner string, handle func(context.Context, run.Task) error) error {
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		news := q.changed()
		for x, ok := q.next(owner); ok && ctx.Err() == nil; x, ok = q.next(owner) {
			if handle(ctx, x.t) != nil {
				x.at = time.Now().Add(time.Second)
				q.mu.Lock()
				q.tasks = append(q.tasks, x)
				q.mu.Unlock()
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-news:
		case <-tick.C:
		}
	}
}

func (q *Queue) next(owner string) (queued, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, x := range q.tasks {
		mine := x.t.To == "" || strings.EqualFold(x.t.To, instance(owner))
		if mine && !x.at.After(time.Now()) {
			q.tasks = append(q.tasks[:i:i], q.tasks[i+1:]...)
			return x, true
		}
	}
	return queued{}, false
}
