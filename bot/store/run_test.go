package store_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap/zaptest"

	"labbot/bot/lab"
	"labbot/bot/run"
	"labbot/bot/run/runtest"
	"labbot/bot/store"
	"labbot/scenarios/engine"
)

// class is a bot on a real store, with a simulated cluster and Slack.
type class struct {
	t       *testing.T
	store   *store.Store
	cluster *runtest.Cluster
	slack   *runtest.Slack
}

func newClass(t *testing.T, s *store.Store) *class {
	c := &class{t: t, store: s, cluster: runtest.NewCluster(), slack: &runtest.Slack{}}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { c.cluster.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		wg.Wait()
	})
	return c
}

type bot struct {
	*run.Runner
	end func()
}

func (c *class) boot(owner string, lostAfter time.Duration, log run.Log) *bot {
	if log == nil {
		log = c.store
	}
	r := run.New(run.Deps{
		Log: log, Queue: c.store.Queue(), Clusters: map[string]run.Cluster{"lab": c.cluster}, Library: runtest.Short{},
		Publisher: runtest.NewPublisher(c.slack, c.store, nil), Logger: zaptest.NewLogger(c.t), Owner: owner, LostAfter: lostAfter,
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		_ = r.Run(ctx)
		close(done)
	}()
	end := sync.OnceFunc(func() {
		cancel()
		<-done
	})
	c.t.Cleanup(end)
	return &bot{r, end}
}

func (c *class) start(b *bot, key string) lab.RunID {
	c.t.Helper()
	s, err := b.Start(c.t.Context(), run.StartRequest{
		Key: key, Scenario: "short", Cluster: "lab", Cohort: "k8s-1", Channel: "C0COHORT01", Lang: lab.EN,
		StartedBy: "U0STUDENT1", CommandAt: time.Now(),
	})
	if err != nil {
		c.t.Fatalf("Start: %v", err)
	}
	return s.ID
}

func (c *class) state(id lab.RunID) run.Record {
	r, _ := c.store.Load(context.Background(), id) // a store that is away shows nothing
	return r
}

func (c *class) untilFix(id lab.RunID) {
	c.t.Helper()
	eventually(c.t, "phase fix", func() bool { return c.state(id).State.Phase == engine.Fix })
}

func (c *class) untilClosed(id lab.RunID, want engine.Outcome) {
	c.t.Helper()
	eventually(c.t, "closed", func() bool { return c.state(id).Closed })
	r := c.state(id)
	if r.State.Outcome != want || r.State.Cleaned != engine.Clean {
		c.t.Errorf("outcome %q, cleaned %q, want %q, clean", r.State.Outcome, r.State.Cleaned, want)
	}
	if !c.cluster.Empty() || c.cluster.Made(id) != 1 {
		c.t.Errorf("empty %t, %d namespaces made; want true, 1", c.cluster.Empty(), c.cluster.Made(id))
	}
	if twice := c.slack.Twice(id); len(twice) > 0 {
		c.t.Errorf("messages stand twice: %v", twice)
	}
}

func press(id string) engine.Input {
	return engine.Input{ID: id, Kind: engine.InputButton, Button: "rollback", By: "U0STUDENT1", At: time.Now()}
}

// troubled waits until the board shows a trouble, or none, and tells how long
// that took.
func (c *class) troubled(b *bot, id lab.RunID, want string) time.Duration {
	c.t.Helper()
	begin := time.Now()
	eventually(c.t, "trouble "+want, func() bool { return b.View(run.Record{ID: id}).Trouble == want })
	return time.Since(begin)
}

func TestRunOnEachStore(t *testing.T) {
	queues(t, func(t *testing.T, s *store.Store) {
		c := newClass(t, s)
		b := c.boot("a/1", 0, nil)
		begin := time.Now()
		id := c.start(b, "cmd-1")
		eventually(t, "first board", func() bool { return c.slack.Board(id) != "" })
		if took := time.Since(begin); took > time.Second {
			t.Errorf("the first line of the board stood after %s, want at most 1 s", took)
		}
		c.untilFix(id)
		if err := b.Input(t.Context(), id, press("i1")); err != nil {
			t.Fatal(err)
		}
		c.untilClosed(id, engine.Passed)
	})
}

func TestRunOutlivesRedis(t *testing.T) {
	for name, fault := range map[string]struct{ away, back func(*server) }{
		"killed and restarted": {(*server).kill, (*server).restart},
		"frozen and thawed":    {(*server).freeze, (*server).thaw},
	} {
		t.Run(name, func(t *testing.T) {
			srv := startServer(t)
			c := newClass(t, srv.open())
			b := c.boot("a/1", 0, nil)
			id := c.start(b, "cmd-1")
			c.untilFix(id)
			fault.away(srv)
			if took := c.troubled(b, id, "redis"); took > 5*time.Second {
				t.Errorf("the board said so after %s, want at most 5 s", took)
			}
			fault.back(srv)
			if took := c.troubled(b, id, ""); took > 5*time.Second {
				t.Errorf("calm after %s, want at most 5 s", took)
			}
			if err := b.Input(t.Context(), id, press("i1")); err != nil {
				t.Fatal(err)
			}
			c.untilClosed(id, engine.Passed)
		})
	}
}

func TestRedisStaysAway(t *testing.T) {
	srv := startServer(t)
	c := newClass(t, srv.open())
	b := c.boot("a/1", 3*time.Second, nil)
	id := c.start(b, "cmd-1")
	c.untilFix(id)
	srv.kill()
	eventually(t, "cleaned up without redis", c.cluster.Empty)
	eventually(t, "final board", func() bool { return b.View(run.Record{ID: id}).State.Phase == engine.Ended })
	srv.restart()
	c.untilClosed(id, engine.Infrastructure)
}

func TestRedisComesBackEmpty(t *testing.T) {
	srv := startServer(t)
	c := newClass(t, srv.open())
	b := c.boot("a/1", 0, nil)
	id := c.start(b, "cmd-1")
	c.untilFix(id)
	srv.kill()
	if err := os.RemoveAll(filepath.Join(srv.dir, "appendonlydir")); err != nil {
		t.Fatal(err)
	}
	srv.restart()
	eventually(t, "what the lost run made is gone", c.cluster.Empty)
	eventually(t, "let go", func() bool { return b.View(run.Record{ID: id}).State.Phase == "" })
}

func TestHandOverOnRedis(t *testing.T) {
	srv := startServer(t)
	s := srv.open()
	c := newClass(t, s)
	a := c.boot("a/1", 0, nil)
	id := c.start(a, "cmd-1")
	c.untilFix(id)
	b := c.boot("b/1", 0, nil)
	owner := c.state(id).Owner
	first, other := a, b
	if owner == "b/1" {
		first, other = b, a
	}
	// A click that reaches the replica without the run finds its way.
	seen := c.state(id).Ver
	begin := time.Now()
	first.end()
	eventually(t, "taken over", func() bool { r := c.state(id); return r.Owner != owner && r.Owner != "" && r.Ver > seen })
	t.Logf("taken over %s after SIGTERM would have come", time.Since(begin).Round(time.Millisecond))
	if err := other.Input(t.Context(), id, press("i1")); err != nil {
		t.Fatal(err)
	}
	c.untilClosed(id, engine.Passed)
}

// TestAClickElsewhereReachesTheOwner presses a button at the replica that does
// not hold the run.
func TestAClickElsewhereReachesTheOwner(t *testing.T) {
	srv := startServer(t)
	c := newClass(t, srv.open())
	a := c.boot("a/1", 0, nil)
	id := c.start(a, "cmd-1")
	c.untilFix(id)
	b := c.boot("b/1", 0, nil)
	if err := b.Input(t.Context(), id, press("i1")); err != nil {
		t.Fatal(err)
	}
	c.untilClosed(id, engine.Passed)
}
