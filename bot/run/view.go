package run

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"labbot/bot/board"
	"labbot/bot/lab"
	"labbot/scenarios/engine"
)

// What a board can be troubled by.
const (
	troubleLog     = "redis"
	troubleCluster = "cluster"
)

// trouble is shown on the board while it lasts.
type trouble struct {
	what  string
	since time.Time
}

// noteTrouble shows a cluster that is out of reach, and takes the word back.
func (w *worker) noteTrouble(st engine.State, ev engine.Evidence) {
	since := st.UnreachableSince
	if since.IsZero() || !ev.Stale.IsZero() && ev.Stale.Before(since) {
		since = ev.Stale
	}
	switch {
	case since.IsZero():
		w.setTrouble(trouble{})
	case w.trouble.what != troubleCluster:
		w.setTrouble(trouble{what: troubleCluster, since: since})
	}
}

func (w *worker) setTrouble(t trouble) {
	if w.trouble.what == t.what {
		return
	}
	w.trouble = t
	w.share()
	w.publish()
}

// publish draws the run and hands it to the publisher, which never waits.
func (w *worker) publish() {
	v := w.r.view(w.rec, w.trouble, w.holder)
	w.r.deps.Publisher.Publish(Thread{
		Run: w.rec.ID, Channel: w.rec.Channel, Slots: board.Render(v), Final: !w.final.IsZero(),
	})
}

// View is how a record is drawn now.
func (r *Runner) View(rec Record) board.View {
	if w := r.worker(rec.ID); w != nil {
		s := w.shared.Load()
		return r.view(s.rec, s.trouble, nil)
	}
	return r.view(rec, trouble{}, nil)
}

func (r *Runner) view(rec Record, t trouble, holder *Record) board.View {
	place := r.places.get(rec.Cluster)
	v := board.View{
		Run: rec.ID, Lang: rec.Lang, StartedBy: rec.StartedBy, CommandAt: rec.CommandAt, Now: r.now(),
		Position: rec.Position, Context: place.Context, Server: place.Server, Version: place.Version,
		Simulated: place.Simulated, State: rec.State, Hops: rec.Hops, Exhibits: rec.Exhibits,
		Trouble: t.what, TroubleSince: t.since,
	}
	if rec.State.Phase == engine.Ended {
		v.Position = 0
	}
	if holder != nil && v.Position > 0 {
		v.Holder, v.HolderBy, v.HolderTitle = holder.ID, holder.StartedBy, r.title(holder.State)
	}
	prog, err := r.deps.Library.Program(rec.State.Scenario, rec.State.Version)
	if err != nil {
		v.Title = lab.Text{RU: rec.State.Scenario, EN: rec.State.Scenario}
		return v
	}
	v.Title, v.Minutes = prog.Title(), prog.Minutes()
	v.StepTitles, v.Kubectl = map[string]lab.Text{}, map[string]string{}
	for _, p := range prog.Phases() {
		v.Phases = append(v.Phases, p.Phase)
		for _, s := range p.Steps {
			v.StepTitles[s.ID], v.Kubectl[s.ID] = s.Title, s.Kubectl
		}
	}
	return v
}

func (r *Runner) title(st engine.State) lab.Text {
	prog, err := r.deps.Library.Program(st.Scenario, st.Version)
	if err != nil {
		return lab.Text{RU: st.Scenario, EN: st.Scenario}
	}
	return prog.Title()
}

// maxStatus is how many runs of a channel Status reads.
const maxStatus = 10

// Status lists the newest runs of a channel, newest first, ended ones included.
func (r *Runner) Status(ctx context.Context, channel lab.ChannelID) ([]Record, error) {
	ids, err := r.deps.Log.Latest(ctx, channel, maxStatus)
	if err != nil {
		return nil, fmt.Errorf("runs of channel %s: %w", channel, err)
	}
	var out []Record
	for _, id := range ids {
		rec, err := r.deps.Log.Load(ctx, id)
		if errors.Is(err, ErrNotFound) {
			continue // named in the index, but never recorded
		}
		if err != nil {
			return nil, fmt.Errorf("run %s: %w", id, err)
		}
		out = append(out, rec)
	}
	return out, nil
}

// ByThread finds the run whose board is the message ts.
func (r *Runner) ByThread(ctx context.Context, channel lab.ChannelID, ts lab.TS) (Record, error) {
	id, err := r.deps.Log.InThread(ctx, channel, ts)
	if err != nil {
		return Record{}, err
	}
	return r.deps.Log.Load(ctx, id)
}

// places remembers which cluster is which: it does not change while we run.
type places struct {
	clusters map[string]Cluster

	mu   sync.Mutex
	seen map[string]Identity
}

func newPlaces(clusters map[string]Cluster) *places {
	return &places{clusters: clusters, seen: map[string]Identity{}}
}

func (p *places) get(name string) Identity {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen[name]
}

// learn asks the clusters that have not said yet who they are.
func (p *places) learn(ctx context.Context) {
	for name, c := range p.clusters {
		if p.get(name).UID != "" {
			continue
		}
		ictx, cancel := context.WithTimeout(ctx, sweepEvery)
		id, err := c.Identity(ictx)
		cancel()
		if err != nil && id == (Identity{}) {
			continue // the runs on it tell of the trouble
		}
		p.mu.Lock()
		p.seen[name] = id
		p.mu.Unlock()
	}
}

// view is the worker's live view of its namespace.
type view struct {
	lens    Lens
	opening bool
	began   time.Time   // when it was
	opened  chan opened // capacity 1
	failed  time.Time   // since when it cannot be opened; zero otherwise
	err     error
	next    time.Time // no attempt before
}

type opened struct {
	lens Lens
	err  error
}

const (
	watchWithin = 10 * time.Second
	watchAgain  = 2 * time.Second
)

// openLens opens the view in the background, unless it is open or being opened.
func (w *worker) openLens(ctx context.Context) {
	if w.view.lens != nil || w.view.opening || w.rec.Position > 0 || w.r.now().Before(w.view.next) {
		return
	}
	w.view.opening, w.view.began = true, w.r.now()
	meta, watches := w.meta(), w.prog.Watches()
	w.running.Go(func() {
		octx, cancel := context.WithTimeout(ctx, watchWithin)
		defer cancel()
		lens, err := w.cluster.Watch(octx, meta, watches, w.wake)
		w.view.opened <- opened{lens, err}
	})
}

func (w *worker) lensOpened(o opened) {
	w.view.opening = false
	w.view.lens, w.view.err = o.lens, o.err
	if o.err == nil {
		w.view.failed = time.Time{}
		w.share()
		return
	}
	w.view.lens = nil
	w.view.next = w.r.now().Add(watchAgain)
	if w.view.failed.IsZero() {
		w.view.failed = w.r.now()
		w.logger.Warn("no view of the cluster yet", zap.Error(o.err))
	}
}

// evidence reads the view. Without one nothing is known, least of all absence.
func (w *worker) evidence() engine.Evidence {
	if w.view.lens != nil {
		return w.view.lens.Evidence()
	}
	ev := engine.Evidence{Objects: map[string]engine.Reading{}, Stale: w.view.failed}
	if ev.Stale.IsZero() && w.view.opening && w.r.now().Sub(w.view.began) >= firstLook {
		ev.Stale = w.view.began
	}
	why := "the watches are being set up"
	if w.view.err != nil {
		why = w.view.err.Error()
	}
	for _, x := range w.prog.Watches() {
		ev.Objects[x.As] = engine.Reading{List: x.List, Err: why}
	}
	return ev
}
