package store

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"
)

// OpenInProcess starts a Redis substitute inside this process, for a demo
// without a server. Its data ends with the process.
func OpenInProcess(logger *zap.Logger) (*Store, error) {
	server := miniredis.NewMiniRedis()
	if err := server.StartAddr("127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("start the in-process redis: %w", err)
	}
	s := newStore(&redis.Options{Addr: server.Addr()}, logger)
	stop := tick(server)
	s.end = func() {
		stop()
		server.Close()
	}
	if err := s.mark(context.Background()); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// tick moves the substitute's time to live forward: it never does so itself.
func tick(server *miniredis.Miniredis) (stop func()) {
	const every = 100 * time.Millisecond
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		t := time.NewTicker(every)
		defer t.Stop()
		last := time.Now()
		for {
			select {
			case <-done:
				return
			case now := <-t.C:
				server.FastForward(now.Sub(last))
				last = now
			}
		}
	})
	return sync.OnceFunc(func() {
		close(done)
		wg.Wait()
	})
}
