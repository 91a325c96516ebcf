package run

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"labbot/scenarios/engine"
)

const (
	// settleWithin bounds the wait for the last message before a run is closed.
	settleWithin = 10 * time.Minute
	// dirtyEvery and dirtyFor bound the later attempts at a namespace that
	// would not go: nobody else may have it until it is gone.
	dirtyEvery = 30 * time.Second
	dirtyFor   = 24 * time.Hour
	// wipeIntent is the effect of these attempts.
	wipeIntent = "run/wipe"
)

// myTurn tells whether the run may use its namespace. While it waits, its place
// and who is before it are kept on the board.
func (w *worker) myTurn(ctx context.Context) (bool, error) {
	if w.inLine && w.rec.Position == 0 {
		return true, nil
	}
	for _, in := range w.rec.Inputs {
		if in.Kind == engine.InputStop && w.rec.Position > 0 {
			return true, nil // the engine ends a run that has made nothing
		}
	}
	place, err := w.r.deps.Log.Enter(ctx, w.rec.Cluster, w.rec.State.Namespace, w.rec.ID)
	if errors.Is(err, ErrFull) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	w.inLine = true
	if place > 0 {
		if err := w.lookAhead(ctx); err != nil {
			return false, err
		}
	}
	if place == w.rec.Position {
		return place == 0, nil
	}
	c := Change{Position: &place}
	if place == 0 && w.rec.Position > 0 {
		// The clocks of the run begin with its turn, not with the command.
		st, err := w.r.firstState(w.prog, w.rec)
		if err != nil {
			return false, err
		}
		c.State = &st
	}
	if err := w.commit(ctx, c); err != nil {
		return false, err
	}
	w.publish()
	return w.rec.Position == 0, nil
}

// lookAhead reads who has the namespace, and takes a run out of the line that
// is over or was never recorded.
func (w *worker) lookAhead(ctx context.Context) error {
	first, err := w.r.deps.Log.Leave(ctx, w.rec.Cluster, w.rec.State.Namespace, "")
	if err != nil || first == "" || first == w.rec.ID {
		return err
	}
	rec, err := w.r.deps.Log.Load(ctx, first)
	if errors.Is(err, ErrNotFound) || err == nil && rec.Closed {
		_, err = w.r.deps.Log.Leave(ctx, w.rec.Cluster, w.rec.State.Namespace, first)
		w.wake()
		return err
	}
	if err == nil && (w.holder == nil || w.holder.ID != rec.ID) {
		w.holder = &rec
		w.publish()
	}
	return err
}

// finish gives the namespace free, lets the last message out and closes the run.
func (w *worker) finish(ctx context.Context) error {
	if w.rec.State.Cleaned == engine.Dirty && w.r.now().Sub(w.rec.State.EndedAt) < dirtyFor {
		return w.wipeAgain(ctx)
	}
	if w.final.IsZero() {
		if err := w.leaveLine(ctx); err != nil {
			return err
		}
		w.final = w.r.now()
		w.publish()
	}
	if s, ok := w.r.deps.Publisher.(Settler); ok && w.r.now().Sub(w.final) < settleWithin {
		sctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		if out, err := s.Settled(sctx, w.rec.ID); err != nil || !out {
			return nil // the publisher or the tick calls again
		}
	}
	if err := w.commit(ctx, Change{Close: true}); err != nil {
		return err
	}
	if !w.rec.Closed {
		return nil // the record was taken anew; the next turn closes it
	}
	return errOver
}

// leaveLine calls out the next run of the namespace.
func (w *worker) leaveLine(ctx context.Context) error {
	next, err := w.r.deps.Log.Leave(ctx, w.rec.Cluster, w.rec.State.Namespace, w.rec.ID)
	if err != nil || next == "" {
		return err
	}
	if other := w.r.worker(next); other != nil {
		other.wakeForInputs()
		return nil
	}
	rec, err := w.r.deps.Log.Load(ctx, next)
	if err != nil {
		w.logger.Warn("the next run looks for itself", zap.String("next", string(next)), zap.Error(err))
		return nil
	}
	w.r.deliver(ctx, Task{Run: next, Ver: rec.Ver, To: rec.Owner})
	return nil
}

// wipeAgain goes on with a namespace that would not go in time.
func (w *worker) wipeAgain(ctx context.Context) error {
	if w.rec.State.NamespaceUID == "" {
		return w.learnNamespace(ctx)
	}
	if !w.effects[wipeIntent] && !w.r.now().Before(w.wipeAt) {
		if err := w.renew(ctx); err != nil {
			return err
		}
	}
	if gone, _ := w.wipe(ctx, w.rec.State.NamespaceUID, dirtyEvery); !gone {
		return nil
	}
	st := w.rec.State
	st.Cleaned, st.Remains = engine.Clean, ""
	if err := w.commit(ctx, Change{State: &st, Facts: []engine.Fact{{At: w.r.now(), Kind: engine.FactCleaned}}}); err != nil {
		return err
	}
	w.wake()
	return nil
}

// learnNamespace asks the cluster what the run never learnt: whether its
// namespace was made.
func (w *worker) learnNamespace(ctx context.Context) error {
	if w.r.now().Before(w.wipeAt) {
		return nil
	}
	settled, uid := w.ownedNamespace(ctx)
	if !settled {
		w.wipeAt = w.r.now().Add(dirtyEvery)
		return nil
	}
	st := w.rec.State
	if st.NamespaceUID = uid; uid == "" {
		st.Cleaned, st.Remains = engine.CleanNotNeeded, ""
	}
	w.wake()
	return w.commit(ctx, Change{State: &st})
}

// wipe deletes the run's namespace outside the engine's steps, with one attempt
// in each period, and tells whether it is proven gone and, if not, what remains.
func (w *worker) wipe(ctx context.Context, uid string, period time.Duration) (gone bool, remains string) {
	for _, res := range w.results {
		if res.Intent != wipeIntent {
			continue
		}
		remains = res.Message
		if res.Status == engine.ResultDone {
			gone = true
		}
	}
	w.results = nil // none of the engine's counts any more
	now := w.r.now()
	if gone || w.effects[wipeIntent] || now.Before(w.wipeAt) {
		return gone, remains
	}
	w.wipeAt = now.Add(period)
	w.effects[wipeIntent] = true
	in, meta := deletion(w.rec.State.Namespace, uid, now), w.meta()
	w.running.Go(func() {
		dctx, cancel := context.WithTimeout(ctx, doWithin)
		defer cancel()
		res := w.cluster.Do(dctx, meta, in)
		w.logIntent(in, res)
		w.send(ctx, outcome{intent: in.ID, result: &res})
	})
	return false, remains
}

// deletion is an intent outside the engine's: the same guarded effect.
func deletion(name, uid string, at time.Time) engine.Intent {
	return engine.Intent{
		ID: wipeIntent, Kind: engine.ActDeleteNamespace, Phase: engine.Cleanup, IssuedAt: at, Deadline: at.Add(doWithin),
		DeleteNamespace: &engine.DeleteNamespace{Name: name, UID: uid},
	}
}
