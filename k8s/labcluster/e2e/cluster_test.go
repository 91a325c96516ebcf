package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// A loaded machine is slow; what matters is that it comes.
const (
	upTimeout   = 3 * time.Minute
	stepTimeout = time.Minute
)

func binary(t *testing.T) string {
	t.Helper()
	bin := os.Getenv("LABCLUSTER_BIN")
	if bin == "" {
		const why = "LABCLUSTER_BIN names no labcluster binary; run `make build` and set it to bin/labcluster"
		if os.Getenv("LABCLUSTER_REQUIRED") != "" {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	return bin
}

// shared is one cluster for all tests that only use it.
var shared = sync.OnceValues(func() (*cluster, error) {
	dir, err := os.MkdirTemp("", "lab")
	if err != nil {
		return nil, err
	}
	sharedDir = dir
	return launch(os.Getenv("LABCLUSTER_BIN"), filepath.Join(dir, "c"), nil)
})

// sharedDir is empty as long as no test has asked for the shared cluster.
var sharedDir string

func TestMain(m *testing.M) {
	code := m.Run()
	if sharedDir != "" {
		if c, err := shared(); err == nil {
			c.stop()
		}
		os.RemoveAll(sharedDir)
	}
	os.Exit(code)
}

func sharedCluster(t *testing.T) *cluster {
	t.Helper()
	binary(t)
	c, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("launcher said:\n%s", c.out)
		}
	})
	return c
}

// output collects what a process writes, for several readers.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// cluster is a running `labcluster up`.
type cluster struct {
	dir    string
	cmd    *exec.Cmd
	out    *output
	ended  chan struct{}
	config *rest.Config
	client *kubernetes.Clientset
}

// launch starts a cluster and returns when its nodes are Ready.
func launch(bin, dir string, as *syscall.Credential, args ...string) (*cluster, error) {
	c := &cluster{dir: dir, out: &output{}, ended: make(chan struct{})}
	c.cmd = exec.Command(bin, append([]string{"up", "--data", dir}, args...)...)
	c.cmd.Stdout, c.cmd.Stderr = c.out, c.out
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = c.cmd.Wait()
		close(c.ended)
	}()
	if err := c.awaitReady(); err != nil {
		c.stop()
		return nil, fmt.Errorf("%w; it said:\n%s", err, c.out)
	}
	var err error
	if c.config, err = clientcmd.BuildConfigFromFlags("", filepath.Join(dir, "kubeconfig")); err != nil {
		return nil, err
	}
	c.config.QPS = -1
	c.client, err = kubernetes.NewForConfig(c.config)
	return c, err
}

func (c *cluster) awaitReady() error {
	return poll(upTimeout, func(context.Context) error {
		select {
		case <-c.ended:
			return stop{errors.New("labcluster up has ended")}
		default:
		}
		if !strings.Contains(c.out.String(), "ready in ") || !strings.Contains(c.out.String(), "context k8slab@lab") {
			return errors.New("labcluster up has not said that it is ready")
		}
		return nil
	})
}

// stop ends the cluster as Ctrl+C does.
func (c *cluster) stop() {
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-c.ended:
	case <-time.After(stepTimeout):
		_ = c.cmd.Process.Kill()
		<-c.ended
	}
}

// stop, returned from a poll, ends it at once.
type stop struct{ error }

// poll repeats check until it gives nil; the last error tells what was missing.
func poll(timeout time.Duration, check func(context.Context) error) error {
	last := errors.New("never checked")
	err := wait.PollUntilContextTimeout(context.Background(), 100*time.Millisecond, timeout, true, func(ctx context.Context) (bool, error) {
		last = check(ctx)
		var s stop
		if errors.As(last, &s) {
			return false, s.error
		}
		return last == nil, nil
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("after %s: %w", timeout, last)
	}
	return err
}

func eventually(t *testing.T, timeout time.Duration, check func(context.Context) error) {
	t.Helper()
	if err := poll(timeout, check); err != nil {
		t.Fatal(err)
	}
}

// processesOf finds living processes that name the folder in their command line.
func processesOf(dir string) []string {
	var found []string
	names, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err == nil && bytes.Contains(data, []byte(dir)) {
			found = append(found, strings.ReplaceAll(string(data), "\x00", " "))
		}
	}
	return found
}

type statusFile struct {
	State      string
	PID        int
	Components []struct {
		Name, State string
		Restarts    int
	}
}

func readStatus(dir string) (s statusFile, err error) {
	data, err := os.ReadFile(filepath.Join(dir, "status.json"))
	if errors.Is(err, fs.ErrNotExist) || err != nil {
		return s, err
	}
	return s, json.Unmarshal(data, &s)
}
