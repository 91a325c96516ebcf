package cri

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"
)

// behave plays a behaviour until it ends by itself, is stopped or killed.
func (p *process) behave(ctx context.Context, b Behaviour) int32 {
	// An entrypoint script of an image runs any other command it is given.
	if run, ok := p.handOver(); ok {
		return run(ctx)
	}
	if b.Process != "" {
		return p.real(ctx, b.Process)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if code := p.prepare(b); code != 0 {
		return code
	}
	p.lines(b)
	if b.Memory != nil {
		go p.grow(ctx, *b.Memory)
	}
	if b.Tick != nil {
		go p.tick(ctx, *b.Tick)
	}
	ended := make(chan int32, 1)
	if b.Serve != nil {
		go func() { p.serve(ctx, *b.Serve, ended) }()
	}
	if b.GRPCHealth != 0 {
		go func() { p.serveGRPCHealth(ctx, b.GRPCHealth, ended) }()
	}
	var exit <-chan time.Time
	if b.Exit != nil {
		exit = time.After(b.Exit.After.Duration)
	}
	term := p.term
	if b.IgnoreTerm {
		term = nil
	}
	select {
	case code := <-ended:
		return code
	case <-exit:
		if b.Exit.Line != "" {
			fmt.Fprintln(p.stderr, b.Exit.Line)
		}
		return b.Exit.Code
	case <-term:
		return b.TermExitCode
	case <-ctx.Done():
		return 137
	}
}

// real runs a component of the cluster as a process.
func (p *process) real(ctx context.Context, component string) int32 {
	if p.starter == nil {
		fmt.Fprintf(p.stderr, "%s runs only as a static Pod of the lab cluster\n", component)
		return 1
	}
	return p.starter.Run(ctx, component, p.argv[1:], p.env, p.stderr, p.term)
}

// handOver follows the custom of entrypoint scripts: they end in `exec "$@"`, so
// a Pod's args replace the image's command.
func (p *process) handOver() (func(context.Context) int32, bool) {
	isScript := strings.HasSuffix(p.argv[0], ".sh")
	if !isScript || len(p.argv) < 2 || strings.HasPrefix(p.argv[1], "-") {
		return nil, false
	}
	next := p.child(p.argv[1:])
	if _, own := p.behaviour(next.argv[0]); own && path.Base(next.argv[0]) != path.Base(p.argv[0]) {
		return nil, false // the image's own program: this behaviour is it
	}
	run, err := next.lookup()
	if err != nil {
		return func(context.Context) int32 {
			fmt.Fprintf(p.stderr, "%s: exec: %s: not found\n", p.argv[0], next.argv[0])
			return 127
		}, true
	}
	return run, true
}

func (p *process) prepare(b Behaviour) int32 {
	if b.RootOnly != "" && p.uid != 0 {
		fmt.Fprintln(p.stderr, b.RootOnly)
		return 1
	}
	if b.Require == nil {
		return 0
	}
	for _, name := range b.Require.Files {
		if _, err := p.fs.stat(name); err != nil {
			fmt.Fprintf(p.stderr, "fatal: open %s: no such file or directory\n", name)
			return 1
		}
	}
	for _, name := range b.Require.Env {
		if v, ok := p.getenv(name); !ok || v == "" {
			fmt.Fprintf(p.stderr, "fatal: environment variable %s is not set\n", name)
			return 1
		}
	}
	return 0
}

func (p *process) lines(b Behaviour) {
	now := time.Now().UTC().Format("2006/01/02 15:04:05")
	for _, l := range b.Log {
		l = strings.ReplaceAll(l, "{{hostname}}", p.hostname)
		if strings.HasPrefix(l, "[") { // a log line of the program carries its time
			l = now + " " + l
		}
		fmt.Fprintln(p.stderr, l)
	}
	for _, l := range b.Print {
		fmt.Fprintln(p.stdout, strings.ReplaceAll(l, "{{hostname}}", p.hostname))
	}
}

// grow adds to the working set; the memory itself calls the OOM killer.
func (p *process) grow(ctx context.Context, m Memory) {
	used := m.Start.Value()
	p.memory.set(used)
	if m.Grow.Value() == 0 || m.Every.Duration <= 0 {
		return
	}
	t := time.NewTicker(m.Every.Duration)
	defer t.Stop()
	for m.Max.Value() == 0 || used < m.Max.Value() {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			used += m.Grow.Value()
			p.memory.set(used)
		}
	}
}

func (p *process) tick(ctx context.Context, tick Tick) {
	if tick.Every.Duration <= 0 {
		return
	}
	t := time.NewTicker(tick.Every.Duration)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			fmt.Fprintln(p.stdout, tick.Line)
		}
	}
}
