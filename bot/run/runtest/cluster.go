package runtest

import (
	"context"
	"errors"
	"sync"
	"time"

	"labbot/bot/lab"
	"labbot/bot/run"
	"labbot/scenarios/engine"
	"labbot/scenarios/engine/enginetest"
)

// Cluster is a run.Cluster over a simulated world that moves with time.Now. It
// knows which run made the namespace, and outlives the runners that use it.
type Cluster struct {
	mu       sync.Mutex
	world    *enginetest.World
	owner    lab.RunID
	uid      string
	expires  time.Time
	made     map[lab.RunID]int
	watchers map[*lens]func()
}

var (
	_ run.Cluster         = (*Cluster)(nil)
	_ run.NamespaceLister = (*Cluster)(nil)
)

// NewCluster returns an empty cluster. It stands still until Run.
func NewCluster() *Cluster {
	return &Cluster{world: enginetest.New(time.Now()), made: map[lab.RunID]int{}, watchers: map[*lens]func(){}}
}

// hang is how long a call to an unreachable API server takes to fail.
const hang = 5 * time.Second

// Run lets the cluster work until ctx ends.
func (c *Cluster) Run(ctx context.Context) {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, notify := range c.advance() {
			notify()
		}
	}
}

func (c *Cluster) advance() (notify []func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.world.Advance(time.Since(c.world.Now))
	for _, n := range c.watchers {
		notify = append(notify, n)
	}
	return notify
}

// With changes the world, as a learner or a fault does.
func (c *Cluster) With(do func(w *enginetest.World)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	do(c.world)
}

// Made tells how many namespaces a run has really made.
func (c *Cluster) Made(id lab.RunID) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.made[id]
}

// Effects tells how often an action really took place.
func (c *Cluster) Effects(kind engine.ActionKind) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.world.Done[kind]
}

// Empty tells whether nothing is left on the cluster.
func (c *Cluster) Empty() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.world.Gone()
}

func (c *Cluster) unreachable() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.world.Unreachable
}

// Identity names the simulated cluster.
func (c *Cluster) Identity(context.Context) (run.Identity, error) {
	if c.unreachable() {
		return run.Identity{Context: "k8slab@lab"}, errors.New("connection refused")
	}
	return run.Identity{Context: "k8slab@lab", Cluster: "lab", Server: "https://127.0.0.1:6443", Version: "v1.37.2", UID: "uid-kube-system", Simulated: true}, nil
}

// Watch opens a view of the world.
func (c *Cluster) Watch(_ context.Context, _ run.Meta, watches []engine.Watch, notify func()) (run.Lens, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := &lens{c: c, watches: watches}
	c.watchers[l] = notify
	return l, nil
}

type lens struct {
	c       *Cluster
	watches []engine.Watch
}

// Evidence reads the world.
func (l *lens) Evidence() engine.Evidence {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	return l.c.world.Evidence(l.watches)
}

// Close ends the view.
func (l *lens) Close() {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	delete(l.c.watchers, l)
}

// Do makes one attempt at an intent. A namespace of another run is not touched.
func (c *Cluster) Do(ctx context.Context, m run.Meta, in engine.Intent) engine.Result {
	if c.unreachable() {
		t := time.NewTimer(hang)
		defer t.Stop()
		select {
		case <-ctx.Done():
		case <-t.C:
		}
		return engine.Result{Intent: in.ID, Status: engine.ResultUnreachable, Reason: engine.ReasonNotSent, At: time.Now().UTC().Round(0)}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if in.Kind == engine.ActCreateNamespace && c.there() && c.owner != m.Run {
		return engine.Result{Intent: in.ID, Status: engine.ResultFailed, Reason: engine.ReasonNotOurs, At: c.world.Now}
	}
	if in.SetImage != nil && c.image(in.SetImage.Target.Name) == in.SetImage.Image {
		return engine.Result{Intent: in.ID, Status: engine.ResultDone, At: c.world.Now} // looked before it acted
	}
	before := c.world.Done[engine.ActCreateNamespace]
	res := c.world.Do(in)
	if in.Kind == engine.ActCreateNamespace && res.Status == engine.ResultDone {
		c.owner, c.uid, c.expires = m.Run, res.UID, m.Expires
		c.made[m.Run] += c.world.Done[engine.ActCreateNamespace] - before
	}
	return res
}

// image is the image of a Deployment's only container.
func (c *Cluster) image(name string) string {
	ev := c.world.Evidence([]engine.Watch{{As: "d", Kind: "Deployment", Name: name}})
	spec, _ := ev.Objects["d"].Object["spec"].(map[string]any)
	template, _ := spec["template"].(map[string]any)
	pod, _ := template["spec"].(map[string]any)
	containers, _ := pod["containers"].([]any)
	if len(containers) == 0 {
		return ""
	}
	first, _ := containers[0].(map[string]any)
	image, _ := first["image"].(string)
	return image
}

func (c *Cluster) there() bool {
	look := engine.Intent{Kind: engine.ActGet, Get: &engine.Get{Target: engine.Ref{Kind: "Namespace", Name: "k8s-m01"}}}
	return c.world.Do(look).Status == engine.ResultDone
}

// Owned lists the namespace, if there is one.
func (c *Cluster) Owned(context.Context) ([]run.Owned, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.world.Unreachable {
		return nil, errors.New("connection refused")
	}
	if c.world.Foreign || !c.there() {
		return nil, nil
	}
	return []run.Owned{{Name: "k8s-m01", UID: c.uid, Run: c.owner, Expires: c.expires}}, nil
}

// Describe gives a short text that names the object.
func (c *Cluster) Describe(_ context.Context, ref engine.Ref) (string, error) {
	return "Name: " + ref.Name + "\nKind: " + ref.Kind + "\n", nil
}

// Logs gives one line.
func (c *Cluster) Logs(context.Context, engine.Ref, int) (string, error) { return "started\n", nil }
