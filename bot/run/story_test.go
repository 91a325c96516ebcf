package run_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"

	"labbot/bot/lab"
	"labbot/bot/run"
	"labbot/bot/run/runtest"
	"labbot/scenarios"
	"labbot/scenarios/engine"
)

// lab1 is a whole class in memory: log, queue, cluster and Slack outlive the
// processes that work on them.
type lab1 struct {
	t       *testing.T
	log     *runtest.Log
	queue   *runtest.Queue
	cluster *runtest.Cluster
	slack   *runtest.Slack
	stop    context.CancelFunc
	wg      sync.WaitGroup
}

func newLab(t *testing.T) *lab1 {
	ctx, stop := context.WithCancel(t.Context())
	l := &lab1{
		t: t, log: runtest.NewLog(), queue: &runtest.Queue{}, cluster: runtest.NewCluster(),
		slack: &runtest.Slack{}, stop: stop,
	}
	l.wg.Go(func() { l.cluster.Run(ctx) })
	return l
}

// end stops all that the test has begun; a bubble must be empty when it ends.
func (l *lab1) end() {
	l.stop()
	l.wg.Wait()
}

// process is one bot.
type process struct {
	*run.Runner
	stop context.CancelFunc
	done chan struct{}
}

// close ends the process in order: its runs are handed over.
func (p *process) close() {
	p.stop()
	<-p.done
}

type library struct{ *scenarios.Registry }

func (l library) Program(name string, _ int) (run.Program, error) {
	p, ok := l.Find(name)
	if !ok {
		return nil, fmt.Errorf("no scenario %q", name)
	}
	return p, nil
}

var embedded = sync.OnceValues(scenarios.Library)

// boot starts a bot. mortal may be nil.
func (l *lab1) boot(owner string, mortal *runtest.Mortal) *process {
	l.t.Helper()
	reg, err := embedded()
	if err != nil {
		l.t.Fatal(err)
	}
	logger := zap.NewNop()
	if testing.Verbose() {
		logger = zaptest.NewLogger(l.t)
	}
	d := run.Deps{
		Log: l.log, Queue: l.queue, Clusters: map[string]run.Cluster{"lab": l.cluster},
		Library: library{reg}, Logger: logger, Owner: owner,
	}
	if mortal != nil {
		d.Log = runtest.MortalLog{Log: l.log, M: mortal}
		d.Queue = runtest.MortalQueue{Queue: l.queue, M: mortal}
		d.Clusters = map[string]run.Cluster{"lab": runtest.MortalCluster{Cluster: l.cluster, M: mortal}}
	}
	d.Publisher = runtest.NewPublisher(l.slack, d.Log, mortal)
	ctx, stop := context.WithCancel(l.t.Context())
	p := &process{Runner: run.New(d), stop: stop, done: make(chan struct{})}
	go func() {
		_ = p.Run(ctx)
		close(p.done)
	}()
	return p
}

func request(key string) run.StartRequest {
	return run.StartRequest{
		Key: key, Scenario: "break-image", Cluster: "lab", Cohort: "k8s-1", Channel: "C0COHORT01",
		Lang: lab.EN, StartedBy: "U0STUDENT1", CommandAt: time.Now(),
	}
}

func (l *lab1) start(p *process, key string) lab.RunID {
	l.t.Helper()
	s, err := p.Start(l.t.Context(), request(key))
	if err != nil {
		l.t.Fatalf("Start: %v", err)
	}
	return s.ID
}

func (l *lab1) load(id lab.RunID) run.Record {
	l.t.Helper()
	r, ok := l.log.Peek(id)
	if !ok {
		l.t.Fatalf("run %s is not recorded", id)
	}
	return r
}

// until waits, in the bubble's time, for something to become true.
func (l *lab1) until(what string, limit time.Duration, done func() bool) {
	l.t.Helper()
	for end := time.Now().Add(limit); !done(); time.Sleep(max(100*time.Millisecond, limit/1000)) {
		if time.Now().After(end) {
			l.t.Fatalf("%s: not within %s", what, limit)
		}
	}
}

func (l *lab1) untilPhase(id lab.RunID, ph engine.Phase) {
	l.t.Helper()
	l.until("phase "+string(ph), 3*time.Minute, func() bool {
		r := l.load(id)
		if r.Closed && ph != engine.Ended {
			l.t.Fatalf("the run ended before phase %s: %s %s %s", ph, r.State.Outcome, r.State.Why.EN, r.State.Remains)
		}
		return r.State.Phase == ph
	})
}

func (l *lab1) untilClosed(id lab.RunID) run.Record {
	l.t.Helper()
	l.until("closed", 20*time.Minute, func() bool { return l.load(id).Closed })
	return l.load(id)
}

func rollback() engine.Input {
	return engine.Input{ID: "click-1", Kind: engine.InputButton, Button: "rollback", By: "U0STUDENT1", At: time.Now()}
}

func stopIt() engine.Input {
	return engine.Input{ID: "click-stop", Kind: engine.InputStop, By: "U0TEACHER", At: time.Now()}
}

// check holds what must be true of every ended run, however it went.
func (l *lab1) check(id lab.RunID, outcome engine.Outcome, cleaned engine.CleanResult) {
	l.t.Helper()
	r := l.load(id)
	if r.State.Outcome != outcome || r.State.Cleaned != cleaned {
		l.t.Errorf("outcome %q, cleaned %q (%s %s), want %q, %q", r.State.Outcome, r.State.Cleaned, r.State.Why.EN, r.State.Remains, outcome, cleaned)
	}
	if !l.cluster.Empty() {
		l.t.Error("something is left on the cluster")
	}
	if n := l.cluster.Made(id); n > 1 {
		l.t.Errorf("%d namespaces were made, want at most 1", n)
	}
	if twice := l.slack.Twice(id); len(twice) > 0 {
		l.t.Errorf("messages stand twice: %v", twice)
	}
	if l.slack.Board(id) == "" {
		l.t.Error("no board in Slack")
	}
	if first, err := l.log.Leave(context.Background(), "lab", "k8s-m01", ""); err != nil || first != "" {
		l.t.Errorf("the namespace's line has %q, %v, want nobody", first, err)
	}
}

