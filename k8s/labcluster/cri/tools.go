package cri

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// tool is a small command such as those of busybox, over the container's files.
type tool func(ctx context.Context, p *process) int32

// toolNamed is a function and no table, as some tools refer back to the lookup.
func toolNamed(name string) (tool, bool) {
	t, ok := map[string]tool{
		"sleep": sleep, "cat": cat, "ls": ls, "env": env, "printenv": env, "hostname": hostname,
		"id": id, "whoami": whoami, "date": date, "uname": uname, "head": head, "tail": tail, "grep": grep,
		"wc": wc, "touch": touch, "mkdir": mkdir, "rm": rm, "wget": wget, "curl": curl, "nc": nc,
		"true":  func(context.Context, *process) int32 { return 0 },
		"false": func(context.Context, *process) int32 { return 1 },
		"echo": func(_ context.Context, p *process) int32 {
			fmt.Fprintln(p.stdout, strings.Join(p.argv[1:], " "))
			return 0
		},
	}[name]
	return t, ok
}

// fail writes a tool's complaint the way busybox does.
func (p *process) fail(format string, args ...any) int32 {
	fmt.Fprintf(p.stderr, path.Base(p.argv[0])+": "+format+"\n", args...)
	return 1
}

func (p *process) abs(name string) string {
	if path.IsAbs(name) {
		return name
	}
	return path.Join(p.dir, name)
}

func isFlag(arg string) bool { return strings.HasPrefix(arg, "-") && len(arg) > 1 }

func sleep(ctx context.Context, p *process) int32 {
	var total time.Duration
	for _, arg := range p.argv[1:] {
		if arg == "infinity" || arg == "inf" {
			<-ctx.Done()
			return 137
		}
		unit, number := time.Second, arg
		if n := len(arg); n > 0 {
			if u, ok := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}[arg[n-1]]; ok {
				unit, number = u, arg[:n-1]
			}
		}
		seconds, err := strconv.ParseFloat(number, 64)
		if err != nil || seconds < 0 {
			return p.fail("invalid number '%s'", arg)
		}
		total += time.Duration(seconds * float64(unit))
	}
	if len(p.argv) == 1 {
		return p.fail("missing operand")
	}
	select {
	case <-time.After(total):
		return 0
	case <-ctx.Done():
		return 137
	}
}

// inputs gives the named files one after another, or standard input.
func (p *process) inputs(names []string, each func(name string, r io.Reader) error) int32 {
	if len(names) == 0 {
		if err := each("-", p.stdin); err != nil {
			return p.fail("%v", err)
		}
		return 0
	}
	code := int32(0)
	for _, name := range names {
		f, err := p.fs.open(p.abs(name), os.O_RDONLY, 0)
		if err != nil {
			code = p.fail("can't open '%s': No such file or directory", name)
			continue
		}
		err = each(name, f)
		f.Close()
		if err != nil {
			code = p.fail("read error: %v", err)
		}
	}
	return code
}

func cat(_ context.Context, p *process) int32 {
	return p.inputs(p.argv[1:], func(_ string, r io.Reader) error {
		_, err := io.Copy(p.stdout, r)
		return err
	})
}

func ls(_ context.Context, p *process) int32 {
	long, names, code := false, []string{}, int32(0)
	for _, arg := range p.argv[1:] {
		if isFlag(arg) {
			long = long || strings.Contains(arg, "l")
			continue
		}
		names = append(names, arg)
	}
	if len(names) == 0 {
		names = []string{"."}
	}
	for _, name := range names {
		info, err := p.fs.stat(p.abs(name))
		if err != nil {
			code = p.fail("%s: No such file or directory", name)
			continue
		}
		if !info.IsDir() {
			fmt.Fprintln(p.stdout, name)
			continue
		}
		entries, err := p.fs.readDir(p.abs(name))
		if err != nil {
			code = p.fail("%s: %v", name, err)
			continue
		}
		for _, e := range entries {
			info, err := e.Info()
			if long && err == nil {
				fmt.Fprintf(p.stdout, "%s    1 root     root     %9d %s %s\n", info.Mode(), info.Size(), info.ModTime().UTC().Format("Jan _2 15:04"), e.Name())
				continue
			}
			fmt.Fprintln(p.stdout, e.Name())
		}
	}
	return code
}

func env(ctx context.Context, p *process) int32 {
	if path.Base(p.argv[0]) == "printenv" && len(p.argv) == 2 {
		v, ok := p.getenv(p.argv[1])
		if !ok {
			return 1
		}
		fmt.Fprintln(p.stdout, v)
		return 0
	}
	args := p.argv[1:]
	c := p.child(nil)
	for len(args) > 0 && strings.Contains(args[0], "=") {
		c.env = append(c.env[:len(c.env):len(c.env)], args[0])
		args = args[1:]
	}
	if len(args) > 0 {
		c.argv = args
		run, err := c.lookup()
		if err != nil {
			p.fail("can't execute '%s': No such file or directory", args[0])
			return 127
		}
		return run(ctx)
	}
	for _, e := range c.env {
		fmt.Fprintln(p.stdout, e)
	}
	return 0
}

