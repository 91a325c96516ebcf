package run

import (
	"context"
	"time"

	"labbot/bot/lab"
)

// Task asks for one step of a run.
type Task struct {
	Run lab.RunID `json:"run"`
	// Ver is the version that the sender saw. A step for an older one is void
	// unless the run is held here, where it is only a reason to look.
	Ver int64 `json:"ver"`
	// Try tells repeated tasks for one version apart.
	Try int `json:"-"`
	// To is the owner to deliver to, or empty for whoever is free.
	To string `json:"-"`
	// After is how long the delivery waits.
	After time.Duration `json:"-"`
}

// Queue delivers tasks at least once, or, when it fails, not at all: the sweep
// makes up for what it loses.
type Queue interface {
	// Enqueue accepts a task. The same run, version and try count once.
	Enqueue(ctx context.Context, t Task) error
	// Serve delivers tasks, the shared ones and those for owner, until ctx ends.
	// An error of handle asks for the task again later.
	Serve(ctx context.Context, owner string, handle func(ctx context.Context, t Task) error) error
}
