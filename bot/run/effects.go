package run

import (
	"context"
	"fmt"
	"slices"
	"time"

	"labbot/bot/exhibit"
	"labbot/scenarios/engine"
)

const (
	// doWithin bounds one attempt at an intent; the cluster promises 15 s.
	doWithin = 20 * time.Second
	// captureWithin bounds the reading of descriptions and logs for one exhibit.
	captureWithin = 20 * time.Second
	// maxDescribed bounds the objects of one exhibit that are described in full.
	maxDescribed = 10
	logLines     = 20
)

// dispatch starts the open intents that may be tried now. They are recorded.
func (w *worker) dispatch(ctx context.Context) error {
	now := w.r.now()
	for _, in := range w.rec.State.Intents {
		if w.effects[in.ID] || in.NotBefore.After(now) || w.answered(in.ID) {
			continue
		}
		if in.Report != nil {
			w.report(ctx, in)
			continue
		}
		// The claim may have gone since the commit, in a process that was
		// stopped for a while: nothing is done without asking once more.
		if err := w.renew(ctx); err != nil {
			return err
		}
		w.effects[in.ID] = true
		meta := w.meta()
		w.running.Go(func() {
			dctx, cancel := context.WithTimeout(ctx, doWithin)
			defer cancel()
			res := w.cluster.Do(dctx, meta, in)
			if ctx.Err() != nil {
				return // nobody listens any more, and the intent stays open
			}
			w.logIntent(in, res)
			w.send(ctx, outcome{intent: in.ID, result: &res})
		})
	}
	return nil
}

// answered tells whether an intent's result waits for the next step.
func (w *worker) answered(id string) bool {
	return slices.ContainsFunc(w.results, func(r engine.Result) bool { return r.Intent == id })
}

func (w *worker) send(ctx context.Context, o outcome) {
	select {
	case w.acted <- o:
	case <-ctx.Done():
	}
}

// report takes an exhibit once, and is done when its message stands in Slack.
func (w *worker) report(ctx context.Context, in engine.Intent) {
	x, have := w.rec.Exhibits[in.Step]
	if have && !x.At.Before(in.IssuedAt) {
		w.confirm(ctx, in)
		return
	}
	if _, taken := w.captured[in.Step]; taken {
		w.wake() // the next step commits it
		return
	}
	ev := w.evidence()
	if !known(ev, in.Report.Of) {
		return // nothing may be said of what was not read; the next tick looks again
	}
	w.effects[in.ID] = true
	st, at := w.rec.State, w.r.now()
	w.running.Go(func() {
		x := capture(ctx, w.cluster, in.Step, in.Kind, *in.Report, ev, st, at)
		w.send(ctx, outcome{intent: in.ID, exhibit: &x})
	})
}

// confirm asks the publisher for the exhibit's message. The publisher wakes the
// run when it has posted, so this needs no loop of its own.
func (w *worker) confirm(ctx context.Context, in engine.Intent) {
	pctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	posted, err := w.r.deps.Publisher.Posted(pctx, w.rec.ID, in.Step)
	if err != nil || !posted {
		return
	}
	w.results = append(w.results, engine.Result{Intent: in.ID, Status: engine.ResultDone, At: w.r.now()})
	w.wake()
}

// known tells whether all of the named readings may be believed.
func known(ev engine.Evidence, of []string) bool {
	return !slices.ContainsFunc(of, func(name string) bool { return !ev.Objects[name].Known })
}

// capture reads what an exhibit needs beside the evidence and builds it.
func capture(ctx context.Context, c Cluster, step string, kind engine.ActionKind, r engine.Report, ev engine.Evidence, st engine.State, at time.Time) exhibit.Exhibit {
	ctx, cancel := context.WithTimeout(ctx, captureWithin)
	defer cancel()
	texts := map[string]string{}
	for _, ref := range refs(ev, r) {
		key := ref.Kind + "/" + ref.Name
		if kind == engine.ActDescribe {
			texts[key] = orError(c.Describe(ctx, ref))
		}
		if ref.Kind == "Pod" && slices.Contains(r.Show, "logs") {
			texts["logs "+key] = orError(c.Logs(ctx, ref, logLines))
		}
	}
	return exhibit.Build(step, kind, r, ev, st, texts, at)
}

// orError shows why a text is missing in its place.
func orError(text string, err error) string {
	if err != nil {
		return fmt.Sprintf("(%v)", err)
	}
	return text
}

// refs lists the objects of a report that are described in full, bounded.
func refs(ev engine.Evidence, r engine.Report) []engine.Ref {
	var out []engine.Ref
	for _, name := range r.Of {
		reading := ev.Objects[name]
		if reading.Object != nil {
			out = append(out, refOf(reading.Object))
		}
		for _, item := range reading.Items {
			ref := refOf(item)
			if len(r.Full) == 0 || slices.Contains(r.Full, ref.UID) {
				out = append(out, ref)
			}
		}
	}
	return out[:min(len(out), maxDescribed)]
}

func refOf(obj map[string]any) engine.Ref {
	str := func(m map[string]any, key string) string { s, _ := m[key].(string); return s }
	meta, _ := obj["metadata"].(map[string]any)
	return engine.Ref{
		APIVersion: str(obj, "apiVersion"), Kind: str(obj, "kind"),
		Namespace: str(meta, "namespace"), Name: str(meta, "name"), UID: str(meta, "uid"),
	}
}
