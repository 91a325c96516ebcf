// Package clustertest gives tests a real Kubernetes API: the one named by
// LABBOT_TEST_KUBECONFIG, or the lab cluster of this project, started once for
// the test process on a directory of its own.
//
// Without LABBOT_TEST_KUBECONFIG and LABBOT_REQUIRE_CLUSTER the tests that need
// it are skipped, with a line that says how to run them.
package clustertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// The environment variables that choose the cluster.
const (
	// EnvKubeconfig names the kubeconfig of a cluster to use. Its current context
	// is written to: namespaces k8s-… and lab-… come and go there.
	EnvKubeconfig = "LABBOT_TEST_KUBECONFIG"
	// EnvRequire, when set, makes a missing cluster a failure and not a skip.
	EnvRequire = "LABBOT_REQUIRE_CLUSTER"
	// EnvBinary names the labcluster binary; without it bin/labcluster of the
	// repository is used.
	EnvBinary = "LABBOT_LABCLUSTER"
)

// The bounds of starting and stopping the lab cluster.
const (
	readyWithin = 3 * time.Minute
	stopWithin  = 30 * time.Second
)

var lab struct {
	mu      sync.Mutex
	started bool
	path    string
	err     error
	stop    func()
}

// Kubeconfig returns the path of a kubeconfig for the cluster, which has a Node
// that is Ready. It starts the lab cluster on the first call in the process;
// Main stops it.
func Kubeconfig(tb testing.TB) string {
	tb.Helper()
	if path := os.Getenv(EnvKubeconfig); path != "" {
		return path
	}
	if os.Getenv(EnvRequire) == "" {
		tb.Skipf("needs a cluster: set %s=FILE, or %s=1 to start bin/labcluster", EnvKubeconfig, EnvRequire)
	}
	lab.mu.Lock()
	defer lab.mu.Unlock()
	if !lab.started {
		lab.started = true
		lab.path, lab.stop, lab.err = start()
	}
	if lab.err != nil {
		err := lab.err
		lab.err = errors.New("it did not start, see the first test that needed it")
		tb.Fatalf("lab cluster: %v", err)
	}
	return lab.path
}

// Main runs the tests and then stops the lab cluster, if one was started. Use
// it as `func TestMain(m *testing.M) { os.Exit(clustertest.Main(m)) }`.
func Main(m *testing.M) int {
	defer func() {
		if lab.stop != nil {
			lab.stop()
		}
	}()
	return m.Run()
}

// Binary finds the labcluster binary.
func Binary() (string, error) {
	if path := os.Getenv(EnvBinary); path != "" {
		return path, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		path := filepath.Join(dir, "bin", "labcluster")
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no bin/labcluster: run `make build`, or set %s", EnvBinary)
		}
	}
}

// start brings a lab cluster up and waits until its Node is Ready. remove stops
// it and takes its folder away.
func start() (kubeconfig string, remove func(), err error) {
	binary, err := Binary()
	if err != nil {
		return "", nil, err
	}
	data, err := os.MkdirTemp("", "labcluster-test-")
	if err != nil {
		return "", nil, err
	}
	var out output
	cmd := exec.Command(binary, "up", "--data", data)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	kubeconfig = filepath.Join(data, "kubeconfig")
	if err := ready(kubeconfig, ended); err != nil {
		stop(cmd.Process, ended)
		// The folder stays: its logs say why.
		return "", nil, fmt.Errorf("%w; logs are in %s; it said:\n%s", err, data, out.String())
	}
	return kubeconfig, func() { stop(cmd.Process, ended); _ = os.RemoveAll(data) }, nil
}

// stop asks the cluster to end, as Ctrl+C does, and ends it if it does not.
func stop(p *os.Process, ended <-chan struct{}) {
	_ = p.Signal(syscall.SIGTERM)
	select {
	case <-ended:
	case <-time.After(stopWithin):
		_ = p.Kill()
		<-ended
	}
}

// ready waits for a Node that is Ready, and gives up when the process has ended.
func ready(kubeconfig string, ended <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(context.Background(), readyWithin)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		last := nodeReady(ctx, kubeconfig)
		if last == nil {
			return nil
		}
		select {
		case <-ended:
			return errors.New("labcluster ended by itself")
		case <-ctx.Done():
			return fmt.Errorf("not ready within %s: %w", readyWithin, last)
		case <-tick.C:
		}
	}
}

func nodeReady(ctx context.Context, kubeconfig string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.Timeout = 5 * time.Second
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, n := range nodes.Items {
		for _, c := range n.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
				return nil
			}
		}
	}
	return fmt.Errorf("%d nodes, none of them Ready", len(nodes.Items))
}

// output keeps what the cluster prints, for the error of a failed start.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write takes what the process prints; of a long output it keeps the first MiB.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.buf.Len() < 1<<20 {
		o.buf.Write(p)
	}
	return len(p), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}
