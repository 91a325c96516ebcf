package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// child is a process that the demo started and takes down again.
type child struct {
	name string
	cmd  *exec.Cmd
	done chan struct{}
	tail *tail
	// stopping says that the end is wanted.
	stopping atomic.Bool
}

// stopTime is how long a child may take to stop before it is killed.
const stopTime = 20 * time.Second

// startChild starts a program in a process group of its own, so that Ctrl+C in
// the terminal reaches only the demo, which stops its children in order.
func startChild(name, path string, args []string, lines func(string)) (*child, error) {
	c := &child{name: name, cmd: exec.CommandContext(context.Background(), path, args...), done: make(chan struct{}), tail: &tail{}}
	c.cmd.SysProcAttr = childAttr()
	c.cmd.Env = os.Environ()
	out, in := io.Pipe()
	c.cmd.Stdout, c.cmd.Stderr = in, in
	if err := c.start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		sc := bufio.NewScanner(out)
		sc.Buffer(nil, 1<<20)
		for sc.Scan() {
			c.tail.add(sc.Text())
			if lines != nil {
				lines(sc.Text())
			}
		}
		_, _ = io.Copy(io.Discard, out)
	}()
	go func() {
		_ = c.cmd.Wait()
		_ = in.Close() // a pipe in memory
		close(c.done)
	}()
	return c, nil
}

// stop asks the child to end, waits, and kills it if it must.
func (c *child) stop() {
	if !c.stopping.Swap(true) {
		_ = c.cmd.Process.Signal(syscall.SIGTERM)
	}
	select {
	case <-c.done:
	case <-time.After(stopTime):
		_ = c.cmd.Process.Kill()
		<-c.done
	}
}

// died describes a child that ended by itself.
func (c *child) died() error {
	return fmt.Errorf("%s ended (%s); its last lines:\n%s", c.name, c.cmd.ProcessState, c.tail)
}

// await polls ok every 50 ms until it is nil, the child ends, or time is over.
func (c *child) await(ctx context.Context, limit time.Duration, ok func() error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ok()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready after %s: %w", c.name, limit, err)
		case <-c.done:
			return c.died()
		case <-tick.C:
		}
	}
}

// tail keeps the last lines of a child.
type tail struct {
	mu    sync.Mutex
	lines []string
}

const tailLines = 15

func (t *tail) add(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, line)
	if len(t.lines) > tailLines {
		t.lines = t.lines[1:]
	}
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return "  " + strings.Join(t.lines, "\n  ")
}
