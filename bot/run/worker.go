package run

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"labbot/bot/exhibit"
	"labbot/scenarios/engine"
)

const (
	// tickEvery is how often a run looks at the world when nothing calls it:
	// assertions count seconds.
	tickEvery = time.Second
	// kickPace is the shortest time between two looks that the cluster asks for.
	kickPace = 50 * time.Millisecond
	// maxSteps bounds the steps in a row before anything else gets its turn.
	maxSteps = 20
	// handOver bounds the release of a run when the process ends.
	handOver = 3 * time.Second
)

// errOver ends a worker whose run is closed.
var errOver = errors.New("the run is closed")

// worker drives one run that this process holds. All fields but those that say
// otherwise belong to the goroutine of run.
type worker struct {
	r       *Runner
	logger  *zap.Logger
	prog    Program // nil when this build does not have the scenario
	cluster Cluster

	kick  chan struct{} // capacity 1: "look again"
	ask   chan struct{} // capacity 1: "look again, and at the log's inputs too"
	acted chan outcome  // what effects gave

	rec      Record
	claimed  time.Time                  // when the run was taken here
	seen     bool                       // the view has been read whole once
	results  []engine.Result            // not yet taken by a committed step
	captured map[string]exhibit.Exhibit // not yet committed
	effects  map[string]bool            // intents under way
	asked    map[string]bool            // intents that got an answer here
	running  sync.WaitGroup             // of the effects
	inLine   bool                       // the place in the namespace's line is known
	holder   *Record                    // who has the namespace while this run waits
	final    time.Time                  // when the last Thread was published
	wipeAt   time.Time                  // no attempt of wipe before

	view    view
	away    away
	trouble trouble

	shared atomic.Pointer[shared]
}

// shared is what other goroutines may read of a worker.
type shared struct {
	rec     Record
	lens    Lens // nil while there is none
	trouble trouble
}

// outcome is what an effect gave: a result, an exhibit, or both.
type outcome struct {
	intent  string
	result  *engine.Result
	exhibit *exhibit.Exhibit
}

func newWorker(r *Runner, rec Record, prog Program, cluster Cluster) *worker {
	w := &worker{
		r: r, prog: prog, cluster: cluster, rec: rec, claimed: r.now(),
		logger:   r.logger.With(zap.String("run", string(rec.ID)), zap.String("scenario", rec.State.Scenario)),
		kick:     make(chan struct{}, 1),
		ask:      make(chan struct{}, 1),
		acted:    make(chan outcome, 16),
		captured: map[string]exhibit.Exhibit{}, effects: map[string]bool{}, asked: map[string]bool{},
	}
	w.view = view{opened: make(chan opened, 1)}
	w.share()
	return w
}

// wake asks for a look at the world. The signal is taken before the look, so
// that news during it asks for another one.
func (w *worker) wake() { signal(w.kick) }

func (w *worker) wakeForInputs() { signal(w.ask) }

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (w *worker) share() {
	w.shared.Store(&shared{rec: w.rec, lens: w.view.lens, trouble: w.trouble})
}

// run drives the run until it is closed, lost to another owner, or ctx ends.
func (w *worker) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer w.end(cancel)
	if w.prog == nil {
		w.abandon("run.no-program")
	}
	w.publish()
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	renew := time.NewTicker(renewEvery)
	defer renew.Stop()
	pace := time.NewTimer(0)
	defer pace.Stop()
	var kick chan struct{} // nil while the pace holds kicks back
	for {
		if err := w.turn(ctx); err != nil {
			w.left(err)
			return
		}
		kick = nil
		pace.Reset(kickPace)
		for again := false; !again; {
			again = true
			select {
			case <-ctx.Done():
				w.release()
				return
			case <-pace.C:
				kick, again = w.kick, false
			case <-kick:
			case <-tick.C:
			case <-w.wakeAt():
			case <-renew.C:
				w.needInputs()
			case <-w.ask:
				w.needInputs()
			case o := <-w.acted:
				w.take(o)
			case o := <-w.view.opened:
				w.lensOpened(o)
			}
		}
	}
}

// end stops what the worker has begun and waits for it.
func (w *worker) end(cancel context.CancelFunc) {
	cancel()
	w.running.Wait()
	select {
	case o := <-w.view.opened:
		w.lensOpened(o)
	default:
	}
	if w.view.lens != nil {
		w.view.lens.Close()
	}
}

// left logs why the worker stops, once.
func (w *worker) left(err error) {
	switch {
	case errors.Is(err, errOver), errors.Is(err, ErrClosed):
		w.logger.Info("run closed", zap.String("outcome", string(w.rec.State.Outcome)), zap.String("cleaned", string(w.rec.State.Cleaned)))
	case errors.Is(err, ErrLost), errors.Is(err, ErrHeld):
		w.logger.Warn("another owner has taken the run: nothing more is done here", zap.Int64("ver", w.rec.Ver))
	default:
		w.logger.Error("run left to the sweep", zap.Error(err))
	}
}

// release hands the run over: whoever gets the delivery claims it at once.
func (w *worker) release() {
	// The effects end with the worker's context; the next owner must not meet one
	// that is still on its way.
	w.running.Wait()
	if w.away.abandoned {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), handOver)
	defer cancel()
	ver, err := w.r.deps.Log.Commit(ctx, w.rec.ID, w.rec.Ver, Change{Release: true})
	if err != nil {
		w.logger.Warn("run not handed over, another owner takes it when the claim ends", zap.Error(err))
		return
	}
	w.r.deliver(ctx, Task{Run: w.rec.ID, Ver: ver})
}

// wakeAt fires when the engine wants its next step.
func (w *worker) wakeAt() <-chan time.Time {
	at := w.rec.State.WakeAt
	if at.IsZero() || w.rec.Position > 0 || w.rec.State.Phase == engine.Ended || !w.away.since.IsZero() {
		return nil
	}
	d := at.Sub(w.r.now())
	if d <= 0 || d > tickEvery {
		return nil // past: the tick does it; later: the tick comes first
	}
	return time.After(d)
}

// take notes what an effect gave.
func (w *worker) take(o outcome) {
	delete(w.effects, o.intent)
	w.asked[o.intent] = true
	if o.result != nil {
		w.results = append(w.results, *o.result)
	}
	if o.exhibit != nil {
		w.captured[o.exhibit.Step] = *o.exhibit
	}
}
