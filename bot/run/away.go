package run

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"labbot/bot/text"
	"labbot/scenarios/engine"
)

const (
	// awayRetry is the pause between two questions to a log that is away.
	awayRetry = 500 * time.Millisecond
	// abandonWithin bounds the cleanup of an abandoned run.
	abandonWithin = 10 * time.Minute
	// abandonEvery is the pause between two attempts at its namespace.
	abandonEvery = 2 * time.Second
)

// away is what the worker knows of its log.
type away struct {
	due   bool      // the claim is to be renewed and the inputs read
	since time.Time // when the log stopped answering; zero while it does
	retry time.Time
	// abandoned says that the run ends here without the log.
	abandoned bool
	until     time.Time
}

// waits tells whether it is too early to ask a log that is away once more. The
// namespace of an abandoned run does not wait for the log.
func (w *worker) waits() bool {
	return !w.away.since.IsZero() && w.r.now().Before(w.away.retry) && !w.away.abandoned
}

// stayAway waits for the log. Meanwhile nothing is done to the cluster: what is
// not recorded must not happen. The world is read again when the log is back.
func (w *worker) stayAway(err error) {
	now := w.r.now()
	w.away.retry = now.Add(awayRetry)
	if w.away.since.IsZero() {
		w.away.since = now
		w.logger.Warn("the log is away, the run waits", zap.Error(err))
		w.setTrouble(trouble{what: troubleLog, since: now})
		return
	}
	if w.r.deps.LostAfter > 0 && now.Sub(w.away.since) >= w.r.deps.LostAfter && !w.away.abandoned {
		w.logger.Error("the log stays away: the run is stopped and cleaned up without it", zap.Error(err))
		w.abandon("run.log-lost")
	}
}

// back notes that the log has answered.
func (w *worker) back() {
	if w.away.since.IsZero() || w.away.abandoned {
		return
	}
	w.logger.Info("the log is back", zap.Duration("away", w.r.now().Sub(w.away.since)))
	w.away.since = time.Time{}
	w.setTrouble(trouble{})
	w.wakeForInputs()
}

// abandon stops the run for a reason outside the lesson. From here the engine is
// not asked any more: the namespace goes, and the record is closed when it can be.
func (w *worker) abandon(why string) {
	if w.away.abandoned {
		return
	}
	w.away.abandoned = true
	now := w.r.now()
	w.away.until = now.Add(abandonWithin)
	st := w.rec.State
	if st.Outcome == "" {
		st.Outcome, st.Why = engine.Infrastructure, text.Both(why)
	}
	if st.Phase != engine.Ended {
		st.Phase, st.PhaseStarted = engine.Cleanup, now
	}
	w.rec.State = st
	w.share()
	w.publish()
	w.wake()
}

// settleAbandoned takes an abandoned run on: first the namespace, then the board,
// then, whenever the log answers, the record.
func (w *worker) settleAbandoned(ctx context.Context) error {
	if w.rec.State.Phase != engine.Ended && !w.wipeAbandoned(ctx) {
		return nil
	}
	if w.final.IsZero() {
		w.final = w.r.now()
		w.publish()
	}
	if now := w.r.now(); now.Before(w.away.retry) {
		return nil
	}
	if err := w.leaveLine(ctx); err != nil {
		return err
	}
	st := w.rec.State
	err := w.commit(ctx, Change{State: &st, Facts: []engine.Fact{{At: st.EndedAt, Kind: engine.FactOutcome, Name: string(st.Outcome)}}, Close: true})
	switch {
	case errors.Is(err, ErrNotFound):
		return errOver
	case err != nil:
		return err
	case !w.rec.Closed:
		w.rec.State = st // the record was taken anew, but this run is over
		return nil
	}
	return errOver
}

// wipeAbandoned deletes the namespace and tells whether that is settled.
func (w *worker) wipeAbandoned(ctx context.Context) bool {
	st := w.rec.State
	made, uid := w.madeNamespace(ctx)
	switch {
	case w.away.until.Before(w.r.now()):
		st.Cleaned = engine.Dirty
	case !made:
		return false
	case uid == "":
		st.Cleaned = engine.CleanNotNeeded
	default:
		gone, remains := w.wipe(ctx, uid, abandonEvery)
		w.rec.State.NamespaceUID, w.rec.State.Remains = uid, remains
		if !gone {
			return false
		}
		st = w.rec.State
		st.Cleaned, st.Remains = engine.Clean, ""
	}
	now := w.r.now()
	st.Phase, st.PhaseStarted, st.EndedAt, st.Intents = engine.Ended, now, now, nil
	w.rec.State = st
	w.share()
	return true
}

// madeNamespace finds the UID of what the run has made, also when the answer
// came after the log went away. It is not settled while an attempt is under way
// or the cluster cannot be asked.
func (w *worker) madeNamespace(ctx context.Context) (settled bool, uid string) {
	if w.rec.State.NamespaceUID != "" {
		return true, w.rec.State.NamespaceUID
	}
	for _, in := range w.rec.State.Intents {
		if in.Kind != engine.ActCreateNamespace {
			continue
		}
		if w.effects[in.ID] {
			return false, ""
		}
		for _, res := range w.results {
			if res.Intent == in.ID && res.UID != "" && res.Status == engine.ResultDone {
				return true, res.UID
			}
		}
		return w.ownedNamespace(ctx)
	}
	return true, ""
}

// ownedNamespace asks the cluster for the namespace that carries the run's label.
func (w *worker) ownedNamespace(ctx context.Context) (settled bool, uid string) {
	lister, ok := w.cluster.(NamespaceLister)
	if !ok {
		return true, ""
	}
	lctx, cancel := context.WithTimeout(ctx, doWithin)
	defer cancel()
	all, err := lister.Owned(lctx)
	if err != nil {
		return false, ""
	}
	for _, o := range all {
		if o.Run == w.rec.ID {
			return true, o.UID
		}
	}
	return true, ""
}
