package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"go.uber.org/zap"

	"labbot/bot/store"
)

const redisTime = 20 * time.Second

// demoRedis uses the given Redis, else a redis-server from PATH with append-only
// persistence, else one inside this process, which is not lasting.
func demoRedis(ctx context.Context, o demoOptions, p printer, logger *zap.Logger) (st *store.Store, lasting bool, stop func(), err error) {
	none := func() {}
	if o.redis != "" {
		st, report, err := openStore(ctx, o.redis, logger)
		if err != nil {
			return nil, false, nil, err
		}
		p.say("demo.redis-given")
		for _, w := range report.Warnings {
			fmt.Fprintln(p.out, "  "+w.Text.In(p.lang))
		}
		return st, true, none, nil
	}
	path, err := exec.LookPath("redis-server")
	if err != nil {
		st, err := store.OpenInProcess(logger)
		if err != nil {
			return nil, false, nil, err
		}
		p.say("demo.redis-in-process")
		return st, false, none, nil
	}
	s := &supervised{path: path, dir: filepath.Join(o.data, "redis"), logger: logger, quit: make(chan struct{})}
	if err := s.start(ctx); err != nil {
		return nil, false, nil, err
	}
	st, _, err = openStore(ctx, s.url(), logger)
	if err != nil {
		s.stop()
		return nil, false, nil, err
	}
	p.say("demo.redis-started", "dir", s.dir)
	return st, true, s.stop, nil
}

// supervised is a redis-server that is started again when it dies: the runs go
// on from its append-only file.
type supervised struct {
	path, dir string
	port      int
	logger    *zap.Logger
	quit      chan struct{}
	done      sync.WaitGroup

	mu      sync.Mutex
	current *child
}

func (s *supervised) url() string { return "redis://127.0.0.1:" + strconv.Itoa(s.port) + "/0" }

func (s *supervised) start(ctx context.Context) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("redis folder: %w", err)
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("port for redis: %w", err)
	}
	s.port = ln.Addr().(*net.TCPAddr).Port
	ln.Close()
	if err := s.launch(ctx); err != nil {
		return err
	}
	s.done.Go(s.watch)
	return nil
}

func (s *supervised) launch(ctx context.Context) error {
	c, err := startChild("redis-server", s.path, []string{
		"--bind", "127.0.0.1", "--port", strconv.Itoa(s.port), "--dir", s.dir, "--save", "",
		"--appendonly", "yes", "--appendfsync", "everysec", "--maxmemory-policy", "noeviction", "--daemonize", "no"}, nil)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.current = c
	s.mu.Unlock()
	err = c.await(ctx, redisTime, func() error {
		conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)))
		if err == nil {
			conn.Close()
		}
		return err
	})
	if err != nil {
		c.stop()
	}
	return err
}

// restartEvery paces the restarts of a redis-server that keeps dying.
const restartEvery = 2 * time.Second

func (s *supervised) watch() {
	for {
		s.mu.Lock()
		c := s.current
		s.mu.Unlock()
		select {
		case <-s.quit:
			return
		case <-c.done:
		}
		s.logger.Warn("redis-server ended, starting it again", zap.Error(c.died()))
		select {
		case <-s.quit:
			return
		case <-time.After(restartEvery):
		}
		if err := s.launch(context.Background()); err != nil {
			s.logger.Error("redis-server", zap.Error(err))
		}
	}
}

func (s *supervised) stop() {
	close(s.quit)
	s.done.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current.stop()
}
