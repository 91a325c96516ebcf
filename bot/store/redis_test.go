package store_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap/zaptest"

	"labbot/bot/store"
)

// server is a redis-server of this test's own, on a free loopback port.
type server struct {
	t    testing.TB
	dir  string
	port int
	cmd  *exec.Cmd
}

// startServer starts a redis-server with append-only persistence.
func startServer(t testing.TB, args ...string) *server {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("LABBOT_REQUIRE_REDIS") != "" {
			t.Fatal("LABBOT_REQUIRE_REDIS is set and there is no redis-server on PATH")
		}
		t.Skip("no redis-server on PATH: install it, or the store is only tried on the in-process substitute")
	}
	s := &server{t: t, dir: t.TempDir(), port: freePort(t)}
	s.start(path, args...)
	t.Cleanup(s.kill)
	return s
}

func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func (s *server) start(path string, args ...string) {
	s.t.Helper()
	s.cmd = exec.Command(path, append([]string{
		"--port", strconv.Itoa(s.port), "--bind", "127.0.0.1", "--dir", s.dir, "--save", "",
		"--appendonly", "yes", "--logfile", filepath.Join(s.dir, "redis.log"),
	}, args...)...)
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	eventually(s.t, "redis-server answers", func() bool {
		c, err := net.DialTimeout("tcp", s.addr(), time.Second)
		if err != nil {
			return false
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(time.Second))
		_, _ = fmt.Fprint(c, "PING\r\n")
		buf := make([]byte, 5)
		_, err = c.Read(buf)
		return err == nil && string(buf) == "+PONG"
	})
}

func (s *server) addr() string { return "127.0.0.1:" + strconv.Itoa(s.port) }
func (s *server) url() string  { return "redis://" + s.addr() + "/0" }

// kill ends the server as a power cut would, without a word to anybody.
func (s *server) kill() {
	if s.cmd == nil || s.cmd.Process == nil {
		return
	}
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	s.cmd = nil
}

// freeze stops the process without ending it; thaw lets it go on.
func (s *server) freeze() { _ = s.cmd.Process.Signal(syscall.SIGSTOP) }
func (s *server) thaw()   { _ = s.cmd.Process.Signal(syscall.SIGCONT) }

func (s *server) restart() {
	s.t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		s.t.Fatal(err)
	}
	s.start(path)
}

func (s *server) open() *store.Store {
	s.t.Helper()
	st, _, err := store.Open(s.t.Context(), store.Options{URL: s.url(), Logger: zaptest.NewLogger(s.t)})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(st.Close)
	return st
}

// eventually repeats try until it is true, at most a minute: asynq comes back in
// its own time, and a busy machine stretches it.
func eventually(t testing.TB, what string, try func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !try() {
		select {
		case <-ctx.Done():
			t.Fatalf("%s: not within a minute", what)
		case <-tick.C:
		}
	}
}
