// Package k8s is labbot's hold on one Kubernetes cluster: a lab namespace from
// open to close, what happens inside it, and kubectl's own words about it.
//
// Cluster fulfils run.Cluster. It promises that nothing is written outside the
// namespace of the run it works for, that every call ends within its deadline,
// and that no credential of the kubeconfig shows in a result or an error.
package k8s

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labbot/bot/run"
	"labbot/k8s/evidence"
	"labbot/k8s/fault"
	"labbot/scenarios/engine"
)

// LabelSimulated is the label of a Node whose containers are simulated.
const LabelSimulated = "labbot.dev/simulated"

// pingWithin bounds the question whether the cluster is there.
const pingWithin = 5 * time.Second

// Cluster is one cluster, as seen with the rights of one kubeconfig context.
type Cluster struct {
	clients  *clients
	kinds    *kinds
	source   evidence.Source
	executor *fault.Executor
}

var (
	_ run.Cluster = (*Cluster)(nil)
	_ run.Lens    = (*evidence.Lens)(nil)
)

// Open reads the configuration and makes the clients. It asks the cluster
// nothing: call Ping or Identity for that.
func Open(o Options) (*Cluster, error) {
	c, err := newClients(o)
	if err != nil {
		return nil, err
	}
	k := newKinds(c.typed.Discovery())
	return &Cluster{
		clients: c,
		kinds:   k,
		source:  evidence.Source{Dynamic: c.dynamic, Resolve: k.resolve, Pulse: evidence.NewPulse(c.answers)},
		executor: &fault.Executor{
			Typed: c.typed, Dynamic: c.dynamic, Resolve: k.resolve, Bind: c.bind,
		},
	}, nil
}

// Ping tells within 5 s whether the API server answers; the error says why not.
func (c *Cluster) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pingWithin)
	defer cancel()
	if err := c.clients.answers(ctx); err != nil {
		return fmt.Errorf("ask API server %s: %w", c.clients.place.server, err)
	}
	return nil
}

// Identity asks the cluster who it is, within 5 s.
func (c *Cluster) Identity(ctx context.Context) (run.Identity, error) {
	ctx, cancel := context.WithTimeout(ctx, pingWithin)
	defer cancel()
	p := c.clients.place
	id := run.Identity{Context: p.context, Cluster: p.cluster, Server: p.server}
	version, err := c.clients.version(ctx)
	if err != nil {
		return id, fmt.Errorf("ask API server %s for its version: %w", p.server, err)
	}
	id.Version = version
	system, err := c.clients.typed.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return id, fmt.Errorf("read the identity of cluster %s: %w", p.server, err)
	}
	id.UID = string(system.UID)
	if id.Simulated, err = c.simulated(ctx); err != nil {
		return id, fmt.Errorf("read the nodes of cluster %s: %w", p.server, err)
	}
	return id, nil
}

// Watch opens a Lens over the run's namespace. It fulfils run.Cluster; ctx
// bounds only the setting up.
func (c *Cluster) Watch(ctx context.Context, m run.Meta, watches []engine.Watch, notify func()) (run.Lens, error) {
	if m.Namespace == "" {
		return nil, errors.New("watch: the run names no namespace")
	}
	lens, err := evidence.Open(ctx, c.source, m.Namespace, watches, notify)
	if err != nil {
		return nil, fmt.Errorf("watch namespace %s of run %s: %w", m.Namespace, m.Run, err)
	}
	return lens, nil
}

// Do makes one attempt at an intent, within 15 s.
func (c *Cluster) Do(ctx context.Context, m run.Meta, in engine.Intent) engine.Result {
	return c.executor.Do(ctx, fault.Owner{
		Run: m.Run, Cohort: m.Cohort, Scenario: m.Scenario, Namespace: m.Namespace, Expires: m.Expires,
	}, in)
}
