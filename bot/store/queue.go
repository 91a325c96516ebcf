package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hibiken/asynq"
	"go.uber.org/zap"

	"labbot/bot/run"
)

const (
	sharedQueue = "runs"
	taskType    = "step"

	// taskTimeout bounds one delivery; a step that takes longer is repeated.
	taskTimeout = 20 * time.Second
	// maxRetry never archives a task for a short absence of Redis. An archived
	// task would block its id, hence run.Task.Try.
	maxRetry = 8
	// concurrency is how many deliveries run at once; each only claims a run or
	// wakes its worker.
	concurrency = 16

	// checkEvery is the mean delay of a delivery; asynq polls.
	checkEvery = 150 * time.Millisecond
	// forwardEvery is the resolution of delayed tasks.
	forwardEvery = 500 * time.Millisecond
	// drain is how long Serve waits for deliveries under way when it ends.
	drain = 5 * time.Second
)

// Queue is a run.Queue by asynq on the same Redis. It only delivers: what it
// loses or doubles is made good by the record's version and the sweep.
type Queue struct {
	store  *Store
	client *asynq.Client
	logger *zap.Logger
}

var _ run.Queue = (*Queue)(nil)

// Queue returns the queue on this store.
func (s *Store) Queue() *Queue {
	return &Queue{store: s, client: asynq.NewClientFromRedisClient(s.rdb), logger: s.logger.Named("queue")}
}

// ownerQueue is the queue of one instance, whichever boot serves it.
func ownerQueue(owner string) string {
	instance, _, _ := strings.Cut(owner, "/")
	return sharedQueue + ":" + instance
}

// Enqueue accepts a task. A task with the same id is there already: done.
func (q *Queue) Enqueue(ctx context.Context, t run.Task) error {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	payload, err := json.Marshal(t)
	if err != nil {
		return err
	}
	name := sharedQueue
	if t.To != "" {
		name = ownerQueue(t.To)
	}
	opts := []asynq.Option{
		asynq.TaskID(fmt.Sprintf("run:%s:%d:%d", t.Run, t.Ver, t.Try)),
		asynq.Queue(name), asynq.Timeout(taskTimeout), asynq.MaxRetry(maxRetry),
	}
	if t.After > 0 {
		opts = append(opts, asynq.ProcessIn(t.After))
	}
	_, err = q.client.EnqueueContext(ctx, asynq.NewTask(taskType, payload), opts...)
	if errors.Is(err, asynq.ErrTaskIDConflict) {
		return nil
	}
	return fail("enqueue", err)
}

// Serve delivers tasks until ctx ends. It returns an error when Redis is away at
// the start; later absences are waited out.
func (q *Queue) Serve(ctx context.Context, owner string, handle func(ctx context.Context, t run.Task) error) error {
	own := ownerQueue(owner)
	server := asynq.NewServerFromRedisClient(q.store.slow, asynq.Config{
		Concurrency:              concurrency,
		Queues:                   map[string]int{own: 3, sharedQueue: 2},
		TaskCheckInterval:        checkEvery,
		DelayedTaskCheckInterval: forwardEvery,
		RetryDelayFunc:           retryDelay,
		ShutdownTimeout:          drain,
		JanitorInterval:          time.Minute, // no task is retained
		Logger:                   asynqLogger{q.logger.WithOptions(zap.AddCallerSkip(1)).Sugar()},
		LogLevel:                 asynq.WarnLevel,
	})
	if err := server.Start(asynq.HandlerFunc(func(ctx context.Context, t *asynq.Task) error {
		var task run.Task
		if err := json.Unmarshal(t.Payload(), &task); err != nil {
			return fmt.Errorf("decode task: %w: %w", err, asynq.SkipRetry)
		}
		return handle(ctx, task)
	})); err != nil {
		return fail("serve", err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { q.keepAlive(ctx, own) })
	<-ctx.Done()
	wg.Wait()
	return q.shutdown(server)
}

// shutdown is bounded: asynq's own waits for a Redis that may never answer.
func (q *Queue) shutdown(server *asynq.Server) error {
	done := make(chan struct{})
	go func() {
		server.Shutdown()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-time.After(drain + 3*time.Second):
		return errors.New("the queue did not stop in time, its tasks will be delivered again")
	}
}

func retryDelay(n int, _ error, _ *asynq.Task) time.Duration {
	return min(time.Second<<min(n, 5), 30*time.Second)
}

const (
	aliveFor   = 5 * time.Minute
	aliveEvery = time.Minute
)

// keepAlive marks the own queue as served, and removes the queues of instances
// that have not been seen for long: nobody else would ever read them.
func (q *Queue) keepAlive(ctx context.Context, own string) {
	inspector := asynq.NewInspectorFromRedisClient(q.store.rdb)
	t := time.NewTicker(aliveEvery)
	defer t.Stop()
	for {
		cctx, cancel := context.WithTimeout(ctx, Timeout)
		err := q.store.rdb.Set(cctx, aliveKey(own), "1", aliveFor).Err()
		cancel()
		if err == nil {
			err = q.prune(ctx, inspector)
		}
		if err != nil && ctx.Err() == nil {
			q.logger.Warn("queues of gone instances were not looked at", zap.Error(err))
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

func (q *Queue) prune(ctx context.Context, inspector *asynq.Inspector) error {
	names, err := inspector.Queues()
	if err != nil {
		return fail("queues", err)
	}
	for _, name := range names {
		if !strings.HasPrefix(name, sharedQueue+":") {
			continue
		}
		cctx, cancel := context.WithTimeout(ctx, Timeout)
		alive, err := q.store.rdb.Exists(cctx, aliveKey(name)).Result()
		cancel()
		if err != nil {
			return fail("queues", err)
		}
		if alive > 0 {
			continue
		}
		// A queue with a task under way is refused and tried again later.
		if err := inspector.DeleteQueue(name, true); err != nil {
			q.logger.Debug("queue kept", zap.String("queue", name), zap.Error(err))
		}
	}
	return nil
}

// asynqLogger passes asynq's words on; its Fatal must not end the process.
type asynqLogger struct{ *zap.SugaredLogger }

// Fatal logs an error instead of ending the process.
func (l asynqLogger) Fatal(args ...any) { l.Error(args...) }
