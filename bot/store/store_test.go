package store_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap/zaptest"

	"labbot/bot/run"
	"labbot/bot/run/runtest"
	"labbot/bot/store"
)

func openInProcess(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.OpenInProcess(zaptest.NewLogger(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func TestLogInProcess(t *testing.T) {
	runtest.TestLog(t, func(t *testing.T) run.Log { return openInProcess(t) })
}

func TestLogOnRedis(t *testing.T) {
	srv := startServer(t)
	flush := redis.NewClient(&redis.Options{Addr: srv.addr(), Protocol: 2, DisableIdentity: true})
	t.Cleanup(func() { flush.Close() })
	runtest.TestLog(t, func(t *testing.T) run.Log {
		if err := flush.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		return srv.open()
	})
}

func TestKeysOfARunShareASlot(t *testing.T) {
	srv := startServer(t)
	s := srv.open()
	r := runtest.Sample("r-one")
	if err := s.Create(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	c, err := s.Claim(t.Context(), r.ID, -1, "a/1", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.BeginPost(t.Context(), r.ID, "board"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(t.Context(), r.ID, c.Ver, run.Change{Close: true}); err != nil {
		t.Fatal(err)
	}
	rdb := redis.NewClient(&redis.Options{Addr: srv.addr(), Protocol: 2})
	defer rdb.Close()
	keys, err := rdb.Keys(t.Context(), "labbot:{run:*").Result()
	if err != nil || len(keys) < 2 {
		t.Fatalf("keys of the run: %v, %v", keys, err)
	}
	for _, k := range keys {
		if !strings.HasPrefix(k, "labbot:{run:r-one}") {
			t.Errorf("key %q is outside the run's hash tag", k)
		}
		if ttl := rdb.TTL(t.Context(), k).Val(); ttl < store.Retention-time.Minute || ttl > store.Retention {
			t.Errorf("key %q of an ended run lives for %s, want %s", k, ttl, store.Retention)
		}
	}
}

func TestDownIsToldInTime(t *testing.T) {
	srv := startServer(t)
	s := srv.open()
	if err := s.Create(t.Context(), runtest.Sample("r-one")); err != nil {
		t.Fatal(err)
	}
	try := func(what string) {
		t.Helper()
		begin := time.Now()
		_, err := s.Claim(t.Context(), "r-one", -1, "a/1", time.Minute)
		var down *store.Down
		if !errors.Is(err, run.ErrDown) || !errors.As(err, &down) {
			t.Errorf("%s: error %v, want a *store.Down that is run.ErrDown", what, err)
		}
		if took := time.Since(begin); took > 2*time.Second {
			t.Errorf("%s: told after %s, want at most 2 s", what, took)
		}
	}
	srv.freeze()
	try("frozen")
	srv.thaw()
	eventually(t, "thawed redis serves", func() bool { return s.Ping(t.Context()) == nil })
	srv.kill()
	try("killed")
	srv.restart()
	eventually(t, "restarted redis serves", func() bool { return s.Ping(t.Context()) == nil })
	if _, err := s.Load(t.Context(), "r-one"); err != nil {
		t.Errorf("after kill -9 and restart with append-only file: %v", err)
	}
}

func TestFullRedisIsDown(t *testing.T) {
	srv := startServer(t, "--maxmemory", "1mb", "--maxmemory-policy", "noeviction")
	s, _, err := store.Open(t.Context(), store.Options{URL: srv.url(), Logger: zaptest.NewLogger(t)})
	if err == nil {
		t.Cleanup(s.Close)
		err = s.Create(t.Context(), runtest.Sample("r-one"))
	}
	if !errors.Is(err, run.ErrDown) || !strings.Contains(err.Error(), "OOM") {
		t.Errorf("full redis: %v, want ErrDown that names OOM", err)
	}
}

func TestReport(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"append only":     {nil, nil},
		"volatile":        {[]string{"--appendonly", "no"}, []string{"volatile"}},
		"snapshots":       {[]string{"--appendonly", "no", "--save", "60 1"}, []string{"snapshots"}},
		"evicts":          {[]string{"--maxmemory-policy", "allkeys-lru"}, []string{"policy"}},
		"never fsyncs":    {[]string{"--appendfsync", "no"}, []string{"fsync"}},
		"CONFIG refused":  {[]string{"--rename-command", "CONFIG", ""}, nil},
		"INFO is refused": {[]string{"--rename-command", "INFO", ""}, []string{"unknown"}},
	} {
		t.Run(name, func(t *testing.T) {
			srv := startServer(t, c.args...)
			s, report, err := store.Open(t.Context(), store.Options{URL: srv.url(), Logger: zaptest.NewLogger(t)})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			var got []string
			for _, w := range report.Warnings {
				got = append(got, w.Code)
				if !w.Text.Complete() || strings.Contains(w.Text.EN, "store.") {
					t.Errorf("warning %s has no text: %+v", w.Code, w.Text)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("warnings %v, want %v (report %+v)", got, c.want, report)
			}
		})
	}
}

func TestOpenRefusesAnotherSchema(t *testing.T) {
	srv := startServer(t)
	rdb := redis.NewClient(&redis.Options{Addr: srv.addr(), Protocol: 2})
	defer rdb.Close()
	if err := rdb.Set(t.Context(), "labbot:schema", "999", 0).Err(); err != nil {
		t.Fatal(err)
	}
	_, _, err := store.Open(t.Context(), store.Options{URL: srv.url(), Logger: zaptest.NewLogger(t)})
	if err == nil || !strings.Contains(err.Error(), "schema 999") {
		t.Errorf("Open = %v, want a refusal that names schema 999", err)
	}
}

func TestOpenErrorsHideThePassword(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := closed.Addr().String()
	closed.Close()
	for _, url := range []string{
		"redis://labbot:s3cret@" + addr + "/0", "redis://labbot:s3cret@:bad:port/0", "http://labbot:s3cret@host", "redis://labbot:s3cret@host/%zz",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		_, _, err := store.Open(ctx, store.Options{URL: url, Logger: zaptest.NewLogger(t)})
		cancel()
		if err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("Open(%q) = %v, want an error without the password", strings.ReplaceAll(url, "s3cret", "…"), err)
		}
	}
}

// TestInProcessTimeMoves shows that a time to live ends in the substitute,
// which only a ticker makes happen.
func TestInProcessTimeMoves(t *testing.T) {
	s := openInProcess(t)
	q := s.Queue()
	got := make(chan run.Task, 1)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- q.Serve(ctx, "a/1", func(_ context.Context, t run.Task) error { got <- t; return nil })
	}()
	if err := q.Enqueue(t.Context(), run.Task{Run: "r-one", Ver: 3, After: 300 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	select {
	case task := <-got:
		if task.Run != "r-one" || task.Ver != 3 {
			t.Errorf("delivered %+v", task)
		}
	case <-time.After(20 * time.Second):
		t.Error("a delayed task was not delivered within 20 s")
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Serve: %v", err)
	}
}
