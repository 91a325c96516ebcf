package cri

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// ProcessStarter runs a real process in place of a behaviour. It returns the
// exit code; it must end the process when ctx ends, and pass a stop signal on
// when term is closed.
type ProcessStarter interface {
	Run(ctx context.Context, component string, args, env []string, out io.Writer, term <-chan struct{}) int32
}

// process is one simulated program of a container with its surroundings.
type process struct {
	argv     []string
	env      []string
	dir      string
	ip       string
	hostname string
	uid      int64
	image    *Repository
	fs       *filesystem
	memory   *memory
	starter  ProcessStarter // nil: no real processes here
	term     <-chan struct{}
	stdin    io.Reader
	stdout   io.Writer
	stderr   io.Writer
}

const defaultPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// argvOf joins image and Pod as the runtime does: a Pod's command drops both of
// the image's, its args drop the image's command only.
func argvOf(img *Repository, cfg *runtimeapi.ContainerConfig) []string {
	entrypoint, command := img.Entrypoint, img.Command
	if len(cfg.GetCommand()) > 0 {
		entrypoint, command = cfg.GetCommand(), nil
	}
	if len(cfg.GetArgs()) > 0 {
		command = cfg.GetArgs()
	}
	return slices.Concat(entrypoint, command)
}

// newProcess describes a program of the container without starting it.
func (c *container) newProcess(r *Runtime, argv []string) *process {
	env := slices.Clone(c.image.repo.Env)
	if !slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, "PATH=") }) {
		env = append(env, defaultPath)
	}
	hostname := c.sandbox.config.GetHostname()
	env = append(env, "HOSTNAME="+hostname, "HOME=/root")
	for _, kv := range c.config.GetEnvs() {
		env = append(env, kv.GetKey()+"="+string(kv.GetValue()))
	}
	dir := c.config.GetWorkingDir()
	if dir == "" {
		dir = c.image.repo.WorkingDir
	}
	if dir == "" {
		dir = "/"
	}
	ip := c.sandbox.ip
	if ip == "" {
		ip = r.opts.NodeIP
	}
	return &process{
		argv: argv, env: env, dir: dir, ip: ip, hostname: hostname, uid: c.uid(),
		image: c.image.repo, fs: c.fs, memory: c.memory, term: c.term, starter: c.starter(r),
		stdin: bytes.NewReader(nil), stdout: io.Discard, stderr: io.Discard,
	}
}

// starter gives real processes to the static Pods of the node only: their
// manifests lie in the cluster's own folder, beyond the reach of the API.
func (c *container) starter(r *Runtime) ProcessStarter {
	if c.sandbox.config.GetAnnotations()["kubernetes.io/config.source"] != "file" {
		return nil
	}
	return r.opts.Process
}

// program finds what a container would execute, or says why runc could not.
func (c *container) program(r *Runtime) (func(context.Context) int32, error) {
	argv := argvOf(c.image.repo, c.config)
	if len(argv) == 0 {
		return nil, fmt.Errorf("failed to generate container spec: no command specified")
	}
	out, errs := &stream{log: c.log, name: "stdout"}, &stream{log: c.log, name: "stderr"}
	p := c.newProcess(r, argv)
	p.stdout, p.stderr = out, errs
	flushed := func(run func(context.Context) int32) func(context.Context) int32 {
		return func(ctx context.Context) int32 {
			defer out.flush()
			defer errs.flush()
			return run(ctx)
		}
	}
	if !p.image.runsHere() {
		return flushed(func(context.Context) int32 {
			fmt.Fprintf(p.stderr, "exec %s: exec format error\n", argv[0])
			return 255
		}), nil
	}
	run, err := p.lookup()
	if err != nil {
		return nil, fmt.Errorf("failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: error during container init: %w", err)
	}
	return flushed(run), nil
}

// lookup resolves argv[0]: a program of the image, the shell, or a small tool.
func (p *process) lookup() (func(context.Context) int32, error) {
	name := p.argv[0]
	if b, ok := p.behaviour(name); ok {
		return func(ctx context.Context) int32 { return p.behave(ctx, b) }, nil
	}
	if p.image.Shell && inSystemFolder(name) {
		base := path.Base(name)
		if isShell(base) {
			return p.shell, nil
		}
		if t, ok := toolNamed(base); ok {
			return func(ctx context.Context) int32 { return t(ctx, p) }, nil
		}
	}
	if strings.Contains(name, "/") {
		if info, err := p.fs.stat(name); err == nil {
			if info.IsDir() {
				return nil, fmt.Errorf("exec: %q: is a directory", name)
			}
			return nil, fmt.Errorf("exec: %q: permission denied", name)
		}
		return nil, fmt.Errorf("exec: %q: stat %s: no such file or directory", name, name)
	}
	return nil, fmt.Errorf("exec: %q: executable file not found in $PATH", name)
}

// behaviour finds a program by its path, or by its name in a folder of PATH.
func (p *process) behaviour(name string) (Behaviour, bool) {
	if strings.Contains(name, "/") {
		b, ok := p.image.Programs[name]
		return b, ok
	}
	for _, dir := range []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"} {
		if b, ok := p.image.Programs[dir+"/"+name]; ok {
			return b, true
		}
	}
	return Behaviour{}, false
}

func inSystemFolder(name string) bool {
	if !strings.Contains(name, "/") {
		return true
	}
	return slices.Contains([]string{"/bin", "/usr/bin", "/sbin", "/usr/sbin"}, path.Dir(name))
}

func isShell(name string) bool { return name == "sh" || name == "ash" }

// child is the same surroundings with another command line and other streams.
func (p *process) child(argv []string) *process {
	c := *p
	c.argv = argv
	return &c
}

func (p *process) getenv(key string) (string, bool) {
	for _, e := range slices.Backward(p.env) {
		if k, v, _ := strings.Cut(e, "="); k == key {
			return v, true
		}
	}
	return "", false
}