func hostname(_ context.Context, p *process) int32 {
	if len(p.argv) > 1 && p.argv[1] == "-i" {
		fmt.Fprintln(p.stdout, p.ip)
		return 0
	}
	fmt.Fprintln(p.stdout, p.hostname)
	return 0
}

func id(_ context.Context, p *process) int32 {
	if len(p.argv) > 1 && p.argv[1] == "-u" {
		fmt.Fprintln(p.stdout, p.uid)
		return 0
	}
	fmt.Fprintf(p.stdout, "uid=%d gid=0 groups=0\n", p.uid)
	return 0
}

func whoami(_ context.Context, p *process) int32 {
	if p.uid == 0 {
		fmt.Fprintln(p.stdout, "root")
		return 0
	}
	return p.fail("unknown uid %d", p.uid)
}

func date(_ context.Context, p *process) int32 {
	if len(p.argv) > 1 && p.argv[1] == "+%s" {
		fmt.Fprintln(p.stdout, time.Now().Unix())
		return 0
	}
	fmt.Fprintln(p.stdout, time.Now().UTC().Format("Mon Jan _2 15:04:05 MST 2006"))
	return 0
}

func uname(_ context.Context, p *process) int32 {
	if len(p.argv) > 1 && strings.Contains(p.argv[1], "a") {
		fmt.Fprintf(p.stdout, "Linux %s simulated\n", p.hostname)
		return 0
	}
	fmt.Fprintln(p.stdout, "Linux")
	return 0
}

// lineCount reads -n N, -nN and -N.
func lineCount(args []string) (n int, follow bool, rest []string) {
	n = 10
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "-f" || arg == "-F":
			follow = true
		case arg == "-n" && i+1 < len(args):
			i++
			n, _ = strconv.Atoi(strings.TrimPrefix(args[i], "+"))
		case isFlag(arg):
			n, _ = strconv.Atoi(strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "n"))
		default:
			rest = append(rest, arg)
		}
	}
	return n, follow, rest
}

func head(_ context.Context, p *process) int32 {
	n, _, names := lineCount(p.argv[1:])
	return p.inputs(names, func(_ string, r io.Reader) error {
		s := bufio.NewScanner(r)
		for i := 0; i < n && s.Scan(); i++ {
			fmt.Fprintln(p.stdout, s.Text())
		}
		return s.Err()
	})
}

func tail(ctx context.Context, p *process) int32 {
	n, follow, names := lineCount(p.argv[1:])
	// `tail -f /dev/null` is the common way to stay alive.
	if follow && len(names) == 1 && names[0] == "/dev/null" {
		<-ctx.Done()
		return 137
	}
	code := p.inputs(names, func(_ string, r io.Reader) error {
		var last []string
		s := bufio.NewScanner(r)
		for s.Scan() {
			if last = append(last, s.Text()); len(last) > n {
				last = last[1:]
			}
		}
		for _, l := range last {
			fmt.Fprintln(p.stdout, l)
		}
		return s.Err()
	})
	if follow && code == 0 {
		<-ctx.Done()
		return 137
	}
	return code
}

func grep(_ context.Context, p *process) int32 {
	var flags string
	args := p.argv[1:]
	for len(args) > 0 && isFlag(args[0]) {
		flags, args = flags+args[0][1:], args[1:]
	}
	if len(args) == 0 {
		p.fail("missing pattern")
		return 2
	}
	pattern := args[0]
	if strings.Contains(flags, "F") {
		pattern = regexp.QuoteMeta(pattern)
	}
	if strings.Contains(flags, "i") {
		pattern = "(?i)" + pattern
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		p.fail("bad regex '%s'", args[0])
		return 2
	}
	found := false
	code := p.inputs(args[1:], func(_ string, r io.Reader) error {
		s := bufio.NewScanner(r)
		for s.Scan() {
			if re.MatchString(s.Text()) == strings.Contains(flags, "v") {
				continue
			}
			found = true
			if !strings.Contains(flags, "q") {
				fmt.Fprintln(p.stdout, s.Text())
			}
		}
		return s.Err()
	})
	switch {
	case code != 0:
		return 2
	case !found:
		return 1
	}
	return 0
}

