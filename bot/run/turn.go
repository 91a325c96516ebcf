package run

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"time"

	"go.uber.org/zap"

	"labbot/bot/trace"
	"labbot/scenarios/engine"
)

// turn does all that can be done now. It returns an error when the worker must
// stop; a log that is away is not one.
func (w *worker) turn(ctx context.Context) error {
	if w.waits() {
		return nil
	}
	err := w.tryTurn(ctx)
	switch {
	case err == nil:
		w.back()
		return nil
	case ctx.Err() != nil:
		return nil //nolint:nilerr // the loop sees the end and hands over
	case errors.Is(err, ErrDown):
		w.stayAway(err)
		return nil
	case errors.Is(err, ErrNotFound):
		// The log is there but has lost the run: what it made must not stay.
		w.logger.Error("the log has lost the run", zap.Error(err))
		w.abandon("run.log-lost")
		return nil
	}
	return err
}

func (w *worker) tryTurn(ctx context.Context) error {
	if w.away.abandoned {
		return w.settleAbandoned(ctx)
	}
	asked := w.wantInputs()
	if asked {
		if err := w.renew(ctx); err != nil {
			return err
		}
	}
	if w.rec.State.Phase != engine.Ended {
		if w.inLine && w.rec.Position > 0 && !asked {
			return nil // whoever has the namespace calls, and the renewal looks
		}
		if mine, err := w.myTurn(ctx); err != nil || !mine {
			return err
		}
	}
	for range maxSteps {
		if w.rec.State.Phase == engine.Ended {
			return w.finish(ctx)
		}
		w.openLens(ctx)
		if w.blind() {
			return nil // the view's news or the tick calls again
		}
		changed, err := w.step(ctx)
		if err != nil {
			return err
		}
		if err := w.dispatch(ctx); err != nil {
			return err
		}
		due := !w.rec.State.WakeAt.IsZero() && !w.rec.State.WakeAt.After(w.r.now())
		if !changed || (!due && len(w.results) == 0 && w.rec.State.Phase != engine.Ended) {
			return nil
		}
	}
	w.wake()
	return nil
}

// firstLook is how long a run that is taken over waits for its view: a deadline
// that passed meanwhile must be judged on what is there, not on nothing.
const firstLook = 3 * time.Second

// blind tells whether the first reading of a run under way is still to come.
func (w *worker) blind() bool {
	if w.seen || w.rec.State.NamespaceUID == "" || w.r.now().Sub(w.claimed) >= firstLook {
		return false
	}
	ev := w.evidence()
	for _, x := range w.prog.Watches() {
		if !ev.Objects[x.As].Known {
			return true
		}
	}
	w.seen = true
	return false
}

// step lets the engine look once and commits what came of it. It tells whether
// anything did.
func (w *worker) step(ctx context.Context) (bool, error) {
	at := w.r.now()
	ev := w.evidence()
	results := w.results
	ev.Results = results
	if !w.holdInputs() {
		ev.Inputs = w.rec.Inputs
	}
	next, facts := w.prog.Step(w.rec.State, ev, at)
	hops := trace.Merge(w.rec.Hops, trace.Hops(next, ev, w.rec.State.StartedAt.Truncate(time.Second)))

	c := Change{Facts: facts}
	for _, in := range ev.Inputs {
		c.Consumed = append(c.Consumed, in.ID)
	}
	if !sameState(w.rec.State, next) {
		c.State = &next
	}
	if len(hops) > 0 && !reflect.DeepEqual(hops, w.rec.Hops) {
		c.Hops = hops
	}
	if len(w.captured) > 0 {
		c.Exhibits = maps.Clone(w.captured)
	}
	w.noteTrouble(next, ev)
	if c.State == nil && c.Hops == nil && c.Exhibits == nil && len(c.Facts)+len(c.Consumed) == 0 {
		w.rec.State.WakeAt = next.WakeAt
		w.results = w.results[len(results):]
		return false, nil
	}
	if c.State == nil {
		c.State = &next // the fact or input belongs to it
	}
	if err := w.commit(ctx, c); err != nil {
		return false, err
	}
	w.results = slices.Clone(w.results[len(results):])
	w.publish()
	w.tellRefused(facts)
	return true, nil
}

