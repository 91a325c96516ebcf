package run

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"labbot/scenarios/engine"
)

const (
	// janitorEvery is how often the clusters are searched for what lost runs
	// have left.
	janitorEvery  = time.Minute
	janitorWithin = 15 * time.Second
)

// sweep takes the live runs that nobody holds: the safety of a run depends on
// this and not on the queue.
func (r *Runner) sweep(ctx context.Context) {
	due, err := r.deps.Log.Due(ctx)
	if err != nil {
		if ctx.Err() == nil {
			r.logger.Warn("no sweep", zap.Error(err))
		}
		return
	}
	for _, b := range due {
		if r.worker(b.ID) != nil {
			continue // the claim here is late, and its own renewal mends it
		}
		err := r.take(ctx, b.ID, b.Ver)
		switch {
		case err == nil:
			r.logger.Info("run taken up", zap.String("run", string(b.ID)), zap.String("from", b.Owner))
		case errors.Is(err, ErrLost), errors.Is(err, ErrHeld), errors.Is(err, ErrClosed), errors.Is(err, errStopping), ctx.Err() != nil:
		default:
			r.logger.Warn("run not taken up", zap.String("run", string(b.ID)), zap.Error(err))
		}
	}
}

// janitor deletes the namespaces of runs that are over, and of runs that the log
// does not know once they are past their own expiry.
func (r *Runner) janitor(ctx context.Context) {
	for name, c := range r.deps.Clusters {
		lister, ok := c.(NamespaceLister)
		if !ok {
			continue
		}
		lctx, cancel := context.WithTimeout(ctx, janitorWithin)
		owned, err := lister.Owned(lctx)
		cancel()
		if err != nil {
			if ctx.Err() == nil {
				r.logger.Warn("namespaces not listed", zap.String("cluster", name), zap.Error(err))
			}
			continue
		}
		for _, o := range owned {
			if r.garbage(ctx, o) {
				r.wipe(ctx, c, o)
			}
		}
	}
}

// garbage tells whether nobody will ever come back for the namespace. While the
// log cannot be asked, somebody may.
func (r *Runner) garbage(ctx context.Context, o Owned) bool {
	rec, err := r.deps.Log.Load(ctx, o.Run)
	if errors.Is(err, ErrNotFound) {
		return !o.Expires.IsZero() && r.now().After(o.Expires)
	}
	return err == nil && rec.Closed
}

func (r *Runner) wipe(ctx context.Context, c Cluster, o Owned) {
	dctx, cancel := context.WithTimeout(ctx, doWithin)
	defer cancel()
	res := c.Do(dctx, Meta{Run: o.Run, Namespace: o.Name, Expires: o.Expires}, deletion(o.Name, o.UID, r.now()))
	r.logger.Info("namespace of a run that is gone", zap.String("namespace", o.Name), zap.String("run", string(o.Run)),
		zap.String("status", string(res.Status)), zap.String("message", res.Message))
	if res.Status == engine.ResultFailed {
		r.logger.Error("a namespace could not be cleaned up", zap.String("namespace", o.Name), zap.String("message", res.Message))
	}
}
