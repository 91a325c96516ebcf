package cri

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"
)

// shell runs `sh`, `sh -c TEXT [NAME ARG...]` or `sh FILE [ARG...]` over the
// container's files. As the first process of a container it does not react to
// a stop signal, just as a real shell without a trap.
func (p *process) shell(ctx context.Context) int32 {
	args := p.argv[1:]
	for len(args) > 0 && (args[0] == "-e" || args[0] == "-l" || args[0] == "-i") {
		args = args[1:]
	}
	var script io.Reader = p.stdin
	name := path.Base(p.argv[0])
	switch {
	case len(args) >= 1 && strings.HasPrefix(args[0], "-") && strings.HasSuffix(args[0], "c"):
		if len(args) < 2 {
			fmt.Fprintf(p.stderr, "%s: -c requires an argument\n", name)
			return 2
		}
		script, args = strings.NewReader(args[1]), args[2:]
		if len(args) > 0 {
			args = args[1:] // $0
		}
	case len(args) >= 1:
		text, err := p.fs.readFile(args[0])
		if err != nil {
			fmt.Fprintf(p.stderr, "%s: can't open '%s': No such file or directory\n", name, args[0])
			return 2
		}
		script, args = strings.NewReader(string(text)), args[1:]
	default:
		return p.interactive(ctx)
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(script, name)
	if err != nil {
		fmt.Fprintf(p.stderr, "%s: syntax error: %v\n", name, err)
		return 2
	}
	runner, err := p.runner(args)
	if err != nil {
		fmt.Fprintf(p.stderr, "%s: %v\n", name, err)
		return 2
	}
	return exitCode(runner.Run(ctx, file))
}

// interactive reads statement after statement, so that `kubectl exec -it` works.
func (p *process) interactive(ctx context.Context) int32 {
	runner, err := p.runner(nil)
	if err != nil {
		fmt.Fprintf(p.stderr, "sh: %v\n", err)
		return 2
	}
	code := int32(0)
	parser := syntax.NewParser(syntax.Variant(syntax.LangPOSIX))
	for stmts, err := range parser.InteractiveSeq(p.stdin) {
		if err != nil {
			fmt.Fprintf(p.stderr, "sh: syntax error: %v\n", err)
			return 2
		}
		if parser.Incomplete() {
			continue
		}
		for _, stmt := range stmts {
			code = exitCode(runner.Run(ctx, stmt))
			if runner.Exited() || ctx.Err() != nil {
				return code
			}
		}
	}
	return code
}

func (p *process) runner(args []string) (*interp.Runner, error) {
	return interp.New(
		interp.Env(expand.ListEnviron(p.env...)),
		interp.StdIO(p.stdin, p.stdout, p.stderr),
		interp.Params(append([]string{"--"}, args...)...),
		interp.ExecHandlers(func(interp.ExecHandlerFunc) interp.ExecHandlerFunc { return p.exec }),
		interp.OpenHandler(p.openFile),
		interp.StatHandler(func(ctx context.Context, name string, _ bool) (fs.FileInfo, error) {
			return p.fs.stat(name)
		}),
		interp.AccessHandler(func(_ context.Context, name string, _ interp.AccessMode) error {
			_, err := p.fs.stat(name)
			return err
		}),
		interp.ReadDirHandler2(func(_ context.Context, name string) ([]fs.DirEntry, error) {
			return p.fs.readDir(name)
		}),
	)
}

func (p *process) openFile(ctx context.Context, name string, flag int, perm os.FileMode) (io.ReadWriteCloser, error) {
	if name == "/dev/null" {
		return devNull{}, nil
	}
	if !path.IsAbs(name) {
		name = path.Join(interp.HandlerCtx(ctx).Dir, name)
	}
	return p.fs.open(name, flag, perm)
}

type devNull struct{}

func (devNull) Read([]byte) (int, error)    { return 0, io.EOF }
func (devNull) Write(p []byte) (int, error) { return len(p), nil }
func (devNull) Close() error                { return nil }

// exec runs a command of a script: a program of the image, a shell or a tool.
func (p *process) exec(ctx context.Context, argv []string) error {
	hc := interp.HandlerCtx(ctx)
	c := p.child(argv)
	c.stdin, c.stdout, c.stderr, c.dir = hc.Stdin, hc.Stdout, hc.Stderr, hc.Dir
	if c.stdin == nil {
		c.stdin = strings.NewReader("")
	}
	c.env = nil
	hc.Env.Each(func(name string, v expand.Variable) bool {
		if v.Exported {
			c.env = append(c.env, name+"="+v.String())
		}
		return true
	})
	run, err := c.lookup()
	if err != nil {
		fmt.Fprintf(hc.Stderr, "sh: %s: not found\n", argv[0])
		return interp.ExitStatus(127)
	}
	if code := run(ctx); code != 0 {
		return interp.ExitStatus(uint8(code))
	}
	return nil
}

func exitCode(err error) int32 {
	var status interp.ExitStatus
	switch {
	case err == nil:
		return 0
	case errors.As(err, &status):
		return int32(status)
	default:
		return 1
	}
}
