package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"gopkg.in/natefinch/lumberjack.v2"
)

const (
	firstBackOff = time.Second
	maxBackOff   = 10 * time.Second
	// A process that ran this long starts with the first back-off again.
	steadyAfter = time.Minute
	stopGrace   = 4 * time.Second
)

// child is a supervised process of the cluster.
type child struct {
	name   string
	argv   []string
	env    []string
	log    io.WriteCloser
	health func(context.Context) error
	say    func(format string, args ...any)
	note   func(name, state string, restarts int)

	mu       sync.Mutex
	cmd      *exec.Cmd
	stopped  bool
	restarts int
	wake     chan struct{} // closed by stop
	ended    chan struct{}
}

func newChild(dir, name string, argv, env []string) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this binary: %w", err)
	}
	return &child{
		name: name, argv: append([]string{self}, argv...), env: env,
		log:  &lumberjack.Logger{Filename: filepath.Join(dir, "logs", name+".log"), MaxSize: 20, MaxBackups: 1},
		wake: make(chan struct{}), ended: make(chan struct{}),
	}, nil
}

// run keeps the process alive until stop.
func (c *child) run() {
	defer close(c.ended)
	defer c.log.Close()
	backOff := firstBackOff
	for first := true; ; first = false {
		started := time.Now()
		ctx, ended := context.WithTimeout(context.Background(), time.Minute)
		if !first {
			go c.announce(ctx, started)
		}
		err := c.once()
		ended()
		if c.isStopped() {
			c.note(c.name, "stopped", c.restarts)
			return
		}
		if time.Since(started) > steadyAfter {
			backOff = firstBackOff
		}
		c.restarts++
		c.note(c.name, "restarting", c.restarts)
		c.say("%s ended (%v), restart %d in %s; see its log", c.name, err, c.restarts, backOff)
		select {
		case <-time.After(backOff):
		case <-c.wake:
			return
		}
		backOff = min(2*backOff, maxBackOff)
	}
}

func (c *child) once() error {
	cmd := exec.Command(c.argv[0], c.argv[1:]...)
	cmd.Env = append(os.Environ(), c.env...)
	cmd.Stdout, cmd.Stderr = c.log, c.log
	c.mu.Lock()
	if c.stopped {
		c.mu.Unlock()
		return nil
	}
	err := cmd.Start()
	c.cmd = cmd
	c.mu.Unlock()
	if err != nil {
		return err
	}
	if err := cmd.Wait(); err != nil {
		return err
	}
	return fmt.Errorf("exit status 0")
}

// announce tells when a restarted process is ready again. The context ends with
// the process.
func (c *child) announce(ctx context.Context, started time.Time) {
	if c.ready(ctx) == nil && ctx.Err() == nil {
		c.note(c.name, "ready", c.restarts)
		c.say("%s ready again in %.1fs", c.name, time.Since(started).Seconds())
	}
}

// ready waits for the health check.
func (c *child) ready(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-c.ended:
			cancel(errors.New("it was stopped"))
		case <-ctx.Done():
		}
	}()
	return awaitHealth(ctx, c.name, c.health)
}

func (c *child) isStopped() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stopped
}

// stop ends the process, gracefully at first.
func (c *child) stop() {
	c.mu.Lock()
	if c.stopped {
		c.mu.Unlock()
		return
	}
	c.stopped = true
	close(c.wake)
	cmd := c.cmd
	c.mu.Unlock()
	if cmd == nil || cmd.Process == nil {
		return
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-c.ended:
	case <-time.After(stopGrace):
		_ = cmd.Process.Kill()
		<-c.ended
	}
}

// The certificates of controller-manager and scheduler are self-made; the check
// stays inside the cluster's own network.
var healthClient = &http.Client{
	Timeout:   2 * time.Second,
	Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true},
}

func httpHealth(url string) func(context.Context) error {
	return func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		resp, err := healthClient.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("%s answers %s", url, resp.Status)
		}
		return nil
	}
}
