package cri

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/cri-streaming/pkg/streaming"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"
)

// ServeStreams starts the server that exec, attach and port-forward run over.
func (r *Runtime) ServeStreams(addr string) error {
	cfg := streaming.DefaultConfig
	cfg.Addr = addr
	s, err := streaming.NewServer(cfg, streams{r})
	if err != nil {
		return fmt.Errorf("streaming server: %w", err)
	}
	r.stream = s
	go func() {
		if err := s.Start(true); !errors.Is(err, http.ErrServerClosed) {
			r.log.Error("streaming server ended", "error", err)
		}
	}()
	return nil
}

// Exec hands out the address of an exec stream.
func (r *Runtime) Exec(_ context.Context, req *runtimeapi.ExecRequest) (*runtimeapi.ExecResponse, error) {
	if _, err := r.running(req.GetContainerId()); err != nil {
		return nil, err
	}
	return r.stream.GetExec(req)
}

// Attach hands out the address of an attach stream.
func (r *Runtime) Attach(_ context.Context, req *runtimeapi.AttachRequest) (*runtimeapi.AttachResponse, error) {
	if _, err := r.running(req.GetContainerId()); err != nil {
		return nil, err
	}
	return r.stream.GetAttach(req)
}

// PortForward hands out the address of a port-forward stream.
func (r *Runtime) PortForward(_ context.Context, req *runtimeapi.PortForwardRequest) (*runtimeapi.PortForwardResponse, error) {
	if _, err := r.sandbox(req.GetPodSandboxId()); err != nil {
		return nil, err
	}
	return r.stream.GetPortForward(req)
}

// ExecSync runs a command to its end, for exec probes and hooks.
func (r *Runtime) ExecSync(ctx context.Context, req *runtimeapi.ExecSyncRequest) (*runtimeapi.ExecSyncResponse, error) {
	c, err := r.running(req.GetContainerId())
	if err != nil {
		return nil, err
	}
	timeout := time.Duration(req.GetTimeout()) * time.Second
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	var out, errs bytes.Buffer
	p := c.newProcess(r, req.GetCmd())
	p.stdout, p.stderr = &out, &errs
	code, err := p.execIn(ctx, c)
	if err != nil {
		return nil, status.Errorf(codes.Unknown, "failed to exec in container: failed to start exec: %v", err)
	}
	if ctx.Err() != nil && timeout > 0 {
		return nil, status.Errorf(codes.DeadlineExceeded, "failed to exec in container: timeout %v exceeded: context deadline exceeded", timeout)
	}
	return &runtimeapi.ExecSyncResponse{Stdout: out.Bytes(), Stderr: errs.Bytes(), ExitCode: code}, nil
}

func (r *Runtime) running(id string) (*container, error) {
	c, err := r.container(id)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != runtimeapi.ContainerState_CONTAINER_RUNNING {
		return nil, status.Errorf(codes.Unknown, "container is in %s state", c.state)
	}
	return c, nil
}

// execIn runs another program in a container; it ends with the container.
func (p *process) execIn(ctx context.Context, c *container) (int32, error) {
	p.term = nil
	if len(p.argv) == 0 {
		return 0, fmt.Errorf("no command given")
	}
	run, err := p.lookup()
	if err != nil {
		return 0, fmt.Errorf("OCI runtime exec failed: exec failed: unable to start container process: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-c.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	return run(ctx), nil
}

// streams is what the streaming server calls back.
type streams struct{ r *Runtime }

func (s streams) Exec(ctx context.Context, id string, cmd []string, in io.Reader, out, errs io.WriteCloser, tty bool, resize <-chan remotecommand.TerminalSize) error {
	c, err := s.r.running(id)
	if err != nil {
		return err
	}
	p := c.newProcess(s.r, cmd)
	if in != nil {
		p.stdin = in
	}
	if out != nil {
		p.stdout = out
	}
	if errs != nil {
		p.stderr = errs
	} else if tty && out != nil {
		p.stderr = out
	}
	if tty {
		t := newTerminal(p.stdin, p.stdout, "/ # ")
		p.stdin, p.stdout, p.stderr = t, t, t
	}
	code, err := p.execIn(ctx, c)
	if err != nil {
		return err
	}
	if code != 0 {
		return &utilexec.CodeExitError{Err: fmt.Errorf("command terminated with exit code %d", code), Code: int(code)}
	}
	return nil
}

// Attach shows what the container writes from now on.
func (s streams) Attach(ctx context.Context, id string, _ io.Reader, out, errs io.WriteCloser, _ bool, _ <-chan remotecommand.TerminalSize) error {
	c, err := s.r.running(id)
	if err != nil {
		return err
	}
	if c.log == nil {
		return fmt.Errorf("the container has no output")
	}
	stop := c.log.follow(out, errs)
	defer stop()
	select {
	case <-c.done:
	case <-ctx.Done():
	}
	return nil
}

// PortForward joins a stream with a port of the Pod.
func (s streams) PortForward(ctx context.Context, sandboxID string, port int32, stream io.ReadWriteCloser) error {
	sb, err := s.r.sandbox(sandboxID)
	if err != nil {
		return err
	}
	ip := sb.ip
	if ip == "" {
		ip = s.r.opts.NodeIP
	}
	d := net.Dialer{Timeout: 5 * time.Second}
	conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort(ip, strconv.Itoa(int(port))))
	if err != nil {
		return fmt.Errorf("failed to connect to localhost:%d inside the Pod: %w", port, rootCause(err))
	}
	defer conn.Close()
	go func() {
		_, _ = io.Copy(conn, stream)
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.CloseWrite()
		}
	}()
	_, err = io.Copy(stream, conn)
	return err
}
