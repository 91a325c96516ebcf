// Package evidence turns what the API server tells into engine.Evidence: one
// set of watches per run, read as a snapshot at any time.
//
// A Reading is unknown until its first list is in, and again when the contact
// with the API server is lost for longer than a moment: nothing is concluded
// from silence. A snapshot always shows the objects as they are now, so a
// renewed list neither loses nor repeats anything.
package evidence

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"labbot/scenarios/engine"
)

// grace is how long silence or a failing watch is taken for a hiccup. It is
// shorter than any hold of an oracle, so nothing passes on old news.
const grace = 3 * time.Second

// pace is the least time between two notifications.
const pace = 50 * time.Millisecond

// Resolver tells the resource of a kind and whether its objects live in namespaces.
type Resolver func(ctx context.Context, apiVersion, kind string) (gvr schema.GroupVersionResource, namespaced bool, err error)

// Source is where lenses read from. It is shared by all runs of a cluster.
type Source struct {
	Dynamic dynamic.Interface
	Resolve Resolver
	Pulse   *Pulse
}

// Lens is a live view of one namespace. It fulfils run.Lens.
type Lens struct {
	pulse   *Pulse
	views   []view
	events  *eventStore
	feeds   []*feed
	changed chan struct{}
	cancel  context.CancelFunc
	wg      sync.WaitGroup
}

// view is one Watch of a scenario over the feed of its kind.
type view struct {
	engine.Watch
	selector labels.Selector
	store    *objectStore
	feed     *feed
	// namespace is where a named object is looked for; empty for cluster-wide kinds.
	namespace string
}

// Open sets the watches up and returns at once; it does not wait for an answer
// of the API server. ctx bounds only the setting up, Close ends the watches.
// notify is called on every change, by one goroutine, at most every 50 ms; it
// must not call Close.
func Open(ctx context.Context, src Source, namespace string, watches []engine.Watch, notify func()) (*Lens, error) {
	l := &Lens{pulse: src.Pulse, changed: make(chan struct{}, 1)}
	if err := l.plan(ctx, src, namespace, watches); err != nil {
		return nil, err
	}
	live, cancel := context.WithCancel(context.WithoutCancel(ctx))
	l.cancel = cancel
	for _, f := range l.feeds {
		l.wg.Go(func() { f.run(live) })
	}
	l.wg.Go(func() { l.tell(live, notify) })
	l.pulse.join(l)
	return l, nil
}

// Close ends the watches and waits for them.
func (l *Lens) Close() {
	l.pulse.leave(l)
	l.cancel()
	l.wg.Wait()
}

// plan makes one feed for each kind, however many watches share it.
func (l *Lens) plan(ctx context.Context, src Source, namespace string, watches []engine.Watch) error {
	l.events = newEventStore(l.change)
	events := src.Dynamic.Resource(schema.GroupVersionResource{Version: "v1", Resource: "events"}).Namespace(namespace)
	l.feeds = append(l.feeds, newFeed(src, "events", events, "", l.events))

	type kind struct {
		gvr  schema.GroupVersionResource
		only string
	}
	seen := map[kind]*view{}
	for _, w := range watches {
		v, err := newView(w)
		if err != nil {
			return err
		}
		gvr, namespaced, err := src.Resolve(ctx, w.APIVersion, w.Kind)
		if err != nil {
			return fmt.Errorf("watch %s of %s %s: %w", w.As, w.APIVersion, w.Kind, err)
		}
		k, objects := kind{gvr: gvr}, dynamic.ResourceInterface(src.Dynamic.Resource(gvr))
		if namespaced {
			v.namespace, objects = namespace, src.Dynamic.Resource(gvr).Namespace(namespace)
		} else if !w.List {
			k.only = w.Name // cluster-wide: no more than the one object asked for
		}
		if twin := seen[k]; twin != nil {
			v.store, v.feed = twin.store, twin.feed
		} else {
			v.store = newObjectStore(l.change)
			v.feed = newFeed(src, gvr.Resource, objects, k.only, v.store)
			l.feeds = append(l.feeds, v.feed)
			seen[k] = v
		}
		l.views = append(l.views, *v)
	}
	return nil
}

func newView(w engine.Watch) (*view, error) {
	switch {
	case w.Kind == "Secret":
		return nil, fmt.Errorf("watch %s: labbot does not read Secrets", w.As)
	case !w.List && w.Name == "":
		return nil, fmt.Errorf("watch %s of %s: want a name, or list: true", w.As, w.Kind)
	}
	selector, err := labels.Parse(w.Selector)
	if err != nil {
		return nil, fmt.Errorf("watch %s: selector %q: %w", w.As, w.Selector, err)
	}
	return &view{Watch: w, selector: selector}, nil
}

// change asks for a notification without waiting.
func (l *Lens) change() {
	select {
	case l.changed <- struct{}{}:
	default: // one is due already and will see this change too
	}
}

func (l *Lens) tell(ctx context.Context, notify func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.changed:
		}
		notify()
		select {
		case <-ctx.Done():
			return
		case <-time.After(pace):
		}
	}
}

// Evidence gives a snapshot that the caller owns. It never blocks on the network.
func (l *Lens) Evidence() engine.Evidence {
	now := time.Now()
	stale, silence := l.pulse.stale(now)
	e := engine.Evidence{Objects: make(map[string]engine.Reading, len(l.views)), Events: l.events.list()}
	if silence != "" {
		e.Stale = stale
	}
	for _, v := range l.views {
		e.Objects[v.As] = v.reading(now, silence)
	}
	return e
}
