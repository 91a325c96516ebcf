// Package store keeps runs in Redis: it is the run.Log and the run.Queue of a
// bot that must survive its own death. It owns every key and every script.
//
// Each change is one script that checks first and writes last, on keys that
// share one hash tag, so it also holds on a Redis Cluster. Each write carries
// the version or an id, so a command that the client sends twice, because the
// reply was lost, takes effect once. Every call ends within Timeout; a Redis
// that does not answer gives a *Down, which is run.ErrDown.
package store

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"go.uber.org/zap"
)

// Timeout bounds each call, retries included. It is short enough that a run
// whose claim is renewed every 3 s says within 5 s that Redis is away.
const Timeout = 1500 * time.Millisecond

// Retention is how long the records of ended runs are kept.
const Retention = 90 * 24 * time.Hour

// schema is the number of the key layout. A store of another layout is refused.
const schema = "1"

// Options says how to reach Redis.
type Options struct {
	// URL is redis://[user:password@]host:port/db, rediss://… or unix://….
	URL    string
	Logger *zap.Logger
}

// Store is a run.Log on Redis. It is safe for concurrent use.
type Store struct {
	rdb    redis.UniversalClient
	slow   redis.UniversalClient // for the queue's polling
	logger *zap.Logger
	end    func()
}

// Open connects to Redis, checks it, and says in the Report what an operator
// should know. Only a Redis that does not answer or that holds another schema
// is refused.
func Open(ctx context.Context, o Options) (*Store, Report, error) {
	opt, err := redis.ParseURL(o.URL)
	if err != nil {
		return nil, Report{}, fmt.Errorf("redis URL: %w", withoutURL(err))
	}
	s := newStore(opt, o.Logger)
	report, err := s.inspect(ctx)
	if err != nil {
		s.Close()
		return nil, Report{}, err
	}
	return s, report, nil
}

// silence takes the client's own words off stderr: each error comes back from
// the call that met it, and is logged there.
var silence = sync.OnceFunc(func() { redis.SetLogger(silent{}) })

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

func newStore(opt *redis.Options, logger *zap.Logger) *Store {
	silence()
	opt.Protocol = 2 // what every Redis and every substitute of it speaks
	opt.DialTimeout = Timeout
	opt.ReadTimeout = Timeout
	opt.WriteTimeout = Timeout
	opt.ContextTimeoutEnabled = true
	opt.MaxRetries = 2
	opt.DialerRetries = 1
	opt.PoolSize = 32
	opt.DisableIdentity = true
	opt.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	// The queue polls without a pause while Redis is away: only the client's own
	// back-off keeps that from becoming a busy loop.
	polling := *opt
	polling.MaxRetries = 3
	polling.MinRetryBackoff = 250 * time.Millisecond
	polling.MaxRetryBackoff = 500 * time.Millisecond
	return &Store{
		rdb:    redis.NewClient(opt),
		slow:   redis.NewClient(&polling),
		logger: logger.Named("store"),
		end:    func() {},
	}
}

// Close ends the connections.
func (s *Store) Close() {
	_ = s.rdb.Close()
	_ = s.slow.Close()
	s.end()
}

// Ping asks Redis for a sign of life.
func (s *Store) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	return fail("ping", s.rdb.Ping(ctx).Err())
}

// withoutURL drops the URL, and with it the password, from a parse error.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
