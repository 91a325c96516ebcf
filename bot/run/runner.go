package run

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"labbot/bot/lab"
	"labbot/scenarios/engine"
)

const (
	// claimTTL is how long a run stays with an owner that says nothing, and so
	// bounds the take-over together with sweepEvery.
	claimTTL   = 10 * time.Second
	renewEvery = 3 * time.Second
	sweepEvery = 5 * time.Second
	// serveAgain is the pause before the queue is served again after an error.
	serveAgain = 2 * time.Second
)

// errStopping answers a delivery that comes while the runner hands over.
var errStopping = errors.New("this runner is stopping")

// Program is one version of a scenario, ready to run. Step is pure.
type Program interface {
	Start(a engine.StartArgs) (engine.State, error)
	Step(st engine.State, ev engine.Evidence, at time.Time) (engine.State, []engine.Fact)
	Watches() []engine.Watch
	Title() lab.Text
	Minutes() int
	Phases() []engine.PhaseInfo
}

// Library finds scenarios. Version 0 is the newest.
type Library interface {
	Program(name string, version int) (Program, error)
}

// Deps is what a Runner works with. Those that may be absent say so.
type Deps struct {
	Log       Log
	Queue     Queue
	Clusters  map[string]Cluster
	Publisher Publisher
	Library   Library
	Logger    *zap.Logger
	// Owner is "instance/boot": the instance is stable over restarts and unique
	// among live processes, the boot is new for each start.
	Owner string
	// Now is the clock, time.Now when nil.
	Now func() time.Time
	// LostAfter is how long the log may stay away before a run is stopped and
	// cleaned up without it; 0 is 60 s.
	LostAfter time.Duration
	// Registries maps, by cluster, a course registry or repository prefix to the
	// lab's own. It may be nil.
	Registries map[string]map[string]string
	// Refused, when set, is told of acts that the run did not accept, so that
	// the person behind one can be answered. It must not block.
	Refused func(r Record, f engine.Fact)
}

// Runner takes runs from the command to the proof of cleanup.
type Runner struct {
	deps   Deps
	logger *zap.Logger
	places *places

	ctx  context.Context // of the workers
	stop context.CancelFunc
	wg   sync.WaitGroup // of the workers

	mu      sync.Mutex
	workers map[lab.RunID]*worker
	taking  map[lab.RunID]bool
	closed  bool
}

// New returns a Runner. It starts nothing; call Run.
func New(d Deps) *Runner {
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.LostAfter == 0 {
		d.LostAfter = 60 * time.Second
	}
	ctx, stop := context.WithCancel(context.Background())
	return &Runner{
		deps: d, logger: d.Logger.Named("run"), places: newPlaces(d.Clusters),
		ctx: ctx, stop: stop, workers: map[lab.RunID]*worker{}, taking: map[lab.RunID]bool{},
	}
}

// now is the instant as it is stored: UTC, without the monotonic reading that
// JSON would lose.
func (r *Runner) now() time.Time { return r.deps.Now().UTC().Round(0) }

// Run serves the queue, sweeps for runs that nobody holds and cleans up after
// lost ones, until ctx ends; then it hands its runs over.
func (r *Runner) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	wg.Go(func() { r.serve(ctx) })
	wg.Go(func() { r.every(ctx, sweepEvery, r.sweep) })
	wg.Go(func() { r.every(ctx, janitorEvery, r.janitor) })
	wg.Go(func() { r.every(ctx, sweepEvery, r.places.learn) })
	<-ctx.Done()
	// No delivery may take up again what Close gives away.
	wg.Wait()
	r.Close()
	return nil
}

// every calls do at once and then each period.
func (r *Runner) every(ctx context.Context, period time.Duration, do func(context.Context)) {
	t := time.NewTicker(period)
	defer t.Stop()
	for {
		do(ctx)
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

func (r *Runner) serve(ctx context.Context) {
	for ctx.Err() == nil {
		err := r.deps.Queue.Serve(ctx, r.deps.Owner, r.HandleStep)
		if ctx.Err() != nil {
			return
		}
		r.logger.Warn("the queue is not served, the sweep goes on", zap.Error(err))
		pause(ctx, serveAgain)
	}
}

// Close releases the runs held here, so that another process takes them at
// once, and waits until that is done. It may be called more than once.
func (r *Runner) Close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.stop()
	r.wg.Wait()
}

// HandleStep does what a delivered task asks for: it wakes the run's worker, or
// claims the run at the task's version and starts one.
func (r *Runner) HandleStep(ctx context.Context, t Task) error {
	err := r.take(ctx, t.Run, t.Ver)
	switch {
	case errors.Is(err, ErrLost), errors.Is(err, ErrHeld), errors.Is(err, ErrClosed), errors.Is(err, ErrNotFound):
		return nil // somebody else is at it, or nothing is left to do
	}
	return err
}

// Kick tells the run that something it waits for may have happened.
func (r *Runner) Kick(id lab.RunID) {
	if w := r.worker(id); w != nil {
		w.wake()
	}
}

func (r *Runner) worker(id lab.RunID) *worker {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.workers[id]
}

// take claims a run and starts its worker. A run that is held here is woken.
func (r *Runner) take(ctx context.Context, id lab.RunID, ver int64) error {
	r.mu.Lock()
	w, busy, closed := r.workers[id], r.taking[id], r.closed
	if w == nil && !busy && !closed {
		r.taking[id] = true
	}
	r.mu.Unlock()
	switch {
	case closed:
		return errStopping
	case w != nil:
		w.wakeForInputs()
		return nil
	case busy:
		return nil // the claim under way reads all there is
	}
	defer func() {
		r.mu.Lock()
		delete(r.taking, id)
		r.mu.Unlock()
	}()
	rec, err := r.deps.Log.Claim(ctx, id, ver, r.deps.Owner, claimTTL)
	if err != nil {
		return err
	}
	return r.begin(ctx, rec)
}

// begin starts the worker of a run that has just been claimed.
func (r *Runner) begin(ctx context.Context, rec Record) error {
	cluster := r.deps.Clusters[rec.Cluster]
	if cluster == nil {
		_, err := r.deps.Log.Commit(ctx, rec.ID, rec.Ver, Change{Release: true})
		return errors.Join(fmt.Errorf("run %s is on cluster %q, which is not configured here", rec.ID, rec.Cluster), err)
	}
	prog, err := r.deps.Library.Program(rec.State.Scenario, rec.State.Version)
	if err != nil {
		// The run is still owed its cleanup.
		r.logger.Error("a run's scenario is not in this build", zap.String("run", string(rec.ID)), zap.Error(err))
		prog = nil
	}
	w := newWorker(r, rec, prog, cluster)
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		_, err := r.deps.Log.Commit(ctx, rec.ID, rec.Ver, Change{Release: true})
		return errors.Join(errStopping, err)
	}
	r.workers[rec.ID] = w
	r.wg.Add(1)
	r.mu.Unlock()
	go func() {
		defer r.wg.Done()
		defer func() {
			r.mu.Lock()
			delete(r.workers, rec.ID)
			r.mu.Unlock()
		}()
		w.run(r.ctx)
	}()
	return nil
}

// pause waits for d or the end of ctx.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
