package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"labbot/k8s/labcluster/control"
	"labbot/k8s/labcluster/cri"
	"labbot/k8s/labcluster/node"
)

// cluster is what process 1 runs.
type cluster struct {
	cfg      insideConfig
	plan     *control.Plan
	procs    *processes
	apiReady chan struct{} // closed when the API server is ready for the first time
	fatal    chan error
	children []*child
	runtimes []*cri.Runtime
	servers  []*grpc.Server

	mu     sync.Mutex
	status Status
}

func newCluster(cfg insideConfig) (*cluster, error) {
	plan, err := control.NewPlan(cfg.Dir, control.NodeIP(0))
	if err != nil {
		return nil, err
	}
	plan.Audit = cfg.Audit
	if err := plan.WriteComponentKubeconfigs(); err != nil {
		return nil, err
	}
	kubeconfig, err := plan.WriteUserKubeconfig(cfg.Port)
	if err != nil {
		return nil, err
	}
	c := &cluster{cfg: cfg, plan: plan, fatal: make(chan error, 1), apiReady: make(chan struct{})}
	c.status = Status{
		Version: version, Kubernetes: kubernetesVersion(), State: "starting", PID: cfg.LauncherPID, Port: cfg.Port,
		Kubeconfig: kubeconfig, Context: control.Context, StartedAt: cfg.StartedAt, Nodes: cfg.nodeNames(),
	}
	return c, writeStatus(cfg.Dir, c.status)
}

func (c *cluster) say(format string, args ...any) { fmt.Printf(format+"\n", args...) }

// note keeps status.json true.
func (c *cluster) note(name, state string, restarts int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := true
	found := false
	for i := range c.status.Components {
		s := &c.status.Components[i]
		if s.Name == name {
			s.State, s.Restarts, found = state, restarts, true
		}
		all = all && s.State == "ready"
	}
	if !found {
		c.status.Components = append(c.status.Components, ComponentStatus{Name: name, State: state, Restarts: restarts})
	}
	switch c.status.State {
	case "ready", "degraded":
		c.status.State = "degraded"
		if all {
			c.status.State = "ready"
		}
	}
	c.write()
}

func (c *cluster) setState(state string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status.State = state
	if state == "ready" {
		c.status.ReadyAfter = time.Since(c.cfg.StartedAt).Seconds()
	}
	c.write()
}

// write needs the lock.
func (c *cluster) write() {
	if err := writeStatus(c.cfg.Dir, c.status); err != nil {
		c.say("cannot write the status: %v", err)
	}
}

