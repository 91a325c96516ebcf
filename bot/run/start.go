package run

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"labbot/bot/lab"
	"labbot/scenarios/engine"
)

// StartRequest asks for a run of a scenario.
type StartRequest struct {
	// Key is unique per command, so that one delivered twice starts one run.
	Key      string
	Scenario string
	// Params are the values of the command, as typed.
	Params    map[string]string
	Cluster   string
	Cohort    lab.CohortID
	Channel   lab.ChannelID
	Lang      lab.Lang
	StartedBy lab.UserID
	CommandAt time.Time
}

// Started tells which run a command gave.
type Started struct {
	ID lab.RunID
	// Position is the place in the namespace's queue; 0 means that it starts now.
	Position int
}

// Start records a run and asks for its first step. A *Refusal is for the person.
func (r *Runner) Start(ctx context.Context, q StartRequest) (Started, error) {
	if r.deps.Clusters[q.Cluster] == nil {
		return Started{}, refuse(nil, "run.no-cluster", "cluster", q.Cluster)
	}
	prog, err := r.deps.Library.Program(q.Scenario, 0)
	if err != nil {
		return Started{}, refuse(err, "run.no-scenario", "scenario", q.Scenario)
	}
	rec := Record{
		ID: idFor(q.Key), Cohort: q.Cohort, Channel: q.Channel, Lang: q.Lang, StartedBy: q.StartedBy,
		CommandAt: q.CommandAt.UTC().Round(0), Cluster: q.Cluster, Params: q.Params,
	}
	if rec.State, err = r.firstState(prog, rec); err != nil {
		return Started{}, err
	}
	if err := r.deps.Log.Create(ctx, rec); err != nil && !errors.Is(err, ErrExists) {
		return Started{}, fmt.Errorf("record run %s of %s: %w", rec.ID, q.Scenario, err)
	}
	// Only a recorded run may stand in line: nobody would ever call another out.
	place, err := r.deps.Log.Enter(ctx, rec.Cluster, rec.State.Namespace, rec.ID)
	if errors.Is(err, ErrFull) {
		_, cerr := r.deps.Log.Commit(ctx, rec.ID, 1, Change{Close: true})
		return Started{}, refuse(cerr, "run.line-full", "namespace", rec.State.Namespace)
	}
	if err != nil {
		return Started{}, fmt.Errorf("run %s: queue for namespace %s: %w", rec.ID, rec.State.Namespace, err)
	}
	r.deliver(ctx, Task{Run: rec.ID, Ver: 1})
	return Started{ID: rec.ID, Position: place}, nil
}

// firstState gives the state of a run that starts now.
func (r *Runner) firstState(prog Program, rec Record) (engine.State, error) {
	st, err := prog.Start(engine.StartArgs{
		Run: rec.ID, Params: rec.Params, Registries: r.deps.Registries[rec.Cluster], At: r.now(),
	})
	var bad *engine.ParamError
	if errors.As(err, &bad) {
		return st, &Refusal{Why: bad.Text}
	}
	if err != nil {
		return st, fmt.Errorf("start run %s: %w", rec.ID, err)
	}
	return st, nil
}

// deliver asks for a step. A lost delivery is made good by the sweep, so it is
// only logged.
func (r *Runner) deliver(ctx context.Context, t Task) {
	if err := r.deps.Queue.Enqueue(ctx, t); err != nil {
		r.logger.Warn("no delivery, the sweep will find the run", zap.String("run", string(t.Run)), zap.Error(err))
	}
}

// Input hands an act of a person to the run, once per input id. It is ErrClosed
// when the run is over.
func (r *Runner) Input(ctx context.Context, id lab.RunID, in engine.Input) error {
	in.At = in.At.UTC().Round(0)
	b, err := r.deps.Log.PushInput(ctx, id, in)
	if err != nil {
		return fmt.Errorf("input %s of run %s: %w", in.Kind, id, err)
	}
	if w := r.worker(id); w != nil {
		w.wakeForInputs()
		return nil
	}
	sum := sha256.Sum256([]byte(in.ID))
	r.deliver(ctx, Task{Run: id, Ver: b.Ver, To: b.Owner, Try: int(binary.BigEndian.Uint32(sum[:4]))})
	return nil
}

// idEncoding is the alphabet of lab.NewRunID.
var idEncoding = base32.NewEncoding("0123456789bcdefghijkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// idFor makes the run id from the command's key, so that a command delivered
// twice is the same run.
func idFor(key string) lab.RunID {
	if key == "" {
		return lab.NewRunID()
	}
	sum := sha256.Sum256([]byte(key))
	return lab.RunID("r-" + idEncoding.EncodeToString(sum[:5]))
}