// sameState compares all but the wake-up time, which moves with every step.
func sameState(a, b engine.State) bool {
	a.WakeAt, b.WakeAt = time.Time{}, time.Time{}
	return reflect.DeepEqual(a, b)
}

// commit writes a change and takes it into the record held here.
func (w *worker) commit(ctx context.Context, c Change) error {
	ver, err := w.r.deps.Log.Commit(ctx, w.rec.ID, w.rec.Ver, c)
	if errors.Is(err, ErrLost) {
		return w.resync(ctx)
	}
	if err != nil {
		return err
	}
	w.rec.Ver = ver
	if c.State != nil {
		w.rec.State = *c.State
	}
	if c.Position != nil {
		w.rec.Position = *c.Position
	}
	if c.Hops != nil {
		w.rec.Hops = c.Hops
	}
	if len(c.Exhibits) > 0 {
		all := maps.Clone(w.rec.Exhibits)
		if all == nil {
			all = c.Exhibits
		}
		for step, x := range c.Exhibits {
			all[step] = x
			delete(w.captured, step)
		}
		w.rec.Exhibits = all
	}
	if len(c.Consumed) > 0 {
		w.rec.Inputs = slices.DeleteFunc(slices.Clone(w.rec.Inputs), func(in engine.Input) bool { return slices.Contains(c.Consumed, in.ID) })
	}
	w.rec.Closed = w.rec.Closed || c.Close
	w.share()
	return nil
}

// resync tells a commit whose reply was lost from a run that was lost: while the
// claim is still ours, the record is ours too, and is taken as it stands.
func (w *worker) resync(ctx context.Context) error {
	rec, err := w.r.deps.Log.Load(ctx, w.rec.ID)
	if err != nil {
		return err
	}
	if rec.Closed {
		return ErrClosed
	}
	if rec.Owner != w.r.deps.Owner {
		return ErrLost
	}
	w.rec = rec
	w.share()
	w.wake()
	return nil
}

// needInputs makes the next turn renew the claim and read the waiting inputs.
func (w *worker) needInputs() { w.away.due = true }

func (w *worker) wantInputs() bool { return w.away.due || !w.away.since.IsZero() }

// renew makes sure that the run is still ours, for another claimTTL.
func (w *worker) renew(ctx context.Context) error {
	inputs, err := w.r.deps.Log.Renew(ctx, w.rec.ID, w.r.deps.Owner, claimTTL)
	if err != nil {
		return err
	}
	w.away.due = false
	w.rec.Inputs = inputs
	return nil
}

// holdInputs tells whether acts of people must wait: while it is not known
// whether the namespace was made, a stop could leave it behind.
func (w *worker) holdInputs() bool {
	for _, in := range w.rec.State.Intents {
		if in.Kind == engine.ActCreateNamespace && (w.effects[in.ID] || !w.asked[in.ID]) {
			return true
		}
	}
	return false
}

func (w *worker) tellRefused(facts []engine.Fact) {
	if w.r.deps.Refused == nil {
		return
	}
	for _, f := range facts {
		if f.Kind == engine.FactRefused {
			w.r.deps.Refused(w.rec, f)
		}
	}
}

// meta is what the cluster is told of the run.
func (w *worker) meta() Meta { return metaOf(w.rec) }

// expireAfter is how long after its deadline a run's namespace may be deleted
// by any janitor: cleanup is tried for five minutes past the deadline.
const expireAfter = 10 * time.Minute

func metaOf(rec Record) Meta {
	return Meta{
		Run: rec.ID, Cohort: rec.Cohort, Scenario: rec.State.Scenario, Namespace: rec.State.Namespace,
		Expires: rec.State.Deadline.Add(expireAfter),
	}
}

func (w *worker) logIntent(in engine.Intent, res engine.Result) {
	w.logger.Info("acted", zap.String("intent", in.ID), zap.String("status", string(res.Status)),
		zap.String("reason", res.Reason), zap.String("message", res.Message))
}
