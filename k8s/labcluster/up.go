package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"

	"labbot/k8s/labcluster/cri"
	"labbot/k8s/labcluster/netns"
)

type upOptions struct {
	Dir            string
	Port           int
	Images         string
	Nodes          int
	Audit          bool
	StopWithParent bool
	Timeout        time.Duration
}

// maxDir keeps the sockets below the 108 bytes that the kernel allows.
const maxDir = 66

// up is the launcher: the only process outside of the cluster's namespaces.
func up(o upOptions, out io.Writer) error {
	parent := os.Getppid()
	if err := o.check(); err != nil {
		return err
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return fmt.Errorf("cluster folder: %w", err)
	}
	lock, err := lockDir(o.Dir)
	if errors.Is(err, errLocked) {
		s, err := readStatus(o.Dir)
		if err != nil {
			return fmt.Errorf("another process starts a cluster in %s", o.Dir)
		}
		fmt.Fprintf(out, "already running (pid %d): kubeconfig %s, context %s\n", s.PID, s.Kubeconfig, s.Context)
		return nil
	}
	if err != nil {
		return err
	}
	defer lock.Close()
	listener, err := o.listen()
	if err != nil {
		return err
	}
	return o.run(parent, lock, listener)
}

func (o *upOptions) check() error {
	if len(o.Dir) > maxDir {
		return fmt.Errorf("the path %s is longer than %d bytes, too long for the sockets in it; choose a shorter --data", o.Dir, maxDir)
	}
	if o.Nodes < 1 || o.Nodes > 9 {
		return fmt.Errorf("--nodes must be 1 to 9, not %d", o.Nodes)
	}
	if o.Images != "" {
		abs, err := filepath.Abs(o.Images)
		if err != nil {
			return err
		}
		o.Images = abs
	}
	_, err := cri.LoadCatalogue(o.Images)
	return err
}

// listen opens the port that people use. Without a wish it is the port of the
// last time, so that kubeconfigs copied elsewhere stay right, or a free one.
func (o *upOptions) listen() (*net.TCPListener, error) {
	ports := []int{o.Port}
	if o.Port == 0 {
		if s, err := readStatus(o.Dir); err == nil {
			ports = []int{s.Port, 0}
		}
	}
	var err error
	for _, port := range ports {
		var l net.Listener
		if l, err = net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
			return l.(*net.TCPListener), nil
		}
	}
	return nil, fmt.Errorf("the API's port: %w; choose another --port", err)
}

func (o *upOptions) run(parent int, lock *os.File, l *net.TCPListener) error {
	socket, err := l.File()
	if err != nil {
		return fmt.Errorf("hand the port over: %w", err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close() // the cluster holds its own copy
	alive, keep, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("pipe: %w", err)
	}
	defer keep.Close()
	cfg, err := json.Marshal(insideConfig{
		Dir: o.Dir, Port: port, Images: o.Images, Nodes: o.Nodes, Audit: o.Audit,
		LauncherPID: os.Getpid(), StartedAt: time.Now(), Timeout: o.Timeout,
	})
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this binary: %w", err)
	}
	cmd := exec.Command(self, insideCommand, string(cfg))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.ExtraFiles = []*os.File{socket, lock, alive}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	if err := netns.Start(cmd); err != nil {
		return err
	}
	socket.Close()
	alive.Close()
	debug.FreeOSMemory() // this process only waits from here on
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	return o.wait(cmd, parent, signals, done)
}

// wait stops the cluster on a signal or with the parent; the second signal kills.
func (o *upOptions) wait(cmd *exec.Cmd, parent int, signals <-chan os.Signal, done <-chan error) error {
	watch := time.NewTicker(500 * time.Millisecond)
	defer watch.Stop()
	stopping := false
	for {
		select {
		case err := <-done:
			var exit *exec.ExitError
			if stopping && (err == nil || errors.As(err, &exit)) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("the cluster ended: %w; see %s", err, filepath.Join(o.Dir, "logs"))
			}
			return nil
		case <-signals:
			if stopping {
				_ = cmd.Process.Kill()
				continue
			}
			stopping = true
			_ = cmd.Process.Signal(syscall.SIGTERM)
		case <-watch.C:
			if o.StopWithParent && !stopping && os.Getppid() != parent {
				stopping = true
				_ = cmd.Process.Signal(syscall.SIGTERM)
			}
		}
	}
}
