package store_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"labbot/bot/run"
	"labbot/bot/store"
)

// deliveries collects what a served queue hands out.
type deliveries struct {
	mu   sync.Mutex
	got  map[string][]run.Task // by owner
	fail int                   // how many deliveries to refuse first
}

func (d *deliveries) handler(owner string) func(context.Context, run.Task) error {
	return func(_ context.Context, t run.Task) error {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.fail > 0 {
			d.fail--
			return errors.New("not now")
		}
		d.got[owner] = append(d.got[owner], t)
		return nil
	}
}

func (d *deliveries) count(owner string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.got[owner])
}

func serve(t *testing.T, q *store.Queue, owner string, d *deliveries) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- q.Serve(ctx, owner, d.handler(owner)) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("Serve(%s): %v", owner, err)
			}
		case <-time.After(15 * time.Second):
			t.Errorf("Serve(%s) does not end", owner)
		}
	})
}

func queues(t *testing.T, check func(t *testing.T, s *store.Store)) {
	t.Run("in-process", func(t *testing.T) { check(t, openInProcess(t)) })
	t.Run("redis", func(t *testing.T) { check(t, startServer(t).open()) })
}

func TestQueueDelivers(t *testing.T) {
	queues(t, func(t *testing.T, s *store.Store) {
		d := &deliveries{got: map[string][]run.Task{}}
		q := s.Queue()
		put := func(task run.Task) {
			t.Helper()
			if err := q.Enqueue(t.Context(), task); err != nil {
				t.Fatal(err)
			}
		}
		// The same run, version and try is one task, also before anybody serves.
		put(run.Task{Run: "r-one", Ver: 1})
		put(run.Task{Run: "r-one", Ver: 1})
		serve(t, q, "a/1", d)
		serve(t, q, "b/1", d)
		eventually(t, "one delivery of the shared task", func() bool { return d.count("a/1")+d.count("b/1") == 1 })
		for i := range 5 {
			put(run.Task{Run: "r-two", Ver: int64(i), To: "b/1"})
		}
		eventually(t, "b gets its own", func() bool { return d.count("a/1")+d.count("b/1") == 6 })
		if n := d.count("a/1"); n > 1 {
			t.Errorf("a was given %d tasks, want only shared ones", n)
		}
	})
}

func TestQueueGivesARefusedTaskAgain(t *testing.T) {
	queues(t, func(t *testing.T, s *store.Store) {
		d := &deliveries{got: map[string][]run.Task{}, fail: 1}
		serve(t, s.Queue(), "a/1", d)
		if err := s.Queue().Enqueue(t.Context(), run.Task{Run: "r-one", Ver: 7}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "delivered after a refusal", func() bool { return d.count("a/1") == 1 })
	})
}

// TestQueueOutlivesRedis kills the server under a served queue.
func TestQueueOutlivesRedis(t *testing.T) {
	srv := startServer(t)
	s := srv.open()
	d := &deliveries{got: map[string][]run.Task{}}
	serve(t, s.Queue(), "a/1", d)
	if err := s.Queue().Enqueue(t.Context(), run.Task{Run: "r-one", Ver: 1, After: 2 * time.Second}); err != nil {
		t.Fatal(err)
	}
	srv.kill()
	if err := s.Queue().Enqueue(t.Context(), run.Task{Run: "r-two", Ver: 1}); !errors.Is(err, run.ErrDown) {
		t.Errorf("Enqueue without redis: %v, want ErrDown", err)
	}
	srv.restart()
	eventually(t, "the task recorded before the crash", func() bool { return d.count("a/1") == 1 })
	eventually(t, "enqueue again", func() bool {
		return s.Queue().Enqueue(t.Context(), run.Task{Run: "r-two", Ver: 1}) == nil
	})
	eventually(t, "delivery again", func() bool { return d.count("a/1") == 2 })
}

// TestServeEndsWithoutRedis ends a queue whose server is frozen: in bounded time.
func TestServeEndsWithoutRedis(t *testing.T) {
	srv := startServer(t)
	s := srv.open()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- s.Queue().Serve(ctx, "a/1", func(context.Context, run.Task) error { return nil })
	}()
	eventually(t, "served", func() bool {
		return s.Queue().Enqueue(t.Context(), run.Task{Run: "r-one", Ver: time.Now().UnixNano()}) == nil
	})
	srv.freeze()
	defer srv.thaw()
	begin := time.Now()
	cancel()
	select {
	case err := <-done:
		t.Logf("ended after %s: %v", time.Since(begin).Round(10*time.Millisecond), err)
	case <-time.After(15 * time.Second):
		t.Error("Serve does not end within 15 s while redis is frozen")
	}
}
