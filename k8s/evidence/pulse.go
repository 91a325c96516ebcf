package evidence

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// beat is how often the API server is asked whether it is there, and patience
// how long one answer may take. An idle watch looks the same whether the server
// is well or gone, so its silence tells nothing.
const (
	beat     = time.Second
	patience = 2 * time.Second
)

// Pulse knows when the API server last answered. It asks only while at least
// one Lens is open, once for all of them.
type Pulse struct {
	probe func(ctx context.Context) error

	mu      sync.Mutex
	members map[*Lens]struct{}
	last    time.Time // last answer, or when asking began
	trouble error     // of the last question; nil if answered
	lost    bool      // the members have been told of the silence
	cancel  context.CancelFunc
	stopped chan struct{}
}

// NewPulse returns a Pulse that asks by probe, which gives nil when the server
// answered in any form.
func NewPulse(probe func(ctx context.Context) error) *Pulse {
	return &Pulse{probe: probe, members: map[*Lens]struct{}{}}
}

func (p *Pulse) join(l *Lens) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.members[l] = struct{}{}
	if p.cancel != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel, p.stopped = cancel, make(chan struct{})
	p.last, p.trouble, p.lost = time.Now(), nil, false
	go p.run(ctx, p.stopped)
}

// leave waits for the asking to end when the last Lens goes.
func (p *Pulse) leave(l *Lens) {
	p.mu.Lock()
	delete(p.members, l)
	var stopped chan struct{}
	if len(p.members) == 0 && p.cancel != nil {
		p.cancel()
		p.cancel, stopped = nil, p.stopped
	}
	p.mu.Unlock()
	if stopped != nil {
		<-stopped
	}
}

func (p *Pulse) run(ctx context.Context, stopped chan struct{}) {
	defer close(stopped)
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for {
		p.ask(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (p *Pulse) ask(ctx context.Context) {
	probe, cancel := context.WithTimeout(ctx, patience)
	err := p.probe(probe)
	cancel()
	if ctx.Err() != nil {
		return
	}
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.trouble = err; err == nil {
		p.last = now
	}
	if lost := now.Sub(p.last) > grace; lost != p.lost {
		p.lost = lost
		for l := range p.members {
			l.change()
		}
	}
}

// stale tells since when the server has been silent, and how; "" while it is not.
func (p *Pulse) stale(now time.Time) (since time.Time, why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Sub(p.last) <= grace {
		return time.Time{}, ""
	}
	why = fmt.Sprintf("no answer of the API server since %s", p.last.UTC().Format(time.RFC3339))
	if p.trouble != nil {
		why += ": " + p.trouble.Error()
	}
	return p.last, why
}
