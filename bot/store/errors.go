package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"

	"labbot/bot/run"
)

// Down says that Redis did not answer, or answered that it cannot serve now.
// The command may or may not have taken effect; it is safe to repeat.
type Down struct {
	Op    string
	Cause error
}

func (d *Down) Error() string { return fmt.Sprintf("redis does not serve %s: %v", d.Op, d.Cause) }

// Unwrap gives the client's own error.
func (d *Down) Unwrap() error { return d.Cause }

// Is makes a Down the run.ErrDown that callers branch on.
func (d *Down) Is(target error) bool { return target == run.ErrDown }

// refusals are the replies by which a Redis says that it cannot serve now: it
// loads its data, is a replica, is full, waits for replicas, or fails over.
var refusals = []string{"LOADING", "READONLY", "OOM", "NOREPLICAS", "MISCONF", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "BUSY", "UNBLOCKED"}

// fail names the operation and tells a Redis that is away from a wrong request.
func fail(op string, err error) error {
	if err == nil {
		return nil
	}
	var reply redis.Error
	if errors.As(err, &reply) {
		for _, r := range refusals {
			if strings.HasPrefix(reply.Error(), r) {
				return &Down{Op: op, Cause: err}
			}
		}
		return fmt.Errorf("redis %s: %w", op, err)
	}
	var network net.Error
	switch {
	case errors.As(err, &network), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, context.DeadlineExceeded), errors.Is(err, net.ErrClosed),
		errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted), errors.Is(err, redis.ErrClosed):
		return &Down{Op: op, Cause: err}
	}
	return fmt.Errorf("redis %s: %w", op, err)
}

// statuses are the first words of the scripts' replies.
var statuses = map[string]error{
	"NOTFOUND": run.ErrNotFound,
	"CLOSED":   run.ErrClosed,
	"LOST":     run.ErrLost,
	"HELD":     run.ErrHeld,
	"FULL":     run.ErrFull,
	"EXISTS":   run.ErrExists,
}
