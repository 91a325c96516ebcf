package cri

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// serve listens on the Pod's own address. It reports on ended only when it
// could not go on; the caller decides when the program stops.
func (p *process) serve(ctx context.Context, s Serve, ended chan<- int32) {
	if s.ReadyAfter.Duration > 0 {
		select {
		case <-time.After(s.ReadyAfter.Duration):
		case <-ctx.Done():
			return
		}
	}
	l, err := p.listen(ctx, s.Port)
	if err != nil {
		line := s.BindError
		if line == "" {
			line = fmt.Sprintf("fatal: listen on port %d: address already in use", s.Port)
		}
		fmt.Fprintln(p.stderr, line)
		ended <- 1
		return
	}
	srv := &http.Server{Handler: p.handler(s), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 75 * time.Second}
	go func() {
		<-ctx.Done()
		srv.Close()
	}()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		fmt.Fprintf(p.stderr, "fatal: serve: %v\n", err)
		ended <- 1
	}
}

// listen retries for a moment: a restarted container takes over the port of
// its predecessor, whose socket may be closing still.
func (p *process) listen(ctx context.Context, port int) (net.Listener, error) {
	var lc net.ListenConfig
	deadline := time.Now().Add(time.Second)
	for {
		l, err := lc.Listen(ctx, "tcp", net.JoinHostPort(p.ip, strconv.Itoa(port)))
		if err == nil || time.Now().After(deadline) || ctx.Err() != nil {
			return l, err
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (p *process) handler(s Serve) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		code, body, kind := p.answer(s, r.URL.Path)
		if s.ServerHeader != "" {
			w.Header().Set("Server", s.ServerHeader)
		}
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(code)
		if r.Method != http.MethodHead {
			_, _ = w.Write(body)
		}
		if s.AccessLog {
			host, _, _ := net.SplitHostPort(r.RemoteAddr)
			fmt.Fprintf(p.stdout, "%s - - [%s] %q %d %d \"-\" %q \"-\"\n", host, time.Now().UTC().Format("02/Jan/2006:15:04:05 -0700"),
				r.Method+" "+r.URL.RequestURI()+" "+r.Proto, code, len(body), r.UserAgent())
		}
	})
}

// answer looks a path up in the container's files, so that mounted content is served.
func (p *process) answer(s Serve, url string) (code int, body []byte, kind string) {
	const html = "text/html"
	if code, ok := s.Status[url]; ok {
		return code, page(s, code), html
	}
	if s.Root == "" {
		return http.StatusOK, []byte(fmt.Sprintf("hello from %s\n", p.hostname)), "text/plain"
	}
	name := path.Join(s.Root, path.Clean("/"+url))
	if strings.HasSuffix(url, "/") {
		name = path.Join(name, "index.html")
	}
	data, err := p.fs.readFile(name)
	if err != nil {
		if url == "/" {
			return http.StatusForbidden, page(s, http.StatusForbidden), html
		}
		if s.AccessLog {
			fmt.Fprintf(p.stderr, "%s [error] 30#30: *1 open() %q failed (2: No such file or directory)\n",
				time.Now().UTC().Format("2006/01/02 15:04:05"), name)
		}
		return http.StatusNotFound, page(s, http.StatusNotFound), html
	}
	kind, _, _ = strings.Cut(mime.TypeByExtension(path.Ext(name)), ";")
	if kind == "" {
		kind = "application/octet-stream"
	}
	return http.StatusOK, data, kind
}

func page(s Serve, code int) []byte {
	text := fmt.Sprintf("%d %s", code, http.StatusText(code))
	return []byte(fmt.Sprintf("<html>\n<head><title>%s</title></head>\n<body>\n<center><h1>%s</h1></center>\n<hr><center>%s</center>\n</body>\n</html>\n",
		text, text, s.ServerHeader))
}

// serveGRPCHealth answers grpc probes with SERVING.
func (p *process) serveGRPCHealth(ctx context.Context, port int, ended chan<- int32) {
	l, err := p.listen(ctx, port)
	if err != nil {
		fmt.Fprintf(p.stderr, "fatal: listen on port %d: address already in use\n", port)
		ended <- 1
		return
	}
	srv := grpc.NewServer()
	healthpb.RegisterHealthServer(srv, health.NewServer())
	go func() {
		<-ctx.Done()
		srv.Stop()
	}()
	_ = srv.Serve(l)
}