// start brings the nodes up; the first one's kubelet brings the control plane up.
// It returns when all is ready.
func (c *cluster) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.cfg.Timeout, fmt.Errorf("not ready in %s", c.cfg.Timeout))
	defer cancel()
	components, err := c.plan.Components()
	if err != nil {
		return err
	}
	if err := c.plan.WriteManifests(kubernetesVersion()); err != nil {
		return err
	}
	health := map[string]func(context.Context) error{}
	for _, comp := range components {
		health[comp.Name] = httpHealth(comp.Health)
	}
	c.procs = newProcesses(c, health)
	if err := c.openGate(); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	for i, name := range c.cfg.nodeNames() {
		ch, err := c.newNode(name, control.NodeIP(i), i == 0)
		if err != nil {
			return err
		}
		group.Go(func() error { return c.await(ctx, ch) })
	}
	for name, check := range health {
		group.Go(func() error {
			if err := awaitHealth(ctx, name, check); err != nil {
				return err
			}
			if name == "kube-apiserver" {
				close(c.apiReady)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if err := c.furnish(); err != nil {
		return err
	}
	c.setState("ready")
	c.say("ready in %.1fs: kubeconfig %s, context %s", time.Since(c.cfg.StartedAt).Seconds(), c.status.Kubeconfig, control.Context)
	return nil
}

// furnish makes the cluster look as kubeadm leaves it.
func (c *cluster) furnish() error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	cfg, err := clientcmd.BuildConfigFromFlags("", c.plan.Kubeconfig("admin"))
	if err != nil {
		return err
	}
	cfg.QPS = -1
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	if err := control.MarkControlPlane(ctx, client, c.cfg.nodeNames()[0]); err != nil {
		return err
	}
	return control.ApplyAddons(ctx, cfg, kubernetesVersion())
}

// openGate lets the components in once the API server is ready.
func (c *cluster) openGate() error {
	l, err := net.Listen("tcp", net.JoinHostPort(control.NodeIP(0), fmt.Sprint(control.GatePort)))
	if err != nil {
		return fmt.Errorf("gate to the API server: %w", err)
	}
	go forward(l, net.JoinHostPort(control.NodeIP(0), fmt.Sprint(control.APIPort)), c.apiReady)
	return nil
}

// await starts a child and waits until it is ready.
func (c *cluster) await(ctx context.Context, ch *child) error {
	ch.say, ch.note = c.say, c.note
	c.mu.Lock()
	c.children = append(c.children, ch)
	c.mu.Unlock()
	started := time.Now()
	c.note(ch.name, "starting", 0)
	go ch.run()
	if err := ch.ready(ctx); err != nil {
		return err
	}
	c.note(ch.name, "ready", ch.restarts)
	c.say("%-24s ready in %.1fs", ch.name, time.Since(started).Seconds())
	return nil
}

// newNode serves a simulated runtime and prepares the kubelet over it.
func (c *cluster) newNode(name, ip string, controlPlane bool) (*child, error) {
	nodes, err := nodesDir(c.cfg.Dir)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(nodes, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("node folder: %w", err)
	}
	socket := filepath.Join(dir, "cri.sock")
	if err := c.serveRuntime(dir, socket, ip); err != nil {
		return nil, fmt.Errorf("runtime of %s: %w", name, err)
	}
	pair, err := c.plan.WriteNode(name, ip)
	if err != nil {
		return nil, err
	}
	manifests := ""
	if controlPlane {
		manifests = c.plan.ManifestDir()
	}
	cfg, err := json.Marshal(node.Config{
		Name: name, IP: ip, Dir: filepath.Join(dir, "kubelet"), Kubeconfig: c.plan.Kubeconfig("kubelet-" + name),
		CACert: c.plan.CACert(), Cert: pair.Cert, Key: pair.Key, Socket: socket, Manifests: manifests, ClusterDNS: control.DNSIP, MaxPods: 250,
	})
	if err != nil {
		return nil, err
	}
	ch, err := newChild(c.cfg.Dir, name, []string{"kubelet", string(cfg)}, []string{"GOMEMLIMIT=160MiB", "GOGC=50"})
	if err != nil {
		return nil, err
	}
	ch.health = c.nodeReady(name)
	return ch, nil
}

func (c *cluster) serveRuntime(dir, socket, ip string) error {
	catalogue, err := cri.LoadCatalogue(c.cfg.Images)
	if err != nil {
		return err
	}
	control.AddSystemImages(catalogue, kubernetesVersion())
	images, err := cri.NewImageService(catalogue, filepath.Join(dir, "images"))
	if err != nil {
		return err
	}
	rt, err := cri.NewRuntime(cri.Options{
		Images: images, Dir: filepath.Join(dir, "containers"), Version: version, NodeIP: ip,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)), Process: c.procs,
	})
	if err != nil {
		return err
	}
	if err := rt.ServeStreams(net.JoinHostPort(ip, "10350")); err != nil {
		return err
	}
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	s := grpc.NewServer(grpc.MaxRecvMsgSize(16<<20), grpc.MaxSendMsgSize(16<<20))
	runtimeapi.RegisterImageServiceServer(s, images)
	runtimeapi.RegisterRuntimeServiceServer(s, rt)
	go func() { _ = s.Serve(l) }()
	c.runtimes, c.servers = append(c.runtimes, rt), append(c.servers, s)
	return nil
}

// nodeReady asks the API for the node's Ready condition, newer than this start.
func (c *cluster) nodeReady(name string) func(context.Context) error {
	var client kubernetes.Interface
	return func(ctx context.Context) error {
		if client == nil {
			cfg, err := clientcmd.BuildConfigFromFlags("", c.plan.Kubeconfig("admin"))
			if err != nil {
				return err
			}
			cfg.QPS = -1 // asked often, by one caller, for a few seconds
			if client, err = kubernetes.NewForConfig(cfg); err != nil {
				return err
			}
		}
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		n, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, cond := range n.Status.Conditions {
			fresh := cond.LastHeartbeatTime.Time.After(c.cfg.StartedAt.Add(-time.Second))
			if cond.Type == v1.NodeReady && cond.Status == v1.ConditionTrue && fresh {
				return nil
			}
		}
		return fmt.Errorf("node %s is not Ready", name)
	}
}

// stop ends the nodes first, the store last.
func (c *cluster) stop() {
	c.setState("stopping")
	c.mu.Lock()
	children := c.children
	c.mu.Unlock()
	var wg sync.WaitGroup
	for _, ch := range children {
		wg.Go(ch.stop)
	}
	wg.Wait()
	for _, s := range c.servers {
		s.Stop()
	}
	if c.procs != nil {
		c.procs.stop()
	}
	for _, rt := range c.runtimes {
		rt.Close()
	}
	c.setState("stopped")
}
