package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"labbot/k8s/labcluster/control"
	"labbot/k8s/labcluster/netns"
)

// insideCommand starts the first process of the namespaces.
const insideCommand = "__inside"

// The files that the launcher hands over.
const (
	fdListener = 3
	fdLock     = 4
	fdLauncher = 5
)

type insideConfig struct {
	Dir         string
	Port        int
	Images      string
	Nodes       int
	Audit       bool
	LauncherPID int
	StartedAt   time.Time
	Timeout     time.Duration
}

func (c insideConfig) nodeNames() []string {
	names := make([]string, c.Nodes)
	for i := range names {
		names[i] = fmt.Sprintf("k8s-fundamentals-%d", i+1)
	}
	return names
}

// runInside is process 1 of the cluster. When it ends, the kernel ends the rest.
func runInside() int {
	var cfg insideConfig
	if len(os.Args) != 2 || json.Unmarshal([]byte(os.Args[1]), &cfg) != nil {
		fmt.Fprintln(os.Stderr, "labcluster: this command is started by `labcluster up` only")
		return 2
	}
	for _, fd := range []int{fdListener, fdLock, fdLauncher} {
		syscall.CloseOnExec(fd)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go func() {
		// The launcher never writes: the read ends with the launcher.
		_, _ = io.Copy(io.Discard, os.NewFile(fdLauncher, "launcher"))
		os.Exit(137)
	}()
	if err := runCluster(ctx, cfg); err != nil {
		fmt.Fprintln(os.Stderr, "labcluster:", err)
		return 1
	}
	return 0
}

func runCluster(ctx context.Context, cfg insideConfig) error {
	ips := make([]string, cfg.Nodes)
	for i := range ips {
		ips[i] = control.NodeIP(i)
	}
	if err := netns.Enter(netns.Network{Hostname: cfg.nodeNames()[0], NodeIPs: ips, PodCIDR: control.PodCIDR}); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(cfg.Dir, "logs"), 0o700); err != nil {
		return fmt.Errorf("logs folder: %w", err)
	}
	listener, err := net.FileListener(os.NewFile(fdListener, "listener"))
	if err != nil {
		return fmt.Errorf("take the port over: %w", err)
	}
	c, err := newCluster(cfg)
	if err != nil {
		return err
	}
	go forward(listener, net.JoinHostPort(control.NodeIP(0), fmt.Sprint(control.APIPort)), c.apiReady)
	defer c.stop()
	if err := c.start(ctx); err != nil {
		if ctx.Err() != nil {
			return nil // stopped while starting
		}
		return err
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-c.fatal:
		return err
	}
}

// forward joins connections with an address inside; those that come before open
// is closed are held back.
func forward(l net.Listener, to string, open <-chan struct{}) {
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(100 * time.Millisecond) // out of file descriptors: give some time to come back
			continue
		}
		go func() {
			<-open
			join(conn.(*net.TCPConn), to)
		}()
	}
}

func join(host *net.TCPConn, to string) {
	defer host.Close()
	conn, err := net.DialTimeout("tcp", to, 10*time.Second)
	if err != nil {
		return
	}
	inner := conn.(*net.TCPConn)
	defer inner.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(inner, host)
		_ = inner.CloseWrite()
	}()
	_, _ = io.Copy(host, inner)
	_ = host.CloseWrite()
	<-done
}
