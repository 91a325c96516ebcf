package run

import (
	"context"
	"fmt"
	"time"

	"labbot/bot/exhibit"
	"labbot/bot/lab"
	"labbot/scenarios/engine"
)

// lookWithin bounds the wait for a first reading when another process holds the
// run's view.
const lookWithin = 5 * time.Second

// Show takes a fresh exhibit for a person who asked: kubectl's describe, the
// Events, the rollout history or the evidence as it is now. After the run it is
// the last one of that kind in the thread.
func (r *Runner) Show(ctx context.Context, id lab.RunID, kind engine.ActionKind) (exhibit.Exhibit, error) {
	rec, lens, err := r.look(ctx, id)
	if err != nil {
		return exhibit.Exhibit{}, err
	}
	cluster := r.deps.Clusters[rec.Cluster]
	prog, err := r.deps.Library.Program(rec.State.Scenario, rec.State.Version)
	if err != nil || cluster == nil || rec.State.Phase == engine.Ended || rec.State.NamespaceUID == "" {
		return lastShown(rec, kind)
	}
	report := engine.Report{Of: watched(prog.Watches(), kind)}
	if lens == nil {
		octx, cancel := context.WithTimeout(ctx, lookWithin)
		defer cancel()
		news := make(chan struct{}, 1)
		if lens, err = cluster.Watch(octx, metaOf(rec), prog.Watches(), func() { signal(news) }); err != nil {
			return exhibit.Exhibit{}, refuse(err, "run.cluster-away", "detail", err)
		}
		defer lens.Close()
		await(octx, news, func() bool { return known(lens.Evidence(), report.Of) })
	}
	ev := lens.Evidence()
	for _, name := range report.Of {
		if x := ev.Objects[name]; !x.Known {
			return exhibit.Exhibit{}, refuse(fmt.Errorf("%s: %s", name, x.Err), "run.cluster-away", "detail", x.Err)
		}
	}
	return capture(ctx, cluster, "show-"+string(kind), kind, report, ev, rec.State, r.now()), nil
}

// look gives the run and, when it is held here, its live view.
func (r *Runner) look(ctx context.Context, id lab.RunID) (Record, Lens, error) {
	if w := r.worker(id); w != nil {
		s := w.shared.Load()
		return s.rec, s.lens, nil
	}
	rec, err := r.deps.Log.Load(ctx, id)
	return rec, nil, err
}

// watched lists what a kind of exhibit is about.
func watched(all []engine.Watch, kind engine.ActionKind) []string {
	var out []string
	for _, x := range all {
		if kind != engine.ActRolloutHistory || x.Kind == "Deployment" && !x.List {
			out = append(out, x.As)
		}
	}
	return out
}

func lastShown(rec Record, kind engine.ActionKind) (exhibit.Exhibit, error) {
	var last exhibit.Exhibit
	for _, x := range rec.Exhibits {
		if x.Kind == string(kind) && x.At.After(last.At) {
			last = x
		}
	}
	if last.At.IsZero() {
		return last, refuse(nil, "run.nothing-to-show")
	}
	return last, nil
}

// await looks at each news until done or the end of ctx.
func await(ctx context.Context, news <-chan struct{}, done func() bool) {
	for !done() {
		select {
		case <-ctx.Done():
			return
		case <-news:
		case <-time.After(200 * time.Millisecond):
		}
	}
}
