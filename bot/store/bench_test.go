package store_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"labbot/bot/lab"
	"labbot/bot/run"
	"labbot/bot/run/runtest"
	"labbot/bot/store"
	"labbot/scenarios/engine"
)

// commits tells when a commit with facts has returned.
type commits struct {
	run.Log
	done chan time.Time
}

func (c commits) Commit(ctx context.Context, id lab.RunID, ver int64, ch run.Change) (int64, error) {
	next, err := c.Log.Commit(ctx, id, ver, ch)
	if err == nil && len(ch.Facts) > 0 {
		c.done <- time.Now()
	}
	return next, err
}

// news is a cluster whose one Deployment changes when the benchmark says so.
type news struct {
	*runtest.Cluster
	mu         sync.Mutex
	generation int
	notify     func()
}

func (n *news) Watch(_ context.Context, _ run.Meta, _ []engine.Watch, notify func()) (run.Lens, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.notify = notify
	return n, nil
}

func (n *news) Evidence() engine.Evidence {
	n.mu.Lock()
	defer n.mu.Unlock()
	obj := map[string]any{"metadata": map[string]any{"generation": n.generation}}
	return engine.Evidence{Objects: map[string]engine.Reading{"deploy": {Known: true, Object: obj}}}
}

func (n *news) Close() {}

// Do makes and deletes any namespace at once.
func (n *news) Do(_ context.Context, m run.Meta, in engine.Intent) engine.Result {
	return engine.Result{Intent: in.ID, Status: engine.ResultDone, UID: "uid-" + string(m.Run), At: time.Now()}
}

func (n *news) change() {
	n.mu.Lock()
	n.generation++
	notify := n.notify
	n.mu.Unlock()
	notify()
}

func rig(b *testing.B, s *store.Store) (*news, commits, *run.Runner) {
	b.Helper()
	n := &news{Cluster: runtest.NewCluster()}
	c := commits{Log: s, done: make(chan time.Time, 100)}
	r := boot(b, s, c, n, "a/1")
	return n, c, r
}

func boot(b *testing.B, s *store.Store, log run.Log, cluster run.Cluster, owner string) *run.Runner {
	r := run.New(run.Deps{
		Log: log, Queue: s.Queue(), Clusters: map[string]run.Cluster{"lab": cluster}, Library: runtest.Short{Parallel: true},
		Publisher: runtest.NewPublisher(&runtest.Slack{}, s, nil), Logger: zap.NewNop(), Owner: owner,
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		_ = r.Run(ctx)
		close(done)
	}()
	b.Cleanup(func() {
		cancel()
		<-done
	})
	return r
}

func begin(b *testing.B, s *store.Store, r *run.Runner, key string) lab.RunID {
	b.Helper()
	st, err := r.Start(b.Context(), run.StartRequest{Key: key, Scenario: "short", Cluster: "lab", Channel: "C1", CommandAt: time.Now()})
	if err != nil {
		b.Fatal(err)
	}
	return st.ID
}

func waitFix(b *testing.B, s *store.Store, id lab.RunID) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if r, err := s.Load(ctx, id); err == nil && r.State.Phase == engine.Fix && r.State.Params["generation"] != nil {
			return
		}
		select {
		case <-ctx.Done():
			b.Fatal("the run does not start")
		case <-tick.C:
		}
	}
}

func report(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	ms := func(q float64) float64 { return float64(took[int(q*float64(len(took)-1))].Microseconds()) / 1000 }
	b.ReportMetric(ms(0.5), "p50-ms")
	b.ReportMetric(ms(0.99), "p99-ms")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkKickToCommit is the time from a change that the informer tells of to
// the commit that records what came of it, changes 100 ms apart.
func BenchmarkKickToCommit(b *testing.B) {
	s := startServer(b).open()
	n, c, r := rig(b, s)
	waitFix(b, s, begin(b, s, r, "cmd-1"))
	drainCommits(c)
	pace := time.NewTicker(100 * time.Millisecond)
	defer pace.Stop()
	var took []time.Duration
	for b.Loop() {
		<-pace.C
		at := time.Now()
		n.change()
		took = append(took, (<-c.done).Sub(at))
	}
	report(b, took)
}

// BenchmarkClickToCommit is the time from a click at another replica, through
// the queue of the owner, to the commit that takes it.
func BenchmarkClickToCommit(b *testing.B) {
	s := startServer(b).open()
	n, c, r := rig(b, s)
	other := boot(b, s, s, n, "b/1")
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		id := begin(b, s, r, fmt.Sprintf("cmd-%d", i))
		waitFix(b, s, id)
		drainCommits(c)
		owner, err := s.Load(b.Context(), id)
		if err != nil {
			b.Fatal(err)
		}
		from := other
		if strings.HasPrefix(owner.Owner, "b/") {
			from = r
		}
		at := time.Now()
		if err := from.Input(b.Context(), id, engine.Input{ID: "i", Kind: engine.InputStop, At: at}); err != nil {
			b.Fatal(err)
		}
		for {
			got, err := s.Load(b.Context(), id)
			if err == nil && got.State.Phase != engine.Fix {
				break
			}
		}
		took = append(took, time.Since(at))
	}
	report(b, took)
}

func drainCommits(c commits) {
	for {
		select {
		case <-c.done:
		default:
			return
		}
	}
}

// BenchmarkIdleLoad counts the commands that one replica sends to Redis in a
// second, with no run and with ten that wait for their learners.
func BenchmarkIdleLoad(b *testing.B) {
	for _, runs := range []int{0, 10} {
		b.Run(fmt.Sprintf("runs=%d", runs), func(b *testing.B) {
			srv := startServer(b)
			s := srv.open()
			_, _, r := rig(b, s)
			for i := range runs {
				begin(b, s, r, fmt.Sprintf("cmd-%d", i))
			}
			rdb := redis.NewClient(&redis.Options{Addr: srv.addr(), Protocol: 2, DisableIdentity: true})
			defer rdb.Close()
			wait := time.NewTimer(3 * time.Second)
			<-wait.C
			var rates []float64
			for b.Loop() {
				before := processed(b, rdb)
				at := time.Now()
				wait.Reset(10 * time.Second)
				<-wait.C
				rates = append(rates, float64(processed(b, rdb)-before-1)/time.Since(at).Seconds())
			}
			b.ReportMetric(slices.Max(rates), "commands/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func processed(b *testing.B, rdb redis.UniversalClient) int {
	b.Helper()
	info, err := rdb.Info(b.Context(), "stats").Result()
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(info, "total_commands_processed:")
	line, _, _ := strings.Cut(rest, "\r\n")
	n, err := strconv.Atoi(line)
	if err != nil {
		b.Fatal(err)
	}
	return n
}
