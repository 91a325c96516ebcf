package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"gopkg.in/natefinch/lumberjack.v2"
)

// processes starts the components that the kubelet wants as containers of its
// static Pods, and tells of their ends. It fulfils cri.ProcessStarter.
type processes struct {
	dir    string
	health map[string]func(context.Context) error
	say    func(format string, args ...any)
	note   func(name, state string, restarts int)
	// apiReady holds back the components that give up without an API server.
	apiReady <-chan struct{}

	mu       sync.Mutex
	running  map[string]*runningProcess
	starts   map[string]int
	stopping bool
}

type runningProcess struct {
	cmd  *exec.Cmd
	done chan struct{}
}

func newProcesses(c *cluster, health map[string]func(context.Context) error) *processes {
	return &processes{
		dir: c.cfg.Dir, health: health, say: c.say, note: c.note, apiReady: c.apiReady,
		running: map[string]*runningProcess{}, starts: map[string]int{},
	}
}

// Run is one life of a component; the kubelet decides about the next.
func (p *processes) Run(ctx context.Context, component string, args, env []string, out io.Writer, term <-chan struct{}) int32 {
	if component != "etcd" && component != "kube-apiserver" {
		select {
		case <-p.apiReady:
		case <-term:
			return 0
		case <-ctx.Done():
			return 137
		}
	}
	log := &lumberjack.Logger{Filename: filepath.Join(p.dir, "logs", component+".log"), MaxSize: 20, MaxBackups: 1}
	defer log.Close()
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintln(out, err)
		return 1
	}
	cmd := exec.Command(self, append([]string{component}, args...)...)
	cmd.Env = env
	both := io.MultiWriter(out, log)
	cmd.Stdout, cmd.Stderr = both, both
	r, err := p.start(component, cmd)
	if err != nil {
		fmt.Fprintln(both, err)
		return 1
	}
	watch, unwatch := context.WithCancel(ctx)
	go p.watch(watch, component)
	defer unwatch()
	select {
	case <-r.done:
	case <-term:
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-r.done:
		case <-ctx.Done():
		}
	case <-ctx.Done():
	}
	_ = cmd.Process.Kill()
	<-r.done
	return p.ended(component, cmd)
}

func (p *processes) start(component string, cmd *exec.Cmd) (*runningProcess, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopping {
		return nil, errors.New("the cluster is stopping")
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	r := &runningProcess{cmd: cmd, done: make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		close(r.done)
	}()
	p.running[component] = r
	p.starts[component]++
	return r, nil
}

// watch tells when a process is ready; it ends with the process.
func (p *processes) watch(ctx context.Context, component string) {
	started := time.Now()
	restarts := p.restarts(component)
	if restarts == 0 {
		p.note(component, "starting", 0)
	}
	if awaitHealth(ctx, component, p.health[component]) != nil {
		return
	}
	p.note(component, "ready", restarts)
	again := ""
	if restarts > 0 {
		again = " again"
	}
	p.say("%-24s ready%s in %.1fs", component, again, time.Since(started).Seconds())
}

func (p *processes) restarts(component string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.starts[component] - 1
}

func (p *processes) ended(component string, cmd *exec.Cmd) int32 {
	code := int32(cmd.ProcessState.ExitCode())
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		code = 128 + int32(ws.Signal())
	}
	p.mu.Lock()
	stopping := p.stopping
	restarts := p.starts[component]
	p.mu.Unlock()
	if !stopping {
		p.note(component, "stopped", restarts-1)
		p.say("%s ended (exit code %d); the kubelet restarts it unless its manifest is gone", component, code)
	}
	return code
}

// stop ends the components one after another, the store last.
func (p *processes) stop() {
	p.mu.Lock()
	p.stopping = true
	p.mu.Unlock()
	for _, name := range []string{"kube-scheduler", "kube-controller-manager", "kube-apiserver", "etcd"} {
		p.mu.Lock()
		r := p.running[name]
		p.mu.Unlock()
		if r == nil {
			continue
		}
		_ = r.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-r.done:
		case <-time.After(stopGrace):
			_ = r.cmd.Process.Kill()
			<-r.done
		}
		p.note(name, "stopped", p.restarts(name))
	}
}

// awaitHealth repeats a check until it passes; the context bounds it.
func awaitHealth(ctx context.Context, name string, check func(context.Context) error) error {
	t := time.NewTicker(100 * time.Millisecond)
	defer t.Stop()
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready (%w): %w; see its log", name, context.Cause(ctx), err)
		case <-t.C:
		}
	}
}
