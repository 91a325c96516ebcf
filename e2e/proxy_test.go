package e2e

import (
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/client-go/tools/clientcmd"
)

// proxy is a wire between the bot and the API server that can be cut: a packet
// filter without root.
type proxy struct {
	to   string
	addr string

	mu    sync.Mutex
	ln    net.Listener
	conns map[net.Conn]bool
}

// doProxy puts a proxy before the cluster and points the story's bot at it.
// `proxy cut` and `proxy mend` follow.
func (s *story) doProxy(ts *testscript.TestScript, args []string) {
	switch {
	case len(args) == 0:
		config, err := clientcmd.LoadFromFile(s.kubeconfig)
		ts.Check(err)
		cluster := config.Clusters[config.Contexts[config.CurrentContext].Cluster]
		u, err := url.Parse(cluster.Server)
		ts.Check(err)
		s.proxy = &proxy{to: u.Host, addr: "127.0.0.1:0"}
		ts.Check(s.proxy.mend())
		cluster.Server = "https://" + s.proxy.addr
		path := filepath.Join(s.dir, "proxied.kubeconfig")
		ts.Check(clientcmd.WriteToFile(*config, path))
		ts.Check(os.Chmod(path, 0o600))
		s.botKubeconfig = path
	case args[0] == "cut":
		s.proxy.cut()
	case args[0] == "mend":
		ts.Check(s.proxy.mend())
	}
}

func (p *proxy) mend() error {
	ln, err := net.Listen("tcp", p.addr)
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.ln, p.addr, p.conns = ln, ln.Addr().String(), map[net.Conn]bool{}
	p.mu.Unlock()
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go p.join(c)
		}
	}()
	return nil
}

func (p *proxy) join(c net.Conn) {
	up, err := net.Dial("tcp", p.to)
	if err != nil {
		c.Close()
		return
	}
	p.mu.Lock()
	p.conns[c], p.conns[up] = true, true
	p.mu.Unlock()
	go func() { _, _ = io.Copy(up, c); up.Close() }()
	_, _ = io.Copy(c, up)
	c.Close()
}

func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ln.Close()
	for c := range p.conns {
		c.Close()
	}
}