func wc(_ context.Context, p *process) int32 {
	linesOnly, names := false, []string{}
	for _, arg := range p.argv[1:] {
		if isFlag(arg) {
			linesOnly = linesOnly || strings.Contains(arg, "l")
			continue
		}
		names = append(names, arg)
	}
	return p.inputs(names, func(name string, r io.Reader) error {
		data, err := io.ReadAll(r)
		if name = " " + name; name == " -" {
			name = ""
		}
		if linesOnly {
			fmt.Fprintf(p.stdout, "%d%s\n", bytes.Count(data, []byte("\n")), name)
			return err
		}
		fmt.Fprintf(p.stdout, "%9d %9d %9d%s\n", bytes.Count(data, []byte("\n")), len(bytes.Fields(data)), len(data), name)
		return err
	})
}

func touch(_ context.Context, p *process) int32 {
	for _, name := range p.argv[1:] {
		f, err := p.fs.open(p.abs(name), os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			return p.fail("%v", err)
		}
		f.Close()
	}
	return 0
}

func mkdir(_ context.Context, p *process) int32 {
	for _, name := range p.argv[1:] {
		if isFlag(name) {
			continue
		}
		if err := p.fs.change("mkdir", p.abs(name), func(r *os.Root, n string) error { return r.MkdirAll(n, 0o755) }); err != nil {
			return p.fail("can't create directory '%s': %v", name, err)
		}
	}
	return 0
}

func rm(_ context.Context, p *process) int32 {
	force := false
	for _, name := range p.argv[1:] {
		if isFlag(name) {
			force = force || strings.Contains(name, "f")
			continue
		}
		if _, err := p.fs.stat(p.abs(name)); err != nil {
			if !force {
				return p.fail("can't remove '%s': No such file or directory", name)
			}
			continue
		}
		if err := p.fs.change("rm", p.abs(name), func(r *os.Root, n string) error { return r.RemoveAll(n) }); err != nil {
			return p.fail("can't remove '%s': %v", name, err)
		}
	}
	return 0
}

// dial reaches Pods by address; localhost is the Pod itself.
func (p *process) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	if host == "localhost" || host == "127.0.0.1" || host == p.hostname {
		host = p.ip
	}
	d := net.Dialer{Timeout: 5 * time.Second}
	return d.DialContext(ctx, network, net.JoinHostPort(host, port))
}

func (p *process) fetch(ctx context.Context, url string, method string) (*http.Response, error) {
	if !strings.Contains(url, "://") {
		url = "http://" + url
	}
	req, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return nil, err
	}
	client := &http.Client{Timeout: 15 * time.Second, Transport: &http.Transport{DialContext: p.dial, DisableKeepAlives: true}}
	return client.Do(req)
}

func wget(ctx context.Context, p *process) int32 {
	var url string
	for _, arg := range p.argv[1:] {
		if !isFlag(arg) && arg != "-" {
			url = arg
		}
	}
	if url == "" {
		return p.fail("missing URL")
	}
	resp, err := p.fetch(ctx, url, http.MethodGet)
	if err != nil {
		return p.fail("can't connect to remote host: %v", rootCause(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 400 {
		return p.fail("server returned error: HTTP/1.1 %s", resp.Status)
	}
	_, _ = io.Copy(p.stdout, resp.Body)
	return 0
}

func curl(ctx context.Context, p *process) int32 {
	url, method, failing := "", http.MethodGet, false
	for _, arg := range p.argv[1:] {
		switch {
		case strings.HasPrefix(arg, "--"):
			failing = failing || arg == "--fail"
		case isFlag(arg):
			failing = failing || strings.Contains(arg, "f")
			if strings.Contains(arg, "I") {
				method = http.MethodHead
			}
		default:
			url = arg
		}
	}
	if url == "" {
		p.fail("try 'curl --help' for more information")
		return 2
	}
	resp, err := p.fetch(ctx, url, method)
	if err != nil {
		p.fail("(7) Failed to connect: %v", rootCause(err))
		return 7
	}
	defer resp.Body.Close()
	if failing && resp.StatusCode >= 400 {
		p.fail("(22) The requested URL returned error: %d", resp.StatusCode)
		return 22
	}
	if method == http.MethodHead {
		fmt.Fprintf(p.stdout, "%s %s\r\n", resp.Proto, resp.Status)
		_ = resp.Header.Write(p.stdout)
	}
	_, _ = io.Copy(p.stdout, resp.Body)
	return 0
}

// nc only tells whether a port is open, which is what `nc -z` is used for.
func nc(ctx context.Context, p *process) int32 {
	var rest []string
	for _, arg := range p.argv[1:] {
		if !isFlag(arg) {
			rest = append(rest, arg)
		}
	}
	if len(rest) < 2 {
		return p.fail("missing host and port")
	}
	conn, err := p.dial(ctx, "tcp", net.JoinHostPort(rest[len(rest)-2], rest[len(rest)-1]))
	if err != nil {
		return p.fail("%v", rootCause(err))
	}
	conn.Close()
	return 0
}

func rootCause(err error) error {
	for {
		next, ok := err.(interface{ Unwrap() error })
		if !ok || next.Unwrap() == nil {
			return err
		}
		err = next.Unwrap()
	}
}