func TestBreakImageIsRepairedByTheButton(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		p := l.boot("a/1", nil)
		id := l.start(p, "cmd-1")
		l.until("first board", time.Second, func() bool { return l.slack.Board(id) != "" })
		l.untilPhase(id, engine.Fix)
		if err := p.Input(t.Context(), id, rollback()); err != nil {
			t.Fatal(err)
		}
		r := l.untilClosed(id)
		l.check(id, engine.Passed, engine.Clean)
		if r.State.Repair == nil || r.State.Repair.Button != "rollback" || r.State.Repair.By != "U0STUDENT1" {
			t.Errorf("repair = %+v, want the button and who pressed it", r.State.Repair)
		}
		for _, step := range []string{"objects", "describe-deployment", "describe-pods", "events", "history"} {
			if _, ok := r.Exhibits[step]; !ok {
				t.Errorf("no exhibit of step %s", step)
			}
		}
		if facts, err := l.log.Facts(t.Context(), id); err != nil || len(facts) < 10 {
			t.Errorf("%d facts, %v", len(facts), err)
		}
		p.close()
		l.end()
	})
}

func TestACommandDeliveredTwiceIsOneRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		p := l.boot("a/1", nil)
		first := l.start(p, "cmd-1")
		time.Sleep(time.Second)
		again, err := p.Start(t.Context(), request("cmd-1"))
		if err != nil || again.ID != first || again.Position != 0 {
			t.Errorf("Start again = %+v, %v, want run %s at position 0", again, err, first)
		}
		if err := p.Input(t.Context(), first, stopIt()); err != nil {
			t.Fatal(err)
		}
		l.untilClosed(first)
		l.check(first, engine.Stopped, engine.Clean)
		p.close()
		l.end()
	})
}

func TestQueuedRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		p := l.boot("a/1", nil)
		first := l.start(p, "cmd-1")
		l.untilPhase(first, engine.Inject)
		second, err := p.Start(t.Context(), request("cmd-2"))
		if err != nil || second.Position != 1 {
			t.Fatalf("second Start = %+v, %v, want position 1", second, err)
		}
		third, err := p.Start(t.Context(), request("cmd-3"))
		if err != nil || third.Position != 2 {
			t.Fatalf("third Start = %+v, %v, want position 2", third, err)
		}
		l.until("positions recorded", 10*time.Second, func() bool {
			return l.load(second.ID).Position == 1 && l.load(third.ID).Position == 2 && l.slack.Board(third.ID) != ""
		})
		if err := p.Input(t.Context(), second.ID, stopIt()); err != nil {
			t.Fatal(err)
		}
		l.until("stopped in the queue", 10*time.Second, func() bool { return l.load(second.ID).Closed })
		if r := l.load(second.ID); r.State.Outcome != engine.Stopped || r.State.Cleaned != engine.CleanNotNeeded || l.cluster.Made(second.ID) != 0 {
			t.Errorf("stopped in the queue: outcome %q, cleaned %q, %d namespaces", r.State.Outcome, r.State.Cleaned, l.cluster.Made(second.ID))
		}
		l.until("moved up", 10*time.Second, func() bool { return l.load(third.ID).Position == 1 })
		stop := stopIt()
		stop.ID = "other"
		if err := p.Input(t.Context(), first, stop); err != nil {
			t.Fatal(err)
		}
		l.until("third has the namespace", 30*time.Second, func() bool { return l.cluster.Made(third.ID) == 1 })
		if r := l.load(first); r.State.Cleaned != engine.Clean {
			t.Errorf("the third began while the first was %q", r.State.Cleaned)
		}
		if r := l.load(third.ID); r.State.StartedAt.Sub(r.CommandAt) < time.Second {
			t.Errorf("the clocks of a queued run begin with its turn: started %s after the command", r.State.StartedAt.Sub(r.CommandAt))
		}
		if err := p.Input(t.Context(), third.ID, stopIt()); err != nil {
			t.Fatal(err)
		}
		l.untilClosed(third.ID)
		l.check(third.ID, engine.Stopped, engine.Clean)
		p.close()
		l.end()
	})
}

func TestHandOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		a := l.boot("a/1", nil)
		id := l.start(a, "cmd-1")
		l.untilPhase(id, engine.Fix)
		b := l.boot("b/1", nil)
		begin := time.Now()
		a.close()
		l.until("taken over", time.Second, func() bool { return strings.HasPrefix(l.load(id).Owner, "b/") })
		t.Logf("taken over %s after the stop", time.Since(begin))
		if err := b.Input(t.Context(), id, rollback()); err != nil {
			t.Fatal(err)
		}
		l.untilClosed(id)
		l.check(id, engine.Passed, engine.Clean)
		b.close()
		l.end()
	})
}

func TestAQueueThatLosesEverythingIsNoHarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		l.queue.Lose()
		p := l.boot("a/1", nil)
		id := l.start(p, "cmd-1")
		l.untilPhase(id, engine.Fix)
		if err := p.Input(t.Context(), id, rollback()); err != nil {
			t.Fatal(err)
		}
		l.untilClosed(id)
		l.check(id, engine.Passed, engine.Clean)
		p.close()
		l.end()
	})
}
